// Census: how many members are of each sort, counted as they come, change and go: to count them
// anew at each change would take most of the start of a large fleet.
#pragma once

#include <cstddef>

#include "gossip/wire/member.h"

namespace starling::gossip {

struct Census {
  std::size_t ready = 0;    // have a model
  std::size_t trained = 0;  // of these, have done a round
  std::size_t relays = 0;
  std::size_t hidden = 0;    // nobody can dial them
  std::size_t agreeing = 0;  // have that agreement

  void enter(const Member& member, std::uint64_t agreement) { count(member, agreement, 1); }
  // REQUIRES that it was entered as it is.
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
