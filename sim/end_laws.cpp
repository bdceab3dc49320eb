#include "sim/end_laws.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gossip/members/roster.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;

// From when a node has reason to end until it has finished: it hears that the others have ended,
// waits for a slow one, and one root after the other may turn out to be silent.
constexpr Duration kEndWithin = 40s;
// How many times as long as honest models the model of the end may be. What is farther than some
// times the distance between neighbours is refused.
constexpr double kLongerMost = 10;

}  // namespace

EndLaws::Seen& EndLaws::seen_of(std::size_t node) {
  Seen& seen = seen_[node];
  if (seen.life != world_->machine(node).life) seen = {.life = world_->machine(node).life};
  return seen;
}

void EndLaws::see(std::size_t node, const gossip::Output& output) {
  if (const auto* event = std::get_if<gossip::Event>(&output)) {
    if (event->kind != gossip::Event::Kind::ending) return;
    seen_of(node).began = world_->now();
    has_begun_ = true;
    if (!is_liar(world_->options(), node)) longest_ = std::max(longest_, length(node));
  } else if (std::holds_alternative<gossip::MayEnd>(output)) {
    see_model(node);
  } else if (const auto* train = std::get_if<gossip::Train>(&output)) {
    const optim::Job& job = train->job;
    const gossip::Options& options = world_->options().base;
    const auto last =
        options.schedule->goes_in_step() ? options.goal.last_round(job.uncounted) : std::nullopt;
    const bool is_late = seen_of(node).began != kNever ||
                         (last && job.round > *last && world_->fault_counts().forged == 0);
    if (job.local && is_late)
      report_("nobody steps after the end", node, fmt::format("steps in round {}", job.round));
  }
}

void EndLaws::see_model(std::size_t node) {
  seen_of(node).model = world_->status(node).run.end.model;
  if (const double now = length(node); now > kLongerMost * longest_)
    report_("a false model is refused", node,
            fmt::format("ends with a model of length {:.3g}, beside {:.3g} before", now, longest_));
}

double EndLaws::length(std::size_t node) const {
  double sum = 0;
  for (const double x : world_->trainer(node).parameters()) sum += x * x;
  return std::sqrt(sum);
}

bool EndLaws::sees_finished(std::size_t node) const {
  return std::ranges::any_of(world_->machine(node).members->others(), [](const auto& entry) {
    return entry->liveness == gossip::Liveness::alive &&
           entry->member->phase == gossip::Phase::finished;
  });
}

// Who hears nobody waits, and says so.
void EndLaws::expect_end() {
  if (!has_begun_) return;
  for (const std::size_t node : world_->running()) {
    Seen& seen = seen_of(node);
    const gossip::Status status = world_->status(node);
    const gossip::EndStatus& end = status.run.end;
    const bool has_finished = status.state == gossip::State::finished;
    const bool is_due = !has_finished && !status.is_alone && (end.round || sees_finished(node));
    if (!is_due) seen.due = kNever;
    if (is_due && seen.due == kNever) seen.due = world_->now();
    if (is_due && world_->now() > seen.due + kEndWithin)
      report_("the run ends for all", node,
              fmt::format("is {} {:.0f} s after it had reason to end", gossip::name(status.state),
                          seconds(world_->now() - seen.due)));
    if (has_finished && end.model.hash == 0 && end.shortfall.empty())
      report_("the run ends for all", node, "has finished with no model, and does not say why");
  }
}

void EndLaws::expect_one_model(Time agreed) {
  for (std::size_t node = 0; node < seen_.size(); ++node)
    for (std::size_t other = 0; other < node; ++other)
      if (have_met(node, other, agreed)) expect_same(node, other);
}

bool EndLaws::have_met(std::size_t node, std::size_t other, Time agreed) {
  const auto has_begun = [&](const Seen& seen) {
    return seen.began != kNever && seen.began >= agreed;
  };
  if (has_begun(seen_of(node)) && has_begun(seen_of(other))) return true;
  return world_->runs(node) && world_->runs(other) &&
         world_->machine(node).members->find(node_id(name_of(other)));
}

void EndLaws::expect_same(std::size_t node, std::size_t other) {
  const gossip::EndModel own = model_of(node), its = model_of(other);
  if (own.hash == 0 || its.hash == 0) return;  // it trains, or says why it has none
  // A root's own model stands for those who have ended, which may be more when it comes back.
  const bool is_sum = world_->options().base.needs.sums_models && !world_->options().lie->is_told();
  const bool count_alike = own.nodes == its.nodes || !is_sum;
  if (own.hash != its.hash || !count_alike ||
      world_->trainer(node).parameters() != world_->trainer(other).parameters())
    report_("one hash", node,
            fmt::format("ends with {}, and node-{} with {}", to_text(own), other, to_text(its)));
}

// As of now, or when it left. A liar's does not count.
gossip::EndModel EndLaws::model_of(std::size_t node) {
  const std::optional<gossip::EndModel>& model = seen_of(node).model;
  if (!model || is_liar(world_->options(), node)) return {};
  return world_->runs(node) ? world_->status(node).run.end.model : *model;
}

}  // namespace starling::sim
