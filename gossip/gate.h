// Gate: every byte from outside passes here, in this order: size, MessagePack limits, exact schema,
// cluster, own reflection, sequence window, transfer. Each refusal is counted by its reason.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/io.h"
#include "gossip/transfer.h"

namespace starling::gossip {

class Gate {
 public:
  Gate(std::uint64_t cluster, NodeId self) : cluster_(cluster), self_(self) {}

  // Size of the largest payload to expect.
  void set_payload_limit(std::size_t bytes) { assembler_.set_payload_limit(bytes); }
  // A whole message, once.
  std::optional<Message> admit(Time now, const Received& received);
  // See Assembler.
  std::optional<Time> last_chunk(NodeId sender) const { return assembler_.last_chunk(sender); }
  std::optional<Assembler::Part> take_part() { return assembler_.take_part(); }
  void tick(Time now);
  void count(const std::string& reason);

  const std::map<std::string, std::uint64_t>& rejected() const { return rejected_; }
  std::uint64_t received_bytes() const { return received_bytes_; }

 private:
  // The sequence numbers seen lately from one sender on one plane.
  struct Window {
    std::uint64_t incarnation = 0;
    std::uint64_t highest = 0;
    std::bitset<256> seen;  // bit k: highest - k
  };
  bool is_new(const Message& message);

  static constexpr std::size_t kReasonsLimit = 64;
  static constexpr std::size_t kWindowsLimit = 2 * kMembersLimit;

  std::uint64_t cluster_;
  NodeId self_;
  Assembler assembler_;
  std::map<std::pair<NodeId, Plane>, Window> windows_;
  std::map<std::string, std::uint64_t> rejected_;
  std::uint64_t received_bytes_ = 0;
};

}  // namespace starling::gossip
