#include "daemon/cli/simulate/command_simulate.h"

#include "daemon/cli/help/options.h"

namespace starling::daemon {
namespace {

constexpr auto kSimulateOptions = join(
    {{"nodes,n", "N", "nodes"},
     {"seed", "S",
      "of the network, the initial parameters and the order of samples, unless node.seed names "
      "that of training; data.seed is that of the data"},
     {"seeds", "A..B", "a run for each seed, on all cores: a row each, then mean and deviation"},
     {"csv", "FILE", "write a row for each round of each node there, as starling export does"},
     {"chaos", "", "draw faults from the seed; with --seeds A..B one such run for every seed"},
     {"every-combination", "",
      "chaos with all algorithms, schedules, formats, local optimizers, outer steps and kinds of "
      "exchange.missing, every two that go together in one run; keys of the command line stay as "
      "they are; prints a row for each"},
     {"scenario", "FILE", "the faults of this file, one a line: at 12.5 s: pause node-3 for 4 s"},
     {"shrink", "", "cut what fails down to the faults that make it fail, and print those"},
     {"timeline", "", "print what happened, fault by fault and event by event"},
     {"sim.delay", "S", "delay of a message, s"},
     {"sim.jitter", "S", "random delay beside that, s"},
     {"sim.loss", "P", "share of the messages that is lost"},
     {"sim.duplicate", "P", "share of the messages that comes twice"},
     {"sim.compute", "S", "time of a local step, s"},
     {"sim.seconds", "S", "virtual time after which the simulation stops, s"}},
    kConfiguring,
    {{"json", "",
      "print the summary as one JSON document, and nothing else; under faults with the laws that "
      "were broken, how often faults hit, and the scenario; for --seeds what came of all, under "
      "faults every seed that failed"}});

}  // namespace

constinit const ProgramCommand kSimulate = {
    .name = "simulate",
    .summary = "the same nodes in virtual time",
    .usage = R"(starling simulate [-n N] [--seed S | --seeds A..B] [-c FILE] [--json]
                         [--csv FILE] [--SECTION.KEY=VALUE ...]
       starling simulate --chaos [--seed S | --seeds A..B] [--shrink] [--timeline] [-n N] ...
       starling simulate --every-combination [--seeds A..B] [-n N] ...
       starling simulate --scenario FILE [--shrink] [--timeline] ...)",
    .description =
        R"(Runs N nodes in one process and in virtual time, over a network that can delay, lose and
repeat messages. The same seed gives the same run, bit for bit. Without a goal (stop.*,
sim.seconds) it ends after 100 rounds. With --chaos or --scenario faults happen to network and
nodes; then all must agree and their models come together, and laws are checked at every step.
Standard error says how far a long run has come.)",
    .options = kSimulateOptions,
    .notes = R"(Examples:

  starling simulate -n 16 --topology.kind=ring --stop.rounds=200 --seed 7
  starling simulate -n 8 --seeds 1..10 --stop.rounds=200
  starling simulate --chaos --seeds 1..100 -n 16 -c configs/scenarios/chaos.ini)",
    .exits = R"(0 done, 1 failed while running or a law was broken, 2 wrong usage or configuration,
3 goal not reached.)",
    .settings = "*"};

}  // namespace starling::daemon
