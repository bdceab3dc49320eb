#include "models/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/prng.h"
#include "base/text.h"

namespace starling::models {
namespace {

Rows all_rows(std::size_t count) {
  Rows rows(count);
  std::iota(rows.begin(), rows.end(), 0U);
  return rows;
}

// Stable, by label or by target; without either, in the present order.
Rows sorted_rows(const Dataset& train) {
  Rows rows = all_rows(train.rows);
  if (train.classes > 0)
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t r) { return train.labels[r]; });
  else
    std::ranges::stable_sort(rows, {}, [&](std::uint32_t r) { return train.targets[r]; });
  return rows;
}

std::vector<Rows> cut(const Rows& order, std::size_t parts) {
  std::vector<Rows> result(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    result[i].assign(order.begin() + static_cast<std::ptrdiff_t>(order.size() * i / parts),
                     order.begin() + static_cast<std::ptrdiff_t>(order.size() * (i + 1) / parts));
    std::ranges::sort(result[i]);
  }
  return result;
}

std::vector<Rows> by_class(const Dataset& train) {
  std::vector<Rows> result(train.classes);
  for (std::uint32_t r = 0; r < train.rows; ++r)
    result[static_cast<std::size_t>(train.labels[r])].push_back(r);
  return result;
}

// Logarithm of a gamma variate of that shape, since for small shapes the variate itself is 0 in
// floating point. Marsaglia, Tsang: A simple method for generating gamma variables, 2000.
double log_gamma_variate(double shape, Prng& prng) {
  if (shape < 1) return log_gamma_variate(shape + 1, prng) + std::log(1 - prng.uniform()) / shape;
  const double d = shape - 1.0 / 3.0;
  while (true) {
    const double x = prng.normal();
    const double root = 1 + x / std::sqrt(9 * d);
    const double v = root * root * root;
    if (root > 0 && std::log(1 - prng.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

std::vector<double> dirichlet(double alpha, std::size_t parts, Prng& prng) {
  std::vector<double> shares(parts);
  for (double& share : shares) share = log_gamma_variate(alpha, prng);
  const double largest = *std::ranges::max_element(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

// Each empty part takes a row of the largest part.
void fill_empty(std::vector<Rows>& parts) {
  for (Rows& part : parts) {
    Rows& largest = *std::ranges::max_element(parts, {}, &Rows::size);
    if (!part.empty() || largest.size() < 2) continue;
    part.push_back(largest.back());
    largest.pop_back();
  }
}

// Each class is shared out by its own draw; a data set without classes counts as one.
std::vector<Rows> deal_dirichlet(const Dataset& train, double alpha, std::size_t parts,
                                 std::uint64_t seed) {
  std::vector<Rows> result(parts);
  std::vector<Rows> classes =
      train.classes > 0 ? by_class(train) : std::vector<Rows>{all_rows(train.rows)};
  for (std::size_t k = 0; k < classes.size(); ++k) {
    Prng prng = Prng::derive(seed, 100 + k);
    prng.shuffle(std::span(classes[k]));
    const std::vector<double> shares = dirichlet(alpha, parts, prng);
    double reached = 0;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      reached += shares[i] * static_cast<double>(classes[k].size());
      const auto end = i + 1 == parts ? classes[k].size()
                                      : std::min(classes[k].size(),
                                                 static_cast<std::size_t>(std::lround(reached)));
      for (; taken < end; ++taken) result[i].push_back(classes[k][taken]);
    }
  }
  fill_empty(result);
  for (Rows& part : result) std::ranges::sort(part);
  return result;
}

// Problem i is rows i m to (i + 1) m, whatever the partition is called.
Assignment assign_reference(const Dataset& train, const DataOptions& options,
                            const optim::Shard& shard) {
  const std::size_t n = options.reference.n;
  const bool automatic = options.shard.kind == ShardChoice::Kind::automatic;
  ENSURE(automatic || options.shard.index < n, "a node has one of the problems");
  std::vector<Rows> problems = cut(all_rows(train.rows), n);
  Assignment result;
  result.own = automatic ? shard.place : options.shard.index;
  result.description = fmt::format("problem {} of {}", result.own % n, n);
  for (std::size_t i = 0; automatic && i < shard.members.size(); ++i)
    result.parts.push_back(problems[i % n]);
  if (!automatic) result.parts = std::move(problems);
  return result;
}

}  // namespace

std::vector<Rows> deal(const Dataset& train, const Partition& partition, std::size_t parts,
                       std::uint64_t seed) {
  ENSURE(parts > 0, "data is dealt to somebody");
  switch (partition.kind) {
    case Partition::Kind::iid:
      return cut(shuffled_rows(train.rows, seed), parts);
    case Partition::Kind::contiguous:
      return cut(all_rows(train.rows), parts);
    case Partition::Kind::dirichlet:
      return deal_dirichlet(train, partition.alpha, parts, seed);
    case Partition::Kind::by_label:
      break;
  }
  return parts == train.classes ? by_class(train) : cut(sorted_rows(train), parts);
}

Assignment assign_rows(const Dataset& train, const DataOptions& options,
                       const optim::Shard& shard) {
  ENSURE(shard.place < shard.members.size(), "a node is a member of its shard");
  const ShardChoice& choice = options.shard;
  if (choice.kind == ShardChoice::Kind::all)
    return {.parts = {all_rows(train.rows)},
            .own = 0,
            .description = fmt::format("all {} samples", with_commas(train.rows))};
  if (options.source == Source::reference) return assign_reference(train, options, shard);
  const bool automatic = choice.kind == ShardChoice::Kind::automatic;
  Assignment result;
  result.own = automatic ? shard.place : choice.index;
  if (automatic && options.partition.kind == Partition::Kind::iid)
    result.parts = rendezvous(train.rows, shard.members, options.seed);
  else
    result.parts = deal(train, options.partition, automatic ? shard.members.size() : choice.count,
                        options.seed);
  ENSURE(result.own < result.parts.size(), "a node has one of the parts");
  result.description = fmt::format(
      "{} of {} samples ({}, part {}/{})", with_commas(result.parts[result.own].size()),
      with_commas(train.rows), to_string(options.partition), result.own, result.parts.size());
  return result;
}

}  // namespace starling::models
