#include "sim/setting_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace starling::sim {
namespace {

// By the changes up to the first round, and then one by one up to the last. Empty: none up to the
// first says it.
std::vector<std::string> values_in(std::uint64_t first, std::uint64_t last,
                                   const std::vector<gossip::SettingChange>& changes,
                                   std::string_view of) {
  std::vector<std::string> values;
  for (const gossip::SettingChange& change : changes)
    for (const auto& [key, value] : change.terms) {
      if (key != of || change.round > last) continue;
      if (change.round <= first)
        values.assign(1, value);
      else if (!values.empty())
        values.push_back(value);
    }
  return values;
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
  const gossip::Status status = world_->status(node);
  const gossip::SettingsStatus& settings = status.settings;
  if (!settings.problem.empty())
    return report_("settings hold from their round", node, settings.problem);
  const auto holds = [&](std::uint64_t last, std::string_view key, const std::string& value) {
    const auto expected = values_in(job.round, last, settings.changes, key);
    return expected.empty() || std::ranges::find(expected, value) != expected.end();
  };
  // A node that is behind takes at once what the others have reached: it would have no edges.
  const auto expect = [&](std::string_view key, const std::string& value) {
    if (!holds(job.round, key, value) && !holds(reached(), key, value))
      report_("settings hold from their round", node,
              fmt::format("round {} is with {} = {}, and it knows {}", job.round, key, value,
                          text_of(settings)));
  };
  const double steps = static_cast<double>(job.local_steps) / job.pace;
  expect("optim.local-steps", fmt::format("{}", std::llround(steps)));
  expect("optim.algorithm", status.algorithm.substr(0, status.algorithm.find('+')));
}

std::uint64_t SettingLaws::reached() const {
  std::uint64_t reached = 0;
  for (const std::size_t node : world_->running())
    reached = std::max(reached, world_->status(node).run.round);
  return reached;
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
