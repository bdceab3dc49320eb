#include "optim/combine/reach.h"

#include <algorithm>
#include <functional>

namespace starling::optim {

void Reach::keep(std::span<const std::uint64_t> edges) {
  const auto is_new = [this](std::uint64_t edge) {
    return std::ranges::find(open_, edge) == open_.end();
  };
  if (std::ranges::any_of(edges, is_new)) rounds_ = 0;
  open_.assign(edges.begin(), edges.end());
  std::erase_if(distances_, [&](const auto& item) {
    return std::ranges::find(edges, item.first) == edges.end();
  });
}

double Reach::told() const {
  const std::size_t liars = aggregation_.liars;
  const std::size_t edges = std::max(open_.size(), distances_.size());
  if (!aggregation_.rule->is_clipped || edges <= liars) return 0;
  return distances_.size() + silent() > liars ? std::max(reach_, kNothing) : kNothing;
}

// The number of edges that count as infinitely long.
std::size_t Reach::silent() const {
  if (rounds_ < kSilence || open_.size() <= distances_.size()) return 0;
  const std::size_t unmeasured = open_.size() - distances_.size();
  return unmeasured <= aggregation_.liars ? unmeasured : 0;
}

// The (b+1)-th largest distance; 0 if at most b edges count.
double Reach::measured() const {
  if (distances_.size() + silent() <= aggregation_.liars) return 0;
  std::vector<double> all;
  for (const auto& [edge, distance] : distances_) all.push_back(distance);
  const auto next = all.begin() + static_cast<std::ptrdiff_t>(aggregation_.liars - silent());
  std::ranges::nth_element(all, next, std::greater{});
  return *next;
}

// Computes ||s_i|| only if its last value does not already show that the pair is near enough.
bool Reach::is_far(const Apart& pair, const std::function<double()>& own_length) {
  double most = 0;
  for (const auto& [edge, distance] : distances_)
    if (edge != pair.term->edge) most = std::max(most, distance);
  if (pair.distance <= kFar * std::max(most, own_length_)) return false;
  own_length_ = own_length();
  most = std::max(most, own_length_);
  return most > 0 && pair.distance > kFar * most;
}

std::vector<double> Reach::factors(std::span<const Apart> pairs,
                                   const std::function<double()>& own_length) {
  const double own = told();
  for (const Apart& pair : pairs) distances_[pair.term->edge] = pair.distance;
  std::vector<double> factors;
  for (const Apart& pair : pairs) {
    const double reach = pair.term->reach.value_or(own);
    if (is_far(pair, own_length))
      factors.push_back(0);
    else
      factors.push_back(reach > 0 && pair.distance > reach ? reach / pair.distance : 1);
  }
  return factors;
}

void Reach::end_round() {
  rounds_ = std::min(rounds_ + 1, kSilence);
  reach_ = std::max(measured(), kFall * reach_);
}

}  // namespace starling::optim
