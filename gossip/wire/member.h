// Member: what a node says of itself. Other nodes pass it on unchanged. To add a field of a
// member's record: a member here, gossip/wire/fields.h, the version in gossip/wire/wire.h; a field
// of Report is filled in NodeParts::report() (gossip/node/node.cpp), another in identity.cpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <tuple>

#include "base/endpoint.h"
#include "base/ids.h"

namespace starling::gossip {

// resumed: the node has a model of an earlier life, and waits to begin with it. ending: its rounds
// are over, and it agrees with the others on one model; finished: all present members have it.
enum class Phase : std::uint8_t { joining, training, paused, finished, left, resumed, ending };

// relay: a node without data; it averages with its neighbours as others do, and takes no steps.
enum class Role : std::uint8_t { trainer, relay };

// Which neighbour a node's rounds lately waited for; see edges/hold_ups.h.
struct Held {
  NodeId by = {};             // the neighbour that caused most waiting
  std::uint64_t percent = 0;  // of the node's time, spent waiting for it; 0: hardly any

  bool operator==(const Held&) const = default;
};

// An amount on the wire is rounded to an f32 and told as the number that the f32's bits are: in few
// bytes, and 0 in one. The largest is the largest finite f32.
inline constexpr std::uint64_t kAmountMost = 0x7f7fffff;
inline double amount_of(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
// REQUIRES an amount that is not negative, and a number.
inline std::uint64_t amount_bits(double amount) {
  return std::min<std::uint64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(amount)),
                                 kAmountMost);
}

// What a node says of its training; others learn of it as NodeParts::report() fills it in.
struct Report {
  Phase phase = Phase::joining;
  std::uint64_t round = 0;
  double loss = 0;
  // ||x|| of its model lately, as amount_bits() gives it; 0: not known.
  std::uint64_t norm = 0;
  std::uint64_t saved = 0;    // the round of its newest checkpoint; 0: none
  std::uint64_t save_at = 0;  // the agreed round after which all nodes save; 0: none
  std::uint64_t changes = 0;  // hash of the changes of settings that it knows; 0: none
  // ---- the end of the run; see node/run_end.h
  std::uint64_t end_at = 0;  // the round after which this node wants all to end; 0: none
  // What goals are judged by: samples seen, and the last evaluation, as amount_bits() gives it. 0:
  // not known, or no goal needs it.
  std::uint64_t samples = 0, accuracy = 0, held_out_loss = 0;
  std::uint64_t sealed = 0;  // content hash of the model that it ended with; 0: none yet
  Held held = {};
  // The local steps of a round that it wishes all to take; see edges/exchange_budget.h. 0: no wish.
  std::uint64_t wished_steps = 0;

  // A change of it makes a new version of the record: records of one version agree in it.
  auto state() const { return std::tuple(phase, save_at, changes, end_at, sealed); }
  bool operator==(const Report&) const = default;
};

struct Member : Report {
  NodeId id;
  std::string name;
  // A node that cannot be dialled has port 0, and as host a mark of its own, by which it is told
  // from another node of its name.
  Endpoint control, http;
  std::uint64_t incarnation = 0;  // grows with every start of the node
  std::uint64_t version = 0;    // grows within an incarnation, with every change of phase and every
                                // suspicion that the node refutes
  std::uint64_t agreement = 0;  // hash of the values on which nodes must agree (see terms.h)
  // Others have found that they cannot dial `control`; see members/reachability.h.
  bool is_unreachable = false;
  Role role = Role::trainer;
  std::string group = {};  // node.group; empty: none
  // With keys: the encoded certificate of the node, and its signature of all of this; see
  // trust/notary.h. Without: empty.
  std::string certificate = {}, signature = {};

  Report& report() { return *this; }
  const Report& report() const { return *this; }
};

// Whether nobody can dial the member, as behind a NAT; it dials the others.
inline bool is_hidden(const Member& member) {
  return member.control.port == 0 || member.is_unreachable;
}
// Whether its rounds are over.
inline bool has_ended(const Member& member) {
  return member.phase == Phase::ending || member.phase == Phase::finished || member.sealed != 0;
}
inline bool is_relay(const Member& member) {
  return member.role == Role::relay;
}
// Whether one of the two can dial the other.
inline bool can_meet(const Member& a, const Member& b) {
  return !is_hidden(a) || !is_hidden(b);
}

}  // namespace starling::gossip
