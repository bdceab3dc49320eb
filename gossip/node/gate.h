// Gate: checks every byte from outside, in this order: size and checksum of the header, MessagePack
// limits, exact schema, sender, plane, cluster, own name, incarnation, chunk, sequence window. Each
// refusal is counted by its reason.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"
#include "gossip/wire/record_cache.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

class Gate {
 public:
  // `records`: what other nodes of this process have decoded; null: none do.
  Gate(std::uint64_t cluster, NodeId self, std::shared_ptr<RecordCache> records = nullptr)
      : cluster_(cluster),
        self_(self),
        has_own_records_(!records),
        records_(records ? std::move(records) : std::make_shared<RecordCache>()) {}

  // The largest payload accepted, in bytes.
  void set_payload_limit(std::size_t bytes) { assembler_.set_payload_limit(bytes); }
  // See Assembler.
  void set_buffers(std::size_t bytes, TakeBuffer take) {
    assembler_.set_buffers(bytes, std::move(take));
  }
  void set_senders(std::size_t count) { assembler_.set_senders(count); }
  // Returns the incarnation in which a member is known; nothing if the member is unknown.
  using Known = std::function<std::optional<std::uint64_t>(NodeId)>;
  // Returns a whole message, each only once; nothing if it is incomplete or refused. From an
  // incarnation that is not known only messages that introduce the sender are admitted.
  std::optional<Message> admit(Time now, const Received& received, const Known& known);
  // The last Join of another cluster, if any since the last call.
  struct Stray {
    NodeId from;
    Join join;
  };
  std::optional<Stray> take_stray() { return std::exchange(stray_, std::nullopt); }
  // The last sender of a Join in another version of the protocol, if any since the last call.
  std::optional<OtherVersion> take_other_version() { return std::exchange(other_version_, {}); }
  // The last sender of a payload beyond the limit, if any since the last call.
  std::optional<NodeId> take_oversized() { return std::exchange(oversized_, std::nullopt); }
  // See Assembler.
  std::optional<Time> last_chunk(NodeId sender) const { return assembler_.last_chunk(sender); }
  std::optional<Assembler::Part> take_part() { return assembler_.take_part(); }
  void tick(Time now);
  // Drops what is kept of nodes that are not known, once it is more than of so many members.
  void forget_strangers(std::size_t members, const Known& known);
  // Counts a refusal. `kind`: the kind of the message, if it could be read.
  void count(const std::string& reason, std::string_view kind = "unreadable");

  const std::map<std::string, std::uint64_t>& rejected() const { return rejected_; }
  // Refusals by reason and kind of message.
  using Kinds = std::map<std::string, std::uint64_t, std::less<>>;
  const std::map<std::string, Kinds>& rejected_kinds() const { return rejected_kinds_; }
  std::uint64_t received_bytes() const { return received_bytes_; }

 private:
  // The recent sequence numbers from one incarnation of a sender on one plane.
  struct Window {
    std::uint64_t incarnation = 0;
    std::uint64_t highest = 0;
    std::bitset<256> seen;  // bit k: highest - k
    // Messages in a row, in order, that were far behind `highest`; kBehindLimit of them show that
    // `highest` was false.
    std::uint64_t behind = 0;
    std::uint64_t last_behind = 0;
  };
  // Why this node refuses a message with this header; null if it does not.
  const char* objection(const Header& header, const Received& received, const Known& known) const;
  void note_stray(Header& header);
  // `known`: the incarnation in which membership knows the sender.
  Window& window_of(const Message& message, std::optional<std::uint64_t> known);
  bool is_new(const Message& message, std::optional<std::uint64_t> known);
  static bool begins_anew(Window& window, const Envelope& envelope);

  static constexpr std::size_t kReasonsLimit = 64;
  // A sequence number further ahead of the sender's highest is refused.
  static constexpr std::uint64_t kSequenceStep = 1ULL << 32;
  // Larger: a sender in whose name a false sequence number was sent is ignored for longer.
  static constexpr std::uint64_t kBehindLimit = 8;
  // Incarnations of a sender whose windows are kept. Smaller: a late copy of a message of a
  // forgotten incarnation is admitted again. At least 2, so that another incarnation never
  // displaces the one that membership knows.
  static constexpr std::size_t kLivesLimit = 4;
  static constexpr std::size_t kWindowsLimit = 2 * kMembersLimit;
  // Nodes beyond the members of whom something is kept. Larger: machines that come under new
  // names take more memory. Smaller: more work where many come and go.
  static constexpr std::size_t kStrangersLimit = 256;

  std::uint64_t cluster_;
  NodeId self_;
  bool has_own_records_;
  std::shared_ptr<RecordCache> records_;
  Assembler assembler_;
  // One window for each incarnation, the most recent at the end.
  std::map<std::pair<NodeId, Plane>, std::vector<Window>> windows_;
  std::optional<OtherVersion> other_version_;
  std::optional<Stray> stray_;
  std::optional<NodeId> oversized_;
  std::map<std::string, std::uint64_t> rejected_;
  std::map<std::string, Kinds> rejected_kinds_;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace starling::gossip
