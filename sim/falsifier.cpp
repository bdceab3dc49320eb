#include "sim/falsifier.h"

#include <cmath>
#include <span>
#include <utility>

#include "optim/codec/codec.h"

namespace starling::sim {

void Falsifier::hear(std::size_t from, const Payload& payload) {
  last_[from] = decoded(payload);
}

void Falsifier::falsify(std::size_t to, gossip::Round& round, Payload& payload) {
  turn_round(round.round);
  Told& told = told_[to];
  if (told.payload.empty() || told.number != round.number || round.number == 0)
    told = {round.number, lie(to, payload)};
  payload = told.payload;
  round.round += lie_->rounds_ahead;
}

// What the scene has of all nodes is computed once a round.
void Falsifier::turn_round(std::uint64_t round) {
  if (round == round_) return;
  round_ = round;
  mean_before_ = std::exchange(mean_, {});
  deviation_.clear();
  double count = 0;
  for (const auto& [node, one] : last_) {
    if (mean_.empty()) mean_.resize(one.size());
    if (one.size() != mean_.size()) continue;
    for (std::size_t k = 0; k < one.size(); ++k) mean_[k] += one[k];
    ++count;
  }
  for (double& x : mean_) x /= count;
  deviation_.resize(mean_.size());
  for (const auto& [node, one] : last_)
    if (one.size() == mean_.size())
      for (std::size_t k = 0; k < one.size(); ++k)
        deviation_[k] += (one[k] - mean_[k]) * (one[k] - mean_[k]) / count;
  for (double& x : deviation_) x = std::sqrt(x);
  if (mean_before_.size() != mean_.size()) mean_before_ = mean_;
  find_split();
}

// sum_i v_i s_i, with the eigenvector v of the honest nodes.
void Falsifier::find_split() {
  split_.assign(mean_.size(), 0);
  if (entries_.empty()) entries_ = ask_entries_();
  for (const auto& [node, one] : last_)
    if (one.size() == split_.size())
      for (std::size_t k = 0; k < split_.size(); ++k) split_[k] += entry_of(node) * one[k];
}

double Falsifier::entry_of(std::size_t node) const {
  return node < entries_.size() ? entries_[node] : 0;
}

Payload Falsifier::lie(std::size_t to, const Payload& own) {
  const Vector honest = decoded(own);
  if (first_.empty()) first_ = honest;
  const auto heard = last_.find(to);
  const bool has_theirs = heard != last_.end() && heard->second.size() == honest.size();
  const Vector& mean = mean_.size() == honest.size() ? mean_ : honest;
  const Vector none(honest.size());
  Vector split = split_.size() == honest.size() ? split_ : none;
  for (double& x : split) x *= entry_of(to);
  const Vector told =
      lie_->vector({.own = honest,
                    .to = has_theirs ? heard->second : honest,
                    .mean = mean,
                    .mean_before = mean_before_.size() == honest.size() ? mean_before_ : mean,
                    .deviation = deviation_.size() == honest.size() ? deviation_ : none,
                    .split = split,
                    .first = first_,
                    .sent = sent_++});
  optim::BufferPool pool;
  return optim::encode(*format_, std::span<const double>(told), pool);
}

Falsifier::Vector Falsifier::decoded(const Payload& payload) const {
  Vector numbers(payload.size() / format_->width);
  optim::decode(*format_, payload, std::span(numbers));
  return numbers;
}

}  // namespace starling::sim
