#include "gossip/report/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace starling::gossip {
namespace {

// A loss that changed by less than this part is level.
constexpr double kLevel = 0.005;
// Models farther from their mean, relative to it, are apart: the number says nothing more.
constexpr double kApart = 10;
// How long a death is news.
constexpr Duration kNews = std::chrono::minutes(10);
constexpr std::size_t kNamesShown = 4;

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string whole(std::size_t all, std::string_view one, std::string_view many) {
  return all == 1 ? fmt::format("the only node {}", one)
                  : fmt::format("all {} nodes {}", all, many);
}

const std::optional<Spread>& spread(const Status& status, Quantity quantity) {
  return status.fleet.spreads[static_cast<std::size_t>(quantity)];
}

// Samples per second; a mean over nodes that take no step comes towards 0, and is not 0 at once.
constexpr double kNoStep = 0.1;

// Neither this node nor any other takes a step.
bool is_idle(const Status& status) {
  const auto& rate = spread(status, Quantity::sample_rate);
  return status.run.is_idle && rate && rate->mean < kNoStep;
}

// The members with which this node may average.
std::vector<MemberStatus> agreeing(const Status& status) {
  std::vector<MemberStatus> members = status.members;
  std::erase_if(members, [](const MemberStatus& one) { return !one.agrees; });
  return members;
}

// "16 nodes train", "14 of 16 nodes train, 2 have finished", "3 nodes train, 1 relay". Of a node
// that hears no neighbour only what that node does: of the others it knows nothing.
std::string who(const Status& status) {
  if (status.is_alone) return "this node rests";
  std::vector<MemberStatus> members = status.members, fleet = agreeing(status);
  const auto is_relaying = [](const MemberStatus& one) { return is_relay(one.member); };
  std::erase_if(members, is_relaying);
  std::erase_if(fleet, is_relaying);
  const auto is_silent = [](const MemberStatus& one) {
    return one.liveness == Liveness::suspect && one.member->phase == Phase::training;
  };
  const std::size_t all = count_present(members),
                    silent = static_cast<std::size_t>(std::ranges::count_if(fleet, is_silent)),
                    train = count_in(fleet, Phase::training) - silent,
                    paused = count_in(members, Phase::paused),
                    finished = count_in(members, Phase::finished),
                    end = count_in(members, Phase::ending),
                    join = count_in(members, Phase::joining) + count_in(members, Phase::resumed),
                    relays = count_present(status.members) - all;
  if (finished == all && all > 0) return whole(all, "has finished", "have finished");
  if (paused == all && all > 0) return whole(all, "is paused", "are paused");
  std::string text =
      train > 0 && is_idle(status) ? fmt::format("none of {} takes a step", counted(all, "node"))
      : train == all ? fmt::format("{} train{}", counted(all, "node"), all == 1 ? "s" : "")
                     : fmt::format("{} of {} train", train, counted(all, "node"));
  const auto add = [&text](std::size_t count, std::string_view one, std::string_view many) {
    if (count > 0) text += fmt::format(", {} {}", count, count == 1 ? one : many);
  };
  add(paused, "is paused", "are paused");
  add(finished, "has finished", "have finished");
  add(end, "ends the run", "end the run");
  add(join, "joins", "join");
  if (relays > 0) text += ", " + counted(relays, "relay");
  return text;
}

std::string loss_text(double loss, std::optional<double> change) {
  if (!change) return fmt::format("loss {:.4g}", loss);
  const bool is_level = std::abs(*change) <= kLevel;
  return fmt::format("loss {:.4g} {}", loss,
                     is_level      ? "(level)"
                     : *change < 0 ? "falling"
                                   : "rising");
}

std::string percent_shown(double part) {
  return part < 0.001 ? "0.1 %" : fmt::format("{:.2g} %", 100 * part);
}

std::string duration(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::max(1.0, seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::vector<std::string> clauses(const Status& status) {
  std::vector<std::string> clauses = {who(status)};
  if (const auto& loss = spread(status, Quantity::loss))
    clauses.push_back(loss_text(loss->mean, count_in(status.members, Phase::training) > 0
                                                ? status.fleet.loss_change
                                                : std::nullopt));
  if (const auto& accuracy = spread(status, Quantity::accuracy))
    clauses.push_back(fmt::format("accuracy {:.1f} %", 100 * accuracy->mean));
  const bool has_ended = status.run.end.model.hash != 0;
  if (status.fleet.distance && !has_ended && !status.is_alone && status.alone.empty() &&
      !is_idle(status) && count_present(agreeing(status)) > 1)
    clauses.push_back(
        *status.fleet.distance > kApart
            ? "models apart"
            : fmt::format("models within {} of their mean", percent_shown(*status.fleet.distance)));
  if (has_ended)
    clauses.push_back("one model, " + to_text(status.run.end.model));
  else if (status.run.end.remaining_s)
    clauses.push_back(fmt::format("done in about {}", duration(*status.run.end.remaining_s)));
  return clauses;
}

std::string names_of(const std::vector<const MemberStatus*>& members) {
  std::string text;
  for (std::size_t k = 0; k < std::min(members.size(), kNamesShown); ++k)
    text += (k > 0 ? ", " : "") + members[k]->member->name;
  return members.size() > kNamesShown ? text + ", …" : text;
}

// "1 of 4 nodes died 20 s ago (node-1)", "2 of 4 nodes do not answer (node-1, node-3)".
std::vector<std::string> losses(const Status& status, Time now) {
  std::vector<const MemberStatus*> dead, silent;
  for (const MemberStatus& one : status.members) {
    if (one.liveness == Liveness::dead && now - one.last_heard <= kNews) dead.push_back(&one);
    if (one.liveness == Liveness::suspect) silent.push_back(&one);
  }
  const std::string all = counted(count_present(status.members) + dead.size(), "node");
  std::vector<std::string> texts;
  if (!dead.empty()) {
    const auto last =
        std::ranges::max(dead, {}, [](const MemberStatus* one) { return one->last_heard; });
    const std::string ago = duration(seconds(now - last->last_heard));
    texts.push_back(dead.size() == 1
                        ? fmt::format("1 of {} died {} ago ({})", all, ago, names_of(dead))
                        : fmt::format("{} of {} died ({}), the last {} ago", dead.size(), all,
                                      names_of(dead), ago));
  }
  if (!silent.empty())
    texts.push_back(fmt::format("{} of {} {} not answer ({})", silent.size(), all,
                                silent.size() == 1 ? "does" : "do", names_of(silent)));
  return texts;
}

}  // namespace

std::string sentence(const Status& status, Time now) {
  std::vector<std::string> all = losses(status, now);
  all.insert(all.end(), status.reasons.begin(), status.reasons.end());
  if (status.state == State::leaving) all.insert(all.begin(), "this node leaves");
  const bool has_model = status.state != State::starting && status.state != State::joining;
  if (has_model)
    all.push_back(fmt::format("{}", fmt::join(clauses(status), ", ")));
  else if (all.empty())
    all.emplace_back("this node starts");
  return fmt::format("{}", fmt::join(all, "; "));
}

}  // namespace starling::gossip
