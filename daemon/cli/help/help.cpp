#include "daemon/cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "daemon/process/version.h"

namespace starling::daemon {
namespace {

struct Topic {
  std::string_view command, summary, text;
};

constexpr std::string_view kAsking = R"(
  --api URL          the node to ask (http://127.0.0.1:7680)
  --token-file FILE  a bearer token in its first line, for nodes that want one
)";

constexpr std::string_view kShowing =
    R"(  --json             print the document as the node sends it, and nothing else
  --watch            draw again every second until Ctrl-C
)";

constexpr std::string_view kAskingExits = R"(
Exit codes: 0 done, 1 refused by the node, 2 wrong usage, 4 no node answers.
)";

constexpr std::string_view kConfiguring = R"(  -c FILE            configuration, INI
  --SECTION.KEY=VALUE
                     any key, over the file and the environment (STARLING_SECTION_KEY);
                     starling config lists them all
)";

constexpr std::array<Topic, 26> kTopics = {{
    {"run", "one node in the foreground",
     R"(Usage: starling run [-c FILE] [--SECTION.KEY=VALUE ...] [--join HOST:PORT ...]

Runs one node until its goal is reached, Ctrl-C or SIGTERM; it takes leave of the others first.
Without any configuration it trains the built-in data alone.

{configuring}  --join HOST:PORT   the control address of any member; may be given several times;
                     dns:NAME:PORT asks all addresses that the name servers know of NAME,
                     dns:_SERVICE._tcp.NAME the hosts and ports of its SRV records
  --output FILE      write the model there at the end
  --from MODEL       start from the file of a model, the same on every node
  --trainer COMMAND  what trains a model of your own, which the daemon starts
  --ready-file FILE  gets the node's addresses as JSON once it listens
  --json             print the final status as one JSON document

Two nodes on one machine, each in a terminal of its own:

  starling run --node.name=a
  starling run --node.name=b --listen.control=127.0.0.1:7610 --listen.http=127.0.0.1:7690 \
      --join 127.0.0.1:7600

Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 goal not reached.
)"},
    {"up", "a cluster on this machine, with live progress",
     R"(Usage: starling up [-n N] [-c FILE] [--SECTION.KEY=VALUE ...] [--keep] [--json]

Starts N nodes on this machine as processes of their own, shows round, loss, accuracy, consensus
distance and members while they train, stops at the goal and prints a summary. A table without a
goal is trained for 2,000 rounds, with settings that suit tables, and a line says which.

  -n N               nodes
{configuring}  --output FILE      the file that gets the model (starling-model.safetensors)
  --from MODEL       start from the file of a model
  --resume DIR       go on from the checkpoints and with the settings of an earlier starling up
                     with --node.data-dir=DIR; keys given here count instead
  --trainer COMMAND  what trains a model of your own, which is started beside each node
  --keep             let the nodes run on after the goal
  --json             print the summary as one JSON document, and nothing else

Example: sixteen nodes on a torus, each with few of the ten classes

  starling up -n 16 --topology.kind=torus --data.partition=dirichlet:0.3 --stop.rounds=300

Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 goal not reached.
)"},
    {"status", "how a node is doing",
     R"(Usage: starling status [--api URL] [--json] [--watch]

Shows what a node says about itself: its state and why, round, loss and accuracy, how far it is from
the others (consensus distance: ||x_i - mean|| / ||mean||, estimated without a server), its place in
the topology, traffic, and how its time divides into computing, waiting and mixing.
{asking}{showing}
Example: follow the second of some local nodes

  starling status --api http://127.0.0.1:7690 --watch
{exits})"},
    {"fleet", "how all nodes are doing, as any of them knows",
     R"(Usage: starling fleet [--api URL] [--json] [--watch]

Shows one sentence on the whole fleet, and of each quantity the mean over all nodes, the smallest
and the largest. No server adds them up: neighbours average what they hold (flow updating), and
pings carry the extremes. +- is what a mean may still be off.
{asking}{showing}{exits})"},
    {"members", "everybody a node knows",
     R"(Usage: starling members [--api URL] [--json] [--watch]

Lists every member a node has heard of, itself included. STATE is alive, suspect (silent for a
while), dead (silent for long) or left (took leave); HEARD is how long ago there was news of it.
{asking}{showing}{exits})"},
    {"neighbors", "the edges of a node",
     R"(Usage: starling neighbors [--api URL] [--json] [--watch]

Lists the peers that a node exchanges parameters with. WEIGHT is how much of a neighbour's model
enters the node's own each round; BEHIND is by how many rounds its newest vector is older; PATIENCE
is how long a round waits for it; DISTANCE is ||x_j - x_i||.
{asking}{showing}{exits})"},
    {"topology", "the graph as a node sees it",
     R"(Usage: starling topology [--api URL] [--json | --dot] [--watch]

Shows the edges and their weights, whether the graph is connected, and its spectral gap: 1 minus the
second eigenvalue modulus of the weights, larger mixes faster.
{asking}{showing}  --dot              print the graph in the DOT language

Example: a picture, where Graphviz is installed

  starling topology --dot | dot -Tsvg > topology.svg
{exits})"},
    {"convergence", "loss, accuracy and distance over the rounds",
     R"(Usage: starling convergence [--api URL] [--json] [--watch]

Shows the series since the node's start: a thinned table and the course of loss, accuracy and
consensus distance in one line each (on a logarithmic scale where they span two decades). --json
holds every round of a run of up to 10,000 and an evenly thinned set above.
{asking}{showing}{exits})"},
    {"events", "what has happened, in order",
     R"(Usage: starling events [--api URL] [--json] [--watch]

Prints the last 1,000 events of a node, one a line with the time as in its log: members that joined,
died or left, edges, the beginning and the end of training.
{asking}  --json             print the document as the node sends it, and nothing else
  --watch            go on with what happens until Ctrl-C

GET /v1/events gives the same as a stream of server-sent events.
{exits})"},
    {"plan", "what a topology costs and how fast it agrees",
     R"(Usage: starling plan -n N [-c FILE] [--topology.KEY=VALUE ...] [--model-bytes B]
                     [--json | --dot]
       starling plan -n N --model-bytes B --bandwidth RATE --step-time S ...

Computes, before anything is deployed: degree, diameter, spectral gap, the rounds until the nodes
agree up to a millionth of their initial disagreement, and the bytes a round costs. With a bandwidth
and the time of a local step: how long a round takes, how much of that is computing, and how many
steps a second dpsgd-pipelined, adpsgd or more local steps would gain.

  -n N               nodes; they are named node-0, node-1, ...
  -c FILE            configuration, INI, of which the topology is read
  --topology.kind=KIND
                     auto, ring, path, star, torus, grid, complete, hypercube, exponential, random,
                     random-regular, erdos-renyi, small-world, file
  --topology.degree=K, --topology.probability=P, --topology.seed=S
                     for the kinds that are drawn
  --topology.file=FILE
                     for kind file: two node names a line
  --model-bytes B    size of the model as it is sent: 4 bytes a parameter, or 8 in double precision
  --bandwidth RATE   of a node's own link, each way: 10mbit, 1gbit, 12.5MB; the units are bit, kbit,
                     mbit, gbit, B, kB, MB and GB, a second
  --step-time S      of a local step, in seconds: of starling status --json, time.compute_s divided
                     by run.steps
  --json             print one JSON document, and nothing else
  --dot              print the graph in the DOT language

Example: does a random graph of degree 4 beat the torus on 64 nodes?

  starling plan -n 64 --topology.kind=torus
  starling plan -n 64 --topology.kind=random --topology.degree=4

What does a link of 100 Mbit/s cost?

  starling plan -n 16 --topology.kind=ring --model-bytes 940584 --bandwidth 100mbit --step-time 0.01

Exit codes: 0 done, 2 wrong usage or a topology that N nodes cannot have.
)"},
    {"simulate", "the same nodes in virtual time",
     R"(Usage: starling simulate [-n N] [--seed S | --seeds A..B] [-c FILE] [--json]
                         [--SECTION.KEY=VALUE ...]
       starling simulate --chaos [--seed S | --seeds A..B] [--shrink] [--timeline] [-n N] ...
       starling simulate --every-combination [--seeds A..B] [-n N] ...
       starling simulate --scenario FILE [--shrink] [--timeline] ...

Runs N nodes in one process and in virtual time, over a network that can delay, lose and repeat
messages. The same seed gives the same run, bit for bit. Without a goal (stop.*, sim.seconds) it
ends after 100 rounds. With --chaos or --scenario faults happen to network and nodes; then all must
agree and their models come together, and laws are checked at every step. Standard error says how
far a long run has come.

  -n N               nodes
  --seed S           of the network, the initial parameters and the order of samples, unless
                     node.seed names that of training; data.seed is that of the data
  --seeds A..B       a run for each seed, on all cores: a row each, then mean and deviation
  --chaos            draw faults from the seed; with --seeds A..B one such run for every seed
  --every-combination
                     chaos with all algorithms, schedules, formats, local optimizers, outer steps
                     and kinds of exchange.missing, every two that go together in one run; keys
                     of the command line stay as they are; prints a row for each
  --scenario FILE    the faults of this file, one a line: at 12.5 s: pause node-3 for 4 s
  --shrink           cut what fails down to the faults that make it fail, and print those
  --timeline         print what happened, fault by fault and event by event
  --sim.delay=S, --sim.jitter=S, --sim.loss=P, --sim.duplicate=P
                     the network: delay and extra random delay, s; shares lost and repeated
  --sim.compute=S, --sim.seconds=S
                     time of a local step, s; virtual time after which the simulation stops, s
{configuring}  --json             print the summary as one JSON document, and nothing else;
                     under faults with the laws that were broken, how often faults hit, and the
                     scenario; for --seeds what came of all, under faults every seed that failed

Examples:

  starling simulate -n 16 --topology.kind=ring --stop.rounds=200 --seed 7
  starling simulate -n 8 --seeds 1..10 --stop.rounds=200
  starling simulate --chaos --seeds 1..100 -n 16 -c configs/scenarios/chaos.ini

Exit codes: 0 done, 1 failed while running or a law was broken, 2 wrong usage or configuration,
3 goal not reached.
)"},
    {"data", "what the program makes of a table",
     R"(Usage: starling data FILE.csv [-c FILE] [--data.KEY=VALUE ...] [--json]

Shows what becomes of a table before anything trains: what each column is taken for, what is
missing, which surprises the file holds and what to do about them, and what every other node would
learn of it.

  --data.target=COLUMN   the column that is predicted
  --data.ignore=A,B      columns that are left out
  --json                 print one JSON document, and nothing else

Example:

  starling data patients.csv --data.target=outcome

Exit codes: 0 it can be trained on, 2 it cannot, or wrong usage.
)"},
    {"predict", "what a trained model says of a table",
     R"(Usage: starling predict MODEL FILE.csv [--output FILE] [--json]

Prints one line for each row of the table, in its order: the prediction, and for classes the
probability of each. MODEL is the file that `starling up` and `starling run --output` write. The
table has the columns that the model was trained on, in any order; others are not looked at.

  --output FILE      write there
  --json             print one JSON document, and nothing else

Example:

  starling predict starling-model.safetensors new.csv > predictions.csv

Exit codes: 0 done, 1 the output cannot be written, 2 wrong usage, or a table that does not fit.
)"},
    {"evaluate", "how good a trained model is on a table",
     R"(Usage: starling evaluate MODEL FILE.csv [--output FILE] [--json]

Predicts the rows of a table that has the target too, and says how good that is: accuracy, the area
under the curve of two classes, precision and recall of each class and who is taken for whom; or the
root mean square and mean absolute error and R2 of amounts.

  --output FILE      write there
  --json             print one JSON document, and nothing else

Exit codes: 0 done, 1 the output cannot be written, 2 wrong usage, or a table that does not fit.
)"},
    {"export", "series and events of nodes, for other programs",
     R"(Usage: starling export [--api URL] [--format csv|jsonl] [--what convergence|events|all]
                       [--all] [--output FILE]
       starling export [--api URL] --format tensorboard --output DIR [--all]

Writes what a node remembers of its course, to standard output or a file: the convergence series
(every round of a run of up to 10,000, an evenly thinned set above) and its last 1,000 events.

  --format csv|jsonl|tensorboard
                     csv (the default; RFC 4180, one header), jsonl (one object a line) or
                     tensorboard (an event file for each node, in a folder of its name)
  --what convergence|events|all
                     convergence (the default), events, or all, which is for jsonl
  --all              of every member that lives, at the address of its listen.http; the token goes
                     to each of them
  --output PATH      the file, or for tensorboard the folder, that gets it{asking}
Examples: the loss of eight nodes in a spreadsheet, and in TensorBoard

  starling export --all --output course.csv
  starling export --all --format tensorboard --output runs && tensorboard --logdir runs

Exit codes: 0 done, 1 refused by a node or not written, 2 wrong usage, 4 a node does not answer;
with --all what the others gave is written then.
)"},
    {"config", "every key, its value and where that comes from",
     R"(Usage: starling config [-c FILE] [--SECTION.KEY=VALUE ...]

Prints the effective configuration: every key with its help, its value, and the origin of the value
(default, file, environment or command line; the later wins). Agreed keys have the same value on all
nodes that train together; nodes that differ in one have no edge, and say in which.

{configuring}
Exit codes: 0 done, 2 wrong usage or configuration.
)"},
    {"trace", "what a node spent its last rounds on, for chrome://tracing",
     R"(Usage: starling trace [--api URL]

Prints the last 16,384 spans of a node as trace events: mixing, evaluating, computing and encoding
of the training thread, sending, waiting for a neighbour, and vectors on their way. Put it in a file
and open that in chrome://tracing or in Perfetto; files of several nodes open beside each other.
{asking}
Example:

  starling trace > trace.json
{exits})"},
    {"doctor", "what is wrong with a node, and what to do",
     R"(Usage: starling doctor [--api URL] [--token-file FILE] [--json]
       starling doctor HOST:PORT [--json]

Asks a node how it is, looks at it once more a second later, and connects from this machine to the
ports of its neighbours. Prints a line a check: ok, warn or FAIL, what was seen, and what to do.
With HOST:PORT it looks from this machine at the control port of a peer, such as one that
cluster.join names, and at the bulk port behind it. Nothing is changed, and each look takes 2 s at
most.
{asking}  --json             print one JSON document, and nothing else

Examples: this node; why does it not come to the node that it shall join?

  starling doctor
  starling doctor 10.0.0.2:7600

Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 4 no node answers.
)"},
    {"join", "tell a node to join a cluster",
     R"(Usage: starling join HOST:PORT [--api URL] [--json]

Tells a running node to join the cluster that HOST:PORT belongs to: the control address of any
member, or dns:NAME:PORT or dns:_SERVICE._tcp.NAME, as in cluster.join. Nobody pauses training for
it. See starling members for what came of it.
{asking}  --json             print the node's answer, and nothing else

Example: bring the node of the second terminal to the first

  starling join 127.0.0.1:7600 --api http://127.0.0.1:7690
{exits})"},
    {"leave", "tell a node to take leave and stop",
     R"(Usage: starling leave [--api URL] [--json]

Tells a running node to take leave of the others, who go on without waiting for it, and to stop.
{asking}  --json             print the node's answer, and nothing else
{exits})"},
    {"pause", "tell a node to train no further for now",
     R"(Usage: starling pause [--all] [--api URL] [--json]

The node ends its round, evaluates its model and begins no other until starling resume. It keeps its
place and its neighbours, answers newcomers, and nobody's rounds wait for it. A pause ends with the
process.
{asking}  --all                tell every member that this node knows
  --json               print the nodes' answers, and nothing else

Example: let the whole fleet rest, and go on

  starling pause --all
  starling resume --all
{exits})"},
    {"checkpoint", "tell a node, or all of them, to save",
     R"(Usage: starling checkpoint [--fleet] [--wait] [--api URL] [--json]

Tells a running node to save its state in the folder that its node.data-dir names, after the round
under way. A node also saves by itself, as checkpoint.every says, in a pause and at its end; started
again with that folder it goes on from the newest checkpoint.
{asking}  --fleet              every node saves after one round, on which the nodes agree; a fleet
                       that is started again from that goes on as if it had never stopped
  --wait               until the checkpoint, or that of every node, is on the disk
  --timeout S          how long to wait at most; default 600
  --json               print one JSON document, and nothing else

Example: save all nodes before the machines are switched off

  starling checkpoint --fleet --wait

Exit codes: 0 saved, or told to without --wait; 1 not saved, 2 wrong usage, 4 no node answers.
)"},
    {"resume", "tell a paused node to train on",
     R"(Usage: starling resume [--all] [--api URL] [--json]

The node goes on with the round after the one that starling pause ended, or with the round of its
neighbours if they are far ahead.
{asking}  --all                tell every member that this node knows
  --json               print the nodes' answers, and nothing else
{exits})"},
    {"completion", "completion of commands and keys for a shell",
     R"(Usage: starling completion bash|zsh|fish

Prints a script that completes commands, their options, keys and the values of keys. The Debian
package installs it for all three shells.

Examples: for this shell of bash, for zsh and for fish

  source <(starling completion bash)
  starling completion zsh > ~/.zfunc/_starling
  starling completion fish > ~/.config/fish/completions/starling.fish

Exit codes: 0 done, 2 wrong usage.
)"},
    {"manual", "the manual pages",
     R"(Usage: starling manual [PAGE] [--output DIR]

Prints a manual page in the language of man: starling, starling-COMMAND, or starling.ini on the
keys of the configuration. Without a page it lists their names.

  --output DIR       write all of them there, as DIR/man1 and DIR/man5

Example:

  starling manual starling.ini | man -l -

Exit codes: 0 done, 1 a file cannot be written, 2 wrong usage.
)"},
    {"version", "the version of the program",
     R"(Usage: starling version

Prints the version and nothing else.
)"},
}};

constexpr std::string_view kOverview = R"(starling {}: neighbours train together, without a server

Usage: starling COMMAND [OPTIONS]

{}
starling COMMAND --help says more about each. To begin:

  starling up -n 8          train on eight local nodes and watch
  starling status           ask one of them, in another terminal

Exit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 goal not reached,
4 no node answers.
)";

std::string overview() {
  std::string lines;
  for (const Topic& topic : kTopics)
    lines += fmt::format("  {:<13}{}\n", topic.command, topic.summary);
  return fmt::format(fmt::runtime(kOverview), kVersion, lines);
}

}  // namespace

std::vector<HelpTopic> help_topics() {
  std::vector<HelpTopic> topics;
  for (const Topic& topic : kTopics) topics.push_back({topic.command, topic.summary});
  return topics;
}

std::string help_for(std::string_view command) {
  if (command.empty() || command == "help") return overview();
  const auto topic = std::ranges::find(kTopics, command, &Topic::command);
  if (topic == kTopics.end()) return {};
  return fmt::format(fmt::runtime(topic->text), fmt::arg("asking", kAsking),
                     fmt::arg("showing", kShowing), fmt::arg("exits", kAskingExits),
                     fmt::arg("configuring", kConfiguring));
}

}  // namespace starling::daemon
