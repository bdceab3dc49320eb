#include <algorithm>

#include "base/check.h"
#include "gossip/edges/scheduler.h"
#include "gossip/schedule.h"

namespace starling::gossip {

// Each is defined in a file of its own in this folder.
std::unique_ptr<Scheduler> make_rounds(const Options& options);
std::unique_ptr<Scheduler> make_ssp(const Options& options);
std::unique_ptr<Scheduler> make_async(const Options& options);
std::unique_ptr<Scheduler> make_pairwise(const Options& options);
std::unique_ptr<Scheduler> make_allreduce(const Options& options);

namespace {

constexpr ScheduleRow kRows[] = {
    {.name = "rounds",
     .help =
         "each waits for its neighbours' vectors of the same round, no longer than its patience",
     .waits_for_all = true,
     .make = make_rounds},
    {.name = "ssp",
     .help = "runs ahead by up to exchange.staleness rounds",
     .is_loose = true,
     .make = make_ssp},
    {.name = "async",
     .help = "waits for one neighbour, the first",
     .is_loose = true,
     .make = make_async},
    {.name = "pairwise",
     .help = "two at a time, for adpsgd and pairwise-ed, whose default it is",
     .is_pairwise = true,
     .make = make_pairwise},
    {.name = "allreduce",
     .help =
         "as rounds, on a complete graph, where each node sums one slice of the vector for all: "
         "a node sends 2 (n - 1) / n vectors a round in place of n - 1",
     .is_in_slices = true,
     .make = make_allreduce},
};

}  // namespace

std::span<const ScheduleRow> schedules() {
  return kRows;
}

const ScheduleRow* schedule_named(std::string_view name) {
  const auto* const row = std::ranges::find(kRows, name, &ScheduleRow::name);
  ENSURE(row != std::end(kRows), "a schedule that our code names has a row");
  return row;
}

}  // namespace starling::gossip
