// Gate: every byte from outside passes here, in this order: size, MessagePack limits, exact schema,
// cluster, own reflection, sequence window, transfer. Each refusal is counted by its reason.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/io.h"
#include "gossip/wire/transfer.h"

namespace starling::gossip {

class Gate {
 public:
  Gate(std::uint64_t cluster, NodeId self) : cluster_(cluster), self_(self) {}

  // Size of the largest payload to expect.
  void set_payload_limit(std::size_t bytes) { assembler_.set_payload_limit(bytes); }
  // The incarnation in which a member is known; nothing where it is not.
  using Known = std::function<std::optional<std::uint64_t>(NodeId)>;
  // A whole message, once. Of an incarnation that is not known, only what says who is there.
  std::optional<Message> admit(Time now, const Received& received, const Known& known);
  // A Join that came to the wrong place and was refused, since the last call.
  struct Stray {
    Join join;
    bool is_on_bulk = false;  // else it is of another cluster
  };
  std::optional<Stray> take_stray() { return std::exchange(stray_, std::nullopt); }
  // Who asked to join in another version of the protocol, since the last call.
  std::optional<OtherVersion> take_other_version() { return std::exchange(other_version_, {}); }
  // Who sent a payload beyond the limit, since the last call.
  std::optional<NodeId> take_oversized() { return std::exchange(oversized_, std::nullopt); }
  // See Assembler.
  std::optional<Time> last_chunk(NodeId sender) const { return assembler_.last_chunk(sender); }
  std::optional<Assembler::Part> take_part() { return assembler_.take_part(); }
  void tick(Time now);
  // `kind` of message, where it could be read.
  void count(const std::string& reason, std::string_view kind = "unreadable");

  const std::map<std::string, std::uint64_t>& rejected() const { return rejected_; }
  // The same by reason and kind of message.
  using Kinds = std::map<std::string, std::uint64_t, std::less<>>;
  const std::map<std::string, Kinds>& rejected_kinds() const { return rejected_kinds_; }
  std::uint64_t received_bytes() const { return received_bytes_; }

 private:
  // The sequence numbers seen lately from one life of a sender on one plane.
  struct Window {
    std::uint64_t incarnation = 0;
    std::uint64_t highest = 0;
    std::bitset<256> seen;  // bit k: highest - k
    // Messages far behind, in a row and in order: the highest was not of this sender.
    std::uint64_t behind = 0;
    std::uint64_t last_behind = 0;
  };
  // Why a message of this header is not for this node; null: it is.
  const char* objection(const Header& header, Plane plane, const Known& known) const;
  void note_stray(Header& header, Plane plane);
  // `known`: the incarnation in which membership knows the sender.
  Window& window_of(const Message& message, std::optional<std::uint64_t> known);
  bool is_new(const Message& message, std::optional<std::uint64_t> known);
  static bool begins_anew(Window& window, const Envelope& envelope);

  static constexpr std::size_t kReasonsLimit = 64;
  // No sender is ahead of what was last heard of it by more.
  static constexpr std::uint64_t kSequenceStep = 1ULL << 32;
  // Larger: a sender in whose name a wrong number was said is mute for longer.
  static constexpr std::uint64_t kBehindLimit = 8;
  // Incarnations of a sender whose windows are kept. Its messages of that many lives may be under
  // way at once. Smaller: a late copy of a message of a forgotten life is heard again. At least 2,
  // so that another incarnation never displaces the one that membership knows.
  static constexpr std::size_t kLivesLimit = 4;
  static constexpr std::size_t kWindowsLimit = 2 * kMembersLimit;

  std::uint64_t cluster_;
  NodeId self_;
  Assembler assembler_;
  // One for each incarnation, the one heard last at the end.
  std::map<std::pair<NodeId, Plane>, std::vector<Window>> windows_;
  std::optional<OtherVersion> other_version_;
  std::optional<Stray> stray_;
  std::optional<NodeId> oversized_;
  std::map<std::string, std::uint64_t> rejected_;
  std::map<std::string, Kinds> rejected_kinds_;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace starling::gossip
