#include "optim/combine/reach.h"

#include <algorithm>
#include <functional>

namespace starling::optim {

void Reach::keep(std::span<const std::uint64_t> edges) {
  edges_ = edges.size();
  std::erase_if(distances_, [&](const auto& item) {
    return std::ranges::find(edges, item.first) == edges.end();
  });
}

double Reach::told() const {
  const std::size_t liars = aggregation_.liars;
  if (!aggregation_.rule->is_clipped || std::max(edges_, distances_.size()) <= liars) return 0;
  return distances_.size() > liars ? std::max(reach_, kNothing) : kNothing;
}

// The distance that as many edges exceed as there may be liars; 0 if there are no more edges.
double Reach::measured() const {
  if (distances_.size() <= aggregation_.liars) return 0;
  std::vector<double> all;
  for (const auto& [edge, distance] : distances_) all.push_back(distance);
  const auto next = all.begin() + static_cast<std::ptrdiff_t>(aggregation_.liars);
  std::ranges::nth_element(all, next, std::greater{});
  return *next;
}

// Asks for the length of the own vector only where the last one does not do.
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
  reach_ = std::max(measured(), kFall * reach_);
}

}  // namespace starling::optim
