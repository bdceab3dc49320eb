#include "daemon/cli/ask/remedies.h"

#include <span>
#include <string_view>

namespace starling::daemon {
namespace {

struct Remedy {
  std::string_view part, text;
};

// The text of the first row whose part the message contains.
std::optional<std::string> first_of(std::span<const Remedy> rows, const std::string& message) {
  for (const Remedy& row : rows)
    if (message.find(row.part) != std::string::npos) return std::string(row.text);
  return std::nullopt;
}

// Of a warning that the trainer gives, which stops nothing.
constexpr std::string_view kTrainerSays = "the trainer says";

constexpr Remedy kRemedies[] = {
    {"deals out one file",
     "set data.shard = all at all nodes if each has its own file, or give all the same file"},
    {"cannot train with these nodes",
     "give the data of all nodes the same columns and kinds; starling data FILE shows them"},
    {"draw the same batches",
     "let each trainer draw other samples: swarm.batches(loader), or a seed of its own"},
    {"no step since", "call swarm.step(loss=...) in the loop, after each step of the optimizer"},
    {"a second trainer", "attach one process of this node; under torchrun that of rank 0"},
    {"trainer", "see the trainer's output; trainer.command starts it again, or attach it again"},
    {" is of cluster ", "give both the same cluster.id, or take the seed away"},
    {"of the protocol", "run the same version of the program on every node"},
    {"under this name", "give this node another node.name, or stop the other one"},
    {"under this node's name", "give this node another node.name, or stop the other one"},
    {"does not fit", "give both the same configuration, and data of the same columns"},
    {"no edge opens to ", "name an address that others reach in listen.advertise of that node"},
    {"no edge to ", "give both the same value; starling config shows the agreed keys"},
    {"cluster.join", "correct cluster.join, or start that node; starling doctor HOST:PORT looks"},
    {"expected members", "start the missing nodes, or correct cluster.expect"},
    {"nobody listens at", "correct listen.control or listen.advertise of the node that it names"}};

constexpr Remedy kHints[] = {
    {kTrainerSays, "see what the trainer's program writes"},
    {" holds up the others",
     "look at that node's machine: its load, a limit of its processor, a process that is stopped "
     "now and then"},
    {"waits for the network",
     "a link is thin: exchange.codec=auto and optim.local-steps=auto on all nodes send shorter "
     "vectors, less often"},
    {"others wait for this node to dial",
     "nothing, if it is behind a NAT: listen.advertise=none says so from the start; else open "
     "that port for connections from the others"},
    {"fetching the model", "wait; if it lasts, see ports"},
    {"going on without", "ask starling doctor on the machine of that node"},
    {" is paused", "ask starling doctor on the machine of that node"}};

}  // namespace

std::optional<std::string> remedy_of(const std::string& warning) {
  if (warning.find(kTrainerSays) != std::string::npos) return std::nullopt;
  return first_of(kRemedies, warning);
}

std::string hint_of(const std::string& text) {
  return first_of(kHints, text)
      .value_or("nothing, if it passes or is meant; docs/troubleshooting.md has a table of causes");
}

}  // namespace starling::daemon
