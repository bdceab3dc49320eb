#include "models/data/partition.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

Dataset labelled(std::size_t rows, std::size_t classes) {
  Dataset set;
  set.rows = rows;
  set.classes = classes;
  Prng prng(5);
  for (std::size_t r = 0; r < rows; ++r)
    set.labels.push_back(static_cast<std::int32_t>(prng.below(classes)));
  return set;
}

bool covers_once(const std::vector<Rows>& parts, std::size_t rows) {
  Rows all;
  for (const Rows& part : parts) all.insert(all.end(), part.begin(), part.end());
  std::ranges::sort(all);
  Rows expected(rows);
  std::iota(expected.begin(), expected.end(), 0U);
  return all == expected;
}

std::size_t classes_in(const Dataset& set, const Rows& rows) {
  std::vector<bool> seen(set.classes);
  for (const std::uint32_t row : rows) seen[static_cast<std::size_t>(set.labels[row])] = true;
  return static_cast<std::size_t>(std::ranges::count(seen, true));
}

}  // namespace

TEST_CASE("Every partition gives every sample to exactly one node") {
  const Dataset set = labelled(1003, 10);
  for (const auto kind : {Partition::Kind::iid, Partition::Kind::by_label,
                          Partition::Kind::dirichlet, Partition::Kind::contiguous})
    for (const std::size_t parts : {1, 3, 10, 64, 1003})
      for (const double alpha : {0.001, 0.1, 1.0, 100.0}) {
        const auto dealt = deal(set, {.kind = kind, .alpha = alpha}, parts, 1);
        REQUIRE(dealt.size() == parts);
        CHECK(covers_once(dealt, set.rows));
        if (kind == Partition::Kind::dirichlet) CHECK(std::ranges::none_of(dealt, &Rows::empty));
      }
}

TEST_CASE("Partitions of more nodes than samples leave nodes empty and lose nothing") {
  const Dataset set = labelled(5, 3);
  for (const auto kind : {Partition::Kind::iid, Partition::Kind::by_label,
                          Partition::Kind::dirichlet, Partition::Kind::contiguous})
    CHECK(covers_once(deal(set, {.kind = kind, .alpha = 1}, 8, 1), 5));
  CHECK(covers_once(rendezvous(5, shard_of(8, 0).members, 1), 5));
}

TEST_CASE("By label with as many nodes as classes each node holds its own class") {
  const Dataset set = labelled(1000, 10);
  const auto parts = deal(set, {.kind = Partition::Kind::by_label}, 10, 1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const std::uint32_t row : parts[i]) CHECK(set.labels[row] == static_cast<int>(i));
}

TEST_CASE("A small alpha concentrates classes and a large one spreads them") {
  const Dataset set = labelled(10'000, 10);
  const auto classes = [&](double alpha) {
    std::size_t sum = 0;
    for (const Rows& part : deal(set, {.kind = Partition::Kind::dirichlet, .alpha = alpha}, 10, 1))
      sum += classes_in(set, part);
    return sum;
  };
  CHECK(classes(0.01) < 40);
  CHECK(classes(100) == 100);
}

TEST_CASE("Members share samples evenly however many they are") {
  for (const std::size_t members : {1U, 2U, 3U, 7U, 16U, 100U, 300U})
    for (const std::size_t rows : {5U, 999U, 60'000U}) {
      CAPTURE(members);
      CAPTURE(rows);
      const auto parts = rendezvous(rows, shard_of(members, 0).members, 1);
      CHECK(covers_once(parts, rows));
      const auto [least, most] = std::ranges::minmax(parts, {}, &Rows::size);
      const std::size_t blocks = std::min<std::size_t>(members <= 128 ? 1024 : 4096, rows);
      CHECK(most.size() - least.size() <= 2 * (rows / blocks + 1));
    }
}

TEST_CASE("A join moves few samples beside those that the newcomer takes") {
  const auto moved = [](std::size_t members) {
    const auto before = rendezvous(60'000, shard_of(members, 0).members, 1);
    const auto after = rendezvous(60'000, shard_of(members + 1, 0).members, 1);
    std::size_t stayed = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      Rows both;
      std::ranges::set_intersection(before[i], after[i], std::back_inserter(both));
      stayed += both.size();
    }
    return static_cast<double>(60'000 - stayed) / 60'000 * static_cast<double>(members + 1);
  };
  CHECK(moved(8) < 1.4);
  CHECK(moved(16) < 1.7);
  CHECK(moved(64) < 3.2);
}

TEST_CASE("The order of members does not matter to whose samples are whose") {
  auto members = shard_of(5, 0).members;
  const auto before = rendezvous(1000, members, 1);
  std::ranges::reverse(members);
  const auto after = rendezvous(1000, members, 1);
  CHECK(before.front() == after.back());
}

TEST_CASE("A shard says which samples it holds") {
  Dataset set = labelled(60'000, 10);
  DataOptions options;
  options.shard = {.kind = ShardChoice::Kind::part, .index = 3, .count = 8};
  CHECK(assign_rows(set, options, shard_of(1, 0)).description ==
        "7,500 of 60,000 samples (iid, part 3/8)");
  options.shard = {.kind = ShardChoice::Kind::all};
  CHECK(assign_rows(set, options, shard_of(4, 2)).description == "all 60,000 samples");
}
