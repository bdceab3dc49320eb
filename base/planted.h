// Planted bugs: mistakes that the simulator must find, so that the laws that the checkers watch are
// known to bite. PLANTED(name) asks a switch that only tests/planted sets, in builds with
// STARLING_PLANTED; in every other build it is false when the program is compiled.
//
// To plant another: add its name to the list; put `if (PLANTED(name))` where the mistake is made,
// in a .cpp file and never in a header. The test takes the names from the list.
#pragma once

#ifdef STARLING_PLANTED

#include <array>
#include <string_view>

namespace starling::planted {

enum class Bug {
  none,
  early_contribution,     // startup: training begins while the model is still asked for
  duplicate_applied,      // gate: a message that came before is let through
  round_goes_back,        // training: a finished job counts for the round before it, now and then
  weight_twice,           // mixer: the first term enters with twice its weight
  term_lost,              // trainer: the last term of a mix is left out
  neighbor_miscounted,    // aggregate: somebody who is gone still counts
  incarnation_forgotten,  // world: a start knows nothing of the lives before
  refutation_lost,        // membership: a node that is accused does not object
  phase_untold,           // membership: others do not learn that a node has its model
  dead_counted,           // membership: who is dead stays a neighbour
  edge_one_sided,         // sessions: what an edge still owes is forgotten where it closes
  pair_mixed_twice,       // edge ledger: a pair is given twice
  weight_one_sided,       // edge ledger: only one's own share counts for the weight
  asks_too_early,         // sessions: what is under way is taken for lost
  never_waits_again,      // exchange: no round waits again for a neighbour that was late once
  believes_any_round,     // exchange: a neighbour may say whatever round it likes
  share_too_large,        // schedules: a node's own part is left out of the shares of a round
  never_late,             // schedules: a round waits without end for a neighbour that is not heard
  keeps_broken_edge,      // sessions: an edge whose ends count differently goes on
};

struct Named {
  Bug bug;
  std::string_view name;
};
inline constexpr std::array kBugs = {
    Named{Bug::early_contribution, "early_contribution"},
    Named{Bug::duplicate_applied, "duplicate_applied"},
    Named{Bug::round_goes_back, "round_goes_back"},
    Named{Bug::weight_twice, "weight_twice"},
    Named{Bug::term_lost, "term_lost"},
    Named{Bug::neighbor_miscounted, "neighbor_miscounted"},
    Named{Bug::incarnation_forgotten, "incarnation_forgotten"},
    Named{Bug::refutation_lost, "refutation_lost"},
    Named{Bug::phase_untold, "phase_untold"},
    Named{Bug::dead_counted, "dead_counted"},
    Named{Bug::edge_one_sided, "edge_one_sided"},
    Named{Bug::pair_mixed_twice, "pair_mixed_twice"},
    Named{Bug::weight_one_sided, "weight_one_sided"},
    Named{Bug::asks_too_early, "asks_too_early"},
    Named{Bug::never_waits_again, "never_waits_again"},
    Named{Bug::believes_any_round, "believes_any_round"},
    Named{Bug::share_too_large, "share_too_large"},
    Named{Bug::never_late, "never_late"},
    Named{Bug::keeps_broken_edge, "keeps_broken_edge"},
};

// One at a time, set while no world runs.
inline Bug active = Bug::none;

}  // namespace starling::planted

#define PLANTED(bug) (::starling::planted::active == ::starling::planted::Bug::bug)

#else

#define PLANTED(bug) false

#endif
