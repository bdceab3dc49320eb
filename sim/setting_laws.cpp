#include "sim/setting_laws.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"

namespace starling::sim {
namespace {

// By the changes up to that round; 0: none says it.
std::size_t local_steps_in(std::uint64_t round, const std::vector<gossip::SettingChange>& changes) {
  std::size_t steps = 0;
  for (const gossip::SettingChange& change : changes)
    for (const auto& [key, value] : change.terms)
      if (change.round <= round && key == "optim.local-steps")
        steps = static_cast<std::size_t>(parse_integer(value).value_or(0));
  return steps;
}

// "node-1: 3 from round 20 on; node-2: 1 from round 30 on".
std::string text_of(const gossip::SettingsStatus& settings) {
  std::vector<std::string> texts;
  for (const gossip::SettingChange& change : settings.changes)
    for (const auto& [key, value] : change.terms)
      texts.push_back(
          fmt::format("{}: {} = {} from round {} on", change.author, key, value, change.round));
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

void SettingLaws::see(std::size_t node, const gossip::Output& output) {
  if (const auto* event = std::get_if<gossip::Event>(&output))
    is_any_ |= event->kind == gossip::Event::Kind::settings;
  const auto* train = std::get_if<gossip::Train>(&output);
  if (!is_any_ || !train || !train->job.local) return;
  const optim::Job& job = train->job;
  const gossip::SettingsStatus settings = world_->status(node).settings;
  const std::size_t expected = local_steps_in(job.round, settings.changes);
  const double steps = static_cast<double>(job.local_steps) / job.pace;
  if (expected > 0 && settings.problem.empty() &&
      std::abs(steps - static_cast<double>(expected)) > .5)
    report_("settings hold from their round", node,
            fmt::format("takes {} local steps in round {}, and knows {}", steps, job.round,
                        text_of(settings)));
}

void SettingLaws::expect_same() {
  if (!is_any_ || world_->running().empty()) return;
  const std::size_t first = world_->running().front();
  const std::string known = text_of(world_->status(first).settings);
  for (const std::size_t node : world_->running())
    if (const std::string other = text_of(world_->status(node).settings); other != known)
      report_("all know the same settings", node,
              fmt::format("knows {}, and {} {}", other, name_of(first), known));
}

}  // namespace starling::sim
