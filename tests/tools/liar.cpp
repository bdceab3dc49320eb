// liar ARGUMENTS: `starling run ARGUMENTS` of a member that is valid and lies. It is the program
// with one change: the linker leads the calls of Node::step to the one below (wrap_step.sh), which
// falsifies the vectors that the node sends. All else is true: keys, members, rounds,
// acknowledgements.
//
// LIES in the environment names lies of sim/lies.h, in order, such as `reverse,dissensus`, and
// LIE_SECONDS how long each of them lasts; after the last comes the first. The mean of all, their
// deviation and the split of the graph are those of the nodes whose vectors it hears. For vectors
// in f32, without a compressor.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "daemon/cli/commands.h"
#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "daemon/setup/given_ticket.h"
#include "gossip/node/node.h"
#include "optim/codec/format.h"
#include "sim/falsifier.h"
#include "topology/connectivity.h"
#include "wrapped_step.h"  // WRAPPED_STEP, REAL_STEP

using namespace starling;

// The first argument of a member function is its object.
void step_honestly(gossip::Node* node, Time now, gossip::Input input,
                   gossip::Outputs& out) asm(REAL_STEP);
void step_and_lie(gossip::Node* node, Time now, gossip::Input input,
                  gossip::Outputs& out) asm(WRAPPED_STEP);

namespace {

class LyingMember {
 public:
  void falsify(const gossip::Node& node, Time now, std::span<gossip::Output> outputs) {
    turn(node, now);
    for (gossip::Output& output : outputs) {
      if (const auto* train = std::get_if<gossip::Train>(&output)) hear(train->job);
      if (auto* send = std::get_if<gossip::Send>(&output)) tell(*send);
    }
  }

 private:
  // The lie whose turn it is.
  void turn(const gossip::Node& node, Time now) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - Time{}).count();
    const std::size_t turn = static_cast<std::size_t>(seconds) / each_s_ % lies_.size();
    if (falsifier_ && turn == turn_) return;
    turn_ = turn;
    falsifier_ = std::make_unique<sim::Falsifier>(
        *optim::format_named("f32"), *sim::lie_named(lies_[turn]),
        [this, &node, now] { return entries(node.status(now).topology); });
    daemon::log::info("lies: {}", lies_[turn]);
  }

  void hear(const optim::Job& job) {
    for (const optim::MixTerm& term : job.mix)
      if (!term.theirs.empty()) falsifier_->hear(number_of(term.peer), term.theirs);
  }

  void tell(gossip::Send& send) {
    auto* const round = std::get_if<gossip::Round>(&send.message.body);
    if (!round || send.message.payload.empty()) return;
    falsifier_->falsify(number_of(send.to), *round, send.message.payload);
    if (send.from >= send.message.payload.size()) send.from = 0;
  }

  std::vector<double> entries(const gossip::TopologyStatus& topology) {
    const auto graph = topology.graph();
    const auto mode = graph ? topology::connectivity(*graph) : std::nullopt;
    if (!mode) return {};
    std::vector<double> entries;
    const std::vector<std::string> names = topology.names();
    for (std::size_t k = 0; k < std::min(names.size(), mode->entries.size()); ++k) {
      const std::size_t number = number_of(node_id(names[k]));
      entries.resize(std::max(entries.size(), number + 1));
      entries[number] = mode->entries[k];
    }
    return entries;
  }

  std::size_t number_of(NodeId node) {
    return numbers_.try_emplace(node, numbers_.size()).first->second;
  }

  static std::string of_environment(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value ? value : otherwise;
  }

  std::vector<std::string> lies_ = split(of_environment("LIES", "reverse"), ',');
  std::size_t each_s_ = std::stoul(of_environment("LIE_SECONDS", "60"));
  std::size_t turn_ = 0;
  std::unique_ptr<sim::Falsifier> falsifier_;
  std::map<NodeId, std::size_t> numbers_;
};

}  // namespace

void step_and_lie(gossip::Node* node, Time now, gossip::Input input, gossip::Outputs& out) {
  static LyingMember member;
  const std::size_t before = out.size();
  step_honestly(node, now, std::move(input), out);
  member.falsify(*node, now, std::span(out).subspan(before));
}

int main(int count, char** values) {
  daemon::keep_large_blocks();
  daemon::hide_tickets(std::span(values, static_cast<std::size_t>(count)));
  daemon::use_one_arena();
  daemon::log::set_up(daemon::log::Level::info, "liar");
  return daemon::carry_out(daemon::kRun, std::vector<std::string>(values + 1, values + count));
}
