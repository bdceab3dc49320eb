// What nodes say and do in words that a person reads, and that do not depend on how a message is
// encoded.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/io.h"

namespace starling::test {

class Wording {
 public:
  // A node may be named in words from then on.
  void meet(const std::string& name) { names_[node_id(name)] = name; }

  std::string of(const std::string& from, const std::string& to, const gossip::Message& message,
                 std::size_t first_byte = 0);
  std::string of(const std::string& node, const optim::Job& job);
  // A ping, its answer or a telling of news that says nothing which the sender has not said to the
  // receiver before; a message without a vector that says what one behind the same vector said.
  bool is_repetition(const std::string& from, const std::string& to,
                     const gossip::Message& message);

 private:
  using Way = std::pair<std::string, std::string>;  // from one node to another

  // Epochs count from 1 for each node and neighbour, in the order in which they appear.
  std::string epoch(const std::string& of, const std::string& with, std::uint64_t value,
                    std::string_view label);
  std::string of(const std::string& from, const std::string& to, const gossip::Round& round,
                 bool has_payload);
  std::string of(const gossip::Probe& probe) const;
  std::string name(NodeId id) const;
  bool repeats_account(const Way& way, const gossip::Round& round, bool has_payload);

  std::map<NodeId, std::string> names_;
  // The last offer of a node: its round at least, and where its vector lies, if it was sent.
  struct Offer {
    std::uint64_t round = 0;
    const std::byte* at = nullptr;
  };
  std::map<std::string, Offer> offers_;
  std::map<Way, std::map<std::uint64_t, std::size_t>> epochs_;
  std::map<Way, std::set<std::string>> dissemination_;  // that were told
  std::map<Way, std::set<std::string>> accounts_;       // since the last vector
};

}  // namespace starling::test
