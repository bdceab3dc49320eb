#include "daemon/cli/simulate/combinations.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/setup/config.h"
#include "gossip/schedule.h"
#include "optim/algorithms/registry.h"
#include "topology/sequence.h"

using namespace starling;
using daemon::Combination;

namespace {

std::vector<Combination> legal_ones() {
  const Settings given(daemon::schema());
  std::vector<Combination> all = daemon::all_combinations(daemon::schema(), daemon::varied_keys());
  std::erase_if(all, [&](const Combination& one) { return !daemon::is_legal(one, given); });
  return all;
}

bool holds(const Combination& combination, const std::string& first, const std::string& second) {
  const auto has = [&](const std::string& value) {
    return std::ranges::find(combination, value, &SettingSources::Pair::second) !=
           combination.end();
  };
  return has(first) && has(second);
}

}  // namespace

TEST_CASE("Every algorithm and schedule that go together are in a combination that is tried") {
  const std::vector<Combination> legal = legal_ones();
  const std::vector<Combination> tried = daemon::covering_pairs(legal);
  CHECK(tried.size() < legal.size() / 4);
  for (const optim::AlgorithmRow& algorithm : optim::algorithms()) {
    std::size_t schedules = 0;
    for (const gossip::ScheduleRow& schedule : gossip::schedules()) {
      const auto has_both = [&](const Combination& one) {
        return holds(one, std::string(algorithm.name), std::string(schedule.name));
      };
      CAPTURE(std::string(algorithm.name));
      CAPTURE(std::string(schedule.name));
      CHECK(std::ranges::any_of(tried, has_both) == std::ranges::any_of(legal, has_both));
      schedules += std::ranges::any_of(tried, has_both);
    }
    CHECK(schedules > 0);
    for (const topology::SequenceRow& sequence : topology::sequences()) {
      const std::string name =
          to_string(topology::SequenceChoice{sequence.make ? &sequence : nullptr, sequence.least});
      const auto has_both = [&](const Combination& one) {
        return holds(one, std::string(algorithm.name), name);
      };
      CHECK(std::ranges::any_of(tried, has_both) == std::ranges::any_of(legal, has_both));
    }
  }
}

TEST_CASE("Few combinations hold every two values of many") {
  std::vector<Combination> all;
  for (const char* a : {"a1", "a2", "a3"})
    for (const char* b : {"b1", "b2", "b3"})
      for (const char* c : {"c1", "c2"})
        if (std::string(a) != "a2" || std::string(b) != "b2")
          all.push_back({{"a", a}, {"b", b}, {"c", c}});
  const std::vector<Combination> tried = daemon::covering_pairs(all);
  CHECK(tried.size() < all.size());
  for (const Combination& one : all)
    for (std::size_t k = 0; k < 3; ++k)
      for (std::size_t l = k + 1; l < 3; ++l)
        CHECK(std::ranges::any_of(tried, [&](const Combination& other) {
          return holds(other, one[k].second, one[l].second);
        }));
  CHECK(daemon::covering_pairs({}).empty());
}
