#include "gossip/report/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace starling::gossip {
namespace {

// A loss that changed by less than this part is level.
constexpr double kLevel = 0.005;

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::size_t count_of(const Status& status, Phase phase) {
  return static_cast<std::size_t>(std::ranges::count_if(status.members, [&](const auto& member) {
    return member.liveness <= Liveness::suspect && member.member.phase == phase;
  }));
}

std::size_t count_present(const Status& status) {
  return static_cast<std::size_t>(std::ranges::count_if(
      status.members, [](const auto& member) { return member.liveness <= Liveness::suspect; }));
}

std::string whole(std::size_t all, std::string_view one, std::string_view many) {
  return all == 1 ? fmt::format("the only node {}", one)
                  : fmt::format("all {} nodes {}", all, many);
}

// "16 nodes train", "14 of 16 nodes train, 2 have finished"
std::string who(const Status& status) {
  const std::size_t all = count_present(status), train = count_of(status, Phase::training),
                    paused = count_of(status, Phase::paused),
                    finished = count_of(status, Phase::finished),
                    join = count_of(status, Phase::joining) + count_of(status, Phase::resumed);
  if (finished == all && all > 0) return whole(all, "has finished", "have finished");
  if (paused == all && all > 0) return whole(all, "is paused", "are paused");
  std::string text = train == all
                         ? fmt::format("{} train{}", counted(all, "node"), all == 1 ? "s" : "")
                         : fmt::format("{} of {} train", train, counted(all, "node"));
  if (paused > 0) text += fmt::format(", {} {} paused", paused, paused == 1 ? "is" : "are");
  if (finished > 0)
    text += fmt::format(", {} {} finished", finished, finished == 1 ? "has" : "have");
  if (join > 0) text += fmt::format(", {} join{}", join, join == 1 ? "s" : "");
  return text;
}

std::string_view trend(double mean, std::optional<double> before) {
  if (!before || *before == 0) return "";
  const double change = (mean - *before) / std::abs(*before);
  return change < -kLevel ? " falling" : change > kLevel ? " rising" : " level";
}

std::string percent(double part) {
  return part < 0.001 ? "0.1 %" : fmt::format("{:.2g} %", 100 * part);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

const std::optional<Spread>& spread(const Status& status, Quantity quantity) {
  return status.fleet.spreads[static_cast<std::size_t>(quantity)];
}

std::vector<std::string> clauses(const Status& status) {
  std::vector<std::string> clauses = {who(status)};
  if (const auto& loss = spread(status, Quantity::loss))
    clauses.push_back(fmt::format("loss {:.4g}{}", loss->mean,
                                  count_of(status, Phase::training) > 0
                                      ? trend(loss->mean, status.fleet.before)
                                      : std::string_view()));
  if (const auto& accuracy = spread(status, Quantity::accuracy))
    clauses.push_back(fmt::format("accuracy {:.1f} %", 100 * accuracy->mean));
  if (status.fleet.distance && count_present(status) > 1)
    clauses.push_back(
        fmt::format("models within {} of their mean", percent(*status.fleet.distance)));
  if (status.run.remaining_s)
    clauses.push_back(fmt::format("done in about {}", duration(*status.run.remaining_s)));
  return clauses;
}

}  // namespace

std::string sentence(const Status& status) {
  std::vector<std::string> all = status.reasons;
  if (status.state == State::leaving) all.insert(all.begin(), "this node leaves");
  const bool has_model = status.state != State::starting && status.state != State::joining;
  if (has_model)
    all.push_back(fmt::format("{}", fmt::join(clauses(status), ", ")));
  else if (all.empty())
    all.emplace_back("this node starts");
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace starling::gossip
