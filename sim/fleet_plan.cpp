#include "sim/fleet_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/quantity.h"
#include "base/text.h"

namespace starling::sim {
namespace {

using PlanWords = std::span<const std::string>;

constexpr std::size_t kMachinesLimit = 1024;
constexpr double kSlowerMost = 1000, kDeathsMost = 1e6;
// Between two machines of one region, unless the file says otherwise.
constexpr double kNear_s = 0.002;
// Of what a link carries: nodes with two neighbours take 1.17 times payload / bandwidth with the
// congestion control that they have by themselves (docs/performance.md); headers, and connections
// that share a link unevenly.
constexpr double kPayloadShare = 0.85;

Result<double> read_plan_seconds(const std::string& word, double least, double most) {
  const auto value = parse_seconds(word);
  if (!value || !(*value >= least && *value <= most))
    return fail("\"{}\": expected a time from {} s to {} s, as 90ms, 2s or 30m", word, least, most);
  return *value;
}

Result<double> read_plan_number(const std::string& word, double least, double most) {
  const auto value = parse_number(word);
  if (!value || !(*value >= least && *value <= most))
    return fail("\"{}\": expected a number from {} to {}", word, least, most);
  return *value;
}

// Whether the words have that pattern, in which "*" stands for any word.
bool fits(PlanWords words, std::string_view pattern) {
  const std::vector<std::string> parts = split(pattern, ' ');
  return std::ranges::equal(words, parts, [](const std::string& word, const std::string& part) {
    return part == "*" || word == part;
  });
}

Result<void> read_rates(const std::string& word, FleetPlan::Region& region) {
  const std::size_t slash = word.find('/');
  TRY(region.up, parse_bandwidth(word.substr(0, slash)));
  region.down = region.up;
  if (slash == std::string::npos) return {};
  TRY(region.down, parse_bandwidth(word.substr(slash + 1)));
  return {};
}

Result<void> read_region(PlanWords words, FleetPlan& plan) {
  if (!fits(words.first(std::min<std::size_t>(words.size(), 5)), "region * * machines *") ||
      (words.size() != 5 && !fits(words.subspan(5), "slower *")))
    return fail("expected \"region NAME N machines RATE\", or with \"slower FACTOR\" after it");
  FleetPlan::Region region{.name = words[1]};
  if (std::ranges::find(plan.regions, region.name, &FleetPlan::Region::name) != plan.regions.end())
    return fail("region {} is there twice", region.name);
  const auto machines = parse_integer(words[2]);
  if (!machines || *machines < 1 || *machines > static_cast<std::int64_t>(kMachinesLimit))
    return fail("\"{}\": expected a whole number from 1 to {}", words[2], kMachinesLimit);
  region.machines = static_cast<std::size_t>(*machines);
  TRY_DO(read_rates(words[4], region));
  if (words.size() > 5) {
    TRY(region.slower, read_plan_number(words[6], 1 / kSlowerMost, kSlowerMost));
  }
  plan.regions.push_back(std::move(region));
  return {};
}

const FleetPlan::Link* find_link(const FleetPlan& plan, const std::string& a,
                                 const std::string& b) {
  const auto found = std::ranges::find_if(plan.links, [&](const FleetPlan::Link& link) {
    return (link.from == a && link.to == b) || (link.from == b && link.to == a);
  });
  return found == plan.links.end() ? nullptr : &*found;
}

Result<void> read_link(PlanWords words, FleetPlan& plan) {
  const bool is_shared = fits(words, "link * * * shared *");
  if (!is_shared && !fits(words, "link * * *") && !fits(words, "link * * * *"))
    return fail(
        "expected \"link REGION REGION ROUND-TRIP\", or with a rate or \"shared RATE\" after it");
  FleetPlan::Link link{.from = words[1], .to = words[2]};
  if (find_link(plan, link.from, link.to))
    return fail("link {} {} is there twice", link.from, link.to);
  TRY(link.round_trip_s, read_plan_seconds(words[3], 0, 60));
  if (words.size() > 4) {
    TRY((is_shared ? link.shared : link.each), parse_bandwidth(words.back()));
  }
  plan.links.push_back(std::move(link));
  return {};
}

Result<void> read_churn(PlanWords words, FleetPlan& plan) {
  if (!fits(words, "churn * a day for *"))
    return fail("expected \"churn N a day for TIME\", as churn 4 a day for 30m");
  TRY(plan.deaths_a_day, read_plan_number(words[1], 0, kDeathsMost));
  TRY(plan.away_s, read_plan_seconds(words[5], 1, kDay_s * 30));
  return {};
}

Result<void> read_setting(PlanWords words, FleetPlan& plan) {
  const std::size_t equals = words.size() == 2 ? words[1].find('=') : std::string::npos;
  if (equals == std::string::npos)
    return fail("expected \"set KEY=VALUE\", as set exchange.codec=i4");
  plan.settings.emplace_back(words[1].substr(0, equals), words[1].substr(equals + 1));
  return {};
}

Result<void> read_published(PlanWords words, FleetPlan& plan) {
  if (words.size() != 2 || !words[1].ends_with('%'))
    return fail("expected \"published N%\", as published 83%");
  TRY(const double percent, read_plan_number(words[1].substr(0, words[1].size() - 1), 0, 100));
  plan.published = percent / 100;
  return {};
}

Result<void> read_statement(PlanWords words, FleetPlan& plan) {
  const std::string& verb = words.front();
  if (verb == "region") return read_region(words, plan);
  if (verb == "link") return read_link(words, plan);
  if (verb == "churn") return read_churn(words, plan);
  if (verb == "set") return read_setting(words, plan);
  if (verb == "published") return read_published(words, plan);
  if (fits(words, "model *")) {
    TRY(plan.model_bytes, parse_bytes(words[1]));
  } else if (fits(words, "step *")) {
    TRY(plan.step_s, read_plan_seconds(words[1], 1e-6, kDay_s));
  } else {
    return fail(
        "\"{}\": expected model SIZE, step TIME, region …, link …, churn …, set KEY=VALUE or "
        "published N%",
        fmt::join(words, " "));
  }
  return {};
}

Result<void> check_regions(const FleetPlan& plan) {
  std::vector<std::string> names;
  for (const FleetPlan::Region& region : plan.regions) names.push_back(region.name);
  const std::size_t machines = plan.machines();
  if (machines < 2 || machines > kMachinesLimit)
    return fail("expected regions with 2 to {} machines in all, found {}", kMachinesLimit,
                machines);
  for (const FleetPlan::Link& link : plan.links)
    for (const std::string& end : {link.from, link.to})
      if (std::ranges::find(names, end) == names.end())
        return fail("link {} {}: there is no region {}; expected one of {}", link.from, link.to,
                    end, fmt::join(names, ", "));
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = a + 1; b < names.size(); ++b)
      if (!find_link(plan, names[a], names[b]))
        return fail("expected \"link {} {} ROUND-TRIP\": every two regions have a link", names[a],
                    names[b]);
  return {};
}

}  // namespace

