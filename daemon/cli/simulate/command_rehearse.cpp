#include "daemon/cli/help/options.h"
#include "daemon/cli/simulate/command_simulate.h"

namespace starling::daemon {
namespace {

constexpr auto kRehearseOptions =
    join({{"model-bytes", "SIZE", "of the model's parameters, as 1GB, over that of the file"},
          {"step-time", "TIME", "of a local step, as 1.2 (s), over that of the file"},
          {"loss", "L", "held-out loss of the stand-in whose time is told (0.8)"},
          {"rounds", "N", "of a rehearsal at most (40)"},
          {"seed", "S", "of deaths and of training"},
          {"only", "", "the settings of the file alone, without a search for better ones"}},
         kConfiguring, kPrintingJson);
constexpr std::string_view kRehearseArguments[] = {"FILE"};

}  // namespace

constinit const ProgramCommand kRehearse = {
    .name = "rehearse",
    .summary = "what a run over your machines and links would look like",
    .usage = R"(starling rehearse FILE [--model-bytes SIZE] [--step-time TIME] [-c FILE]
                         [--SECTION.KEY=VALUE ...] [--only] [--json])",
    .description =
        R"(Plays a fleet that does not exist yet in virtual time, by the program of its nodes: the
file names regions, machines, links, deaths, the size of the model and the time of a step. A small
model stands in for yours; its vectors take as long as yours would. For the settings of the file,
and for others that may suit its links, a table says which share of the time the machines would
compute, what each would send, and how soon the stand-in would reach a loss.)",
    .options = kRehearseOptions,
    .notes = R"(A file for eight machines in two regions:

  model 1GB
  step 1.2s
  region home 5 machines 100mbit/500mbit
  region lab 3 machines 1gbit slower 1.5
  link home lab 40ms
  churn 6 a day for 20m
  set optim.local-steps=100

Runs that were published are in configs/scenarios/internet:

  starling rehearse configs/scenarios/internet/intellect-1.txt)",
    .exits = "0 done, 2 wrong usage, a file that says no fleet, or wrong configuration.",
    .settings = "*",
    .arguments = kRehearseArguments,
    .arguments_least = 1};

}  // namespace starling::daemon
