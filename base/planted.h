// Planted bugs: mistakes that the simulator must find, so that the laws that the checkers watch are
// known to bite. PLANTED(name) asks a switch that only tests/planted sets, in builds with
// STARLING_PLANTED; in every other build it is a compile-time false.
//
// To plant another: add its name to the list; put `if (PLANTED(name))` where the mistake is made,
// in a .cpp file and never in a header. The test takes the names from the list.
#pragma once

#ifdef STARLING_PLANTED

#include <array>
#include <cstddef>
#include <string_view>

namespace starling::planted {

inline constexpr std::array<std::string_view, 36> kBugs = {
    "early_contribution",   // startup: training begins while the model is still asked for
    "duplicate_applied",    // gate: a message that came before is let through
    "round_goes_back",      // training: a finished job counts for the round before it, now and then
    "weight_twice",         // mixer: the first term enters with twice its weight
    "term_lost",            // trainer: the last term of a mix is left out
    "neighbor_miscounted",  // aggregate: a neighbour that is gone still counts
    "incarnation_forgotten",  // world: a restart knows nothing of earlier lives
    "refutation_lost",        // membership: a node that is accused does not object
    "phase_untold",           // membership: others do not learn that a node has its model
    "dead_counted",           // membership: a dead member stays a neighbour
    "edge_one_sided",         // sessions: a closing edge forgets the pairs that it still owes
    "pair_mixed_twice",       // edge ledger: a pair is mixed twice
    "weight_one_sided",       // edge ledger: the weight ignores the peer's share
    "asks_too_early",         // sessions: a vector under way counts as lost
    "never_waits_again",      // exchange: no round waits again for a neighbour that was late once
    "believes_any_round",     // exchange: any round that a neighbour claims is believed
    "share_too_large",        // schedules: a node's own part is left out of the shares of a round
    "undamped_dual",          // rounds: a sequence of graphs takes the whole dual step
    "never_late",             // schedules: a round waits without end for a silent neighbour
    "keeps_broken_edge",      // sessions: an edge whose ends count differently goes on
    "step_one_sided",         // edge_ledger: each end goes as far as its own codec allows
    "replica_misses",         // channel: one end does not add every eighth message of its peer
    "steps_after_end",        // closing: a node takes a step while the models become one
    "seals_unseen",           // closing: a node takes any model of the end, however far it lies
    "seal_not_taken",  // trainer: a node says that it has the model of the end and keeps its own
    "late_awaited",    // settlement: the end waits without end for a node that does not end
    "flips_unseen",    // wire: the checksum of a header is not compared
    "share_kept",      // node: data are not dealt again when members change
    "nan_averaged",    // mixer: vectors that are not finite are averaged
    "round_without_step",  // round counter: one round in 32 counts twice
    "waits_for_nobody",    // schedules: a round ends without the vectors of the others
    "news_repeated",       // dissemination: a listener is told 400 times at once
    "cut_unseen",          // connections: one over which nothing passes stays open
    "dials_once",          // peer queues: an address is dialled once
    "set_late",            // setting log: a change of settings holds a round late
    "renewal_missed",      // setting log: a node goes on with the old algorithm
};

// The place of a bug in the list. A name that is not in the list does not compile.
consteval std::size_t bug(std::string_view name) {
  std::size_t place = 0;
  while (kBugs.at(place) != name) ++place;
  return place;
}

// One at a time, set while no world runs.
inline constexpr std::size_t kNoBug = kBugs.size();
inline std::size_t active = kNoBug;

}  // namespace starling::planted

#define PLANTED(name) (::starling::planted::active == ::starling::planted::bug(#name))

#else

#define PLANTED(name) false

#endif