std::size_t FleetPlan::machines() const {
  std::size_t all = 0;
  for (const Region& region : regions) all += region.machines;
  return all;
}

double FleetPlan::slowness(std::size_t machine) const {
  for (const Region& region : regions) {
    if (machine < region.machines) return region.slower;
    machine -= region.machines;
  }
  return 1;
}

std::pair<double, std::string> FleetPlan::thinnest() const {
  std::pair<double, std::string> least{regions.front().up, "a machine of " + regions.front().name};
  const auto look = [&](double rate, std::string where) {
    if (rate > 0 && rate < least.first) least = {rate, std::move(where)};
  };
  for (const Region& region : regions)
    for (const double rate : {region.up, region.down}) look(rate, "a machine of " + region.name);
  for (const Link& link : links)
    for (const double rate : {link.each, link.shared})
      look(rate, fmt::format("{} and {}", link.from, link.to));
  return least;
}

Result<FleetPlan> parse_fleet_plan(std::string_view text) {
  FleetPlan plan;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, std::min(text.find('#'), end)));
    std::ranges::replace(line, '\t', ' ');
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const std::vector<std::string> words = split(line, ' ');
    if (words.empty()) continue;
    if (const auto read = read_statement(words, plan); !read)
      return fail("line {}: {}", number, read.error().text);
  }
  TRY_DO(check_regions(plan));
  return plan;
}

std::shared_ptr<const Geography> geography_of(const FleetPlan& plan, double haste) {
  auto map = std::make_shared<Geography>();
  const double share = haste * kPayloadShare;
  for (std::size_t index = 0; index < plan.regions.size(); ++index) {
    const FleetPlan::Region& region = plan.regions[index];
    map->regions.push_back(region.name);
    map->places.insert(map->places.end(), region.machines,
                       {index, region.up * share, region.down * share});
  }
  for (const FleetPlan::Region& a : plan.regions)
    for (const FleetPlan::Region& b : plan.regions) {
      const FleetPlan::Link* const link = find_link(plan, a.name, b.name);
      const double round_trip_s = link ? link->round_trip_s : kNear_s;
      Geography::Way way{.delay = from_seconds(round_trip_s / 2 / haste)};
      if (link) way.each = link->each * share, way.shared = link->shared * share;
      map->ways.push_back(way);
    }
  return map;
}

}  // namespace starling::sim
