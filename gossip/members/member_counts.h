// MemberCounts: the number of present members of each kind, updated as members appear, change and
// go. To count all at each change would take most of the start of a large fleet.
#pragma once

#include <cstddef>

#include "gossip/wire/member.h"

namespace starling::gossip {

struct MemberCounts {
  std::size_t ready = 0;    // have a model
  std::size_t trained = 0;  // of these, have done a round
  std::size_t relays = 0;
  std::size_t hidden = 0;    // no node can dial them
  std::size_t agreeing = 0;  // have the given agreement

  void enter(const Member& member, std::uint64_t agreement) { count(member, agreement, 1); }
  // REQUIRES that the member was entered with an equal record.
  void leave(const Member& member, std::uint64_t agreement) { count(member, agreement, -1); }

 private:
  void count(const Member& member, std::uint64_t agreement, int by) {
    const bool is_ready = member.phase != Phase::joining;
    const auto add = [by](std::size_t& number, bool is_one) {
      number += static_cast<std::size_t>(is_one ? by : 0);
    };
    add(ready, is_ready);
    add(trained, is_ready && member.round > 0);
    add(relays, is_relay(member));
    add(hidden, is_hidden(member));
    add(agreeing, member.agreement == agreement);
  }
};

}  // namespace starling::gossip
