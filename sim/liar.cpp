#include "sim/liar.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "base/check.h"
#include "optim/codec/codec.h"
#include "topology/connectivity.h"

namespace starling::sim {

Liar::Liar(World& world, std::size_t node, const Lie& lie)
    : world_(&world), node_(node), lie_(&lie), last_(world.options().nodes) {
  ENSURE(world.options().format, "the liar can read the vectors");
  ENSURE(node < last_.size(), "the liar is one of the nodes");
  world.connections().intercept([this](Parcel& parcel) { meet(parcel); });
}

// Each vector, before it is cut into frames.
void Liar::meet(Parcel& parcel) {
  auto* const round = std::get_if<gossip::Round>(&parcel.message.body);
  if (!round || parcel.message.payload.empty()) return;
  if (parcel.hop.from != node_) return hear(parcel.hop.from, parcel.message.payload);
  turn_round(round->round);
  Told& told = told_[parcel.hop.to];
  if (told.payload.empty() || told.index != round->index || round->index == 0)
    told = {round->index, lie(parcel.hop.to, parcel.message.payload)};
  parcel.message.payload = told.payload;
  if (parcel.from >= told.payload.size()) parcel.from = 0;
  round->round += lie_->rounds_ahead;
}

void Liar::hear(std::size_t from, const Payload& payload) {
  last_[from] = decoded(payload);
}

// What the scene has of all nodes is computed once a round.
void Liar::turn_round(std::uint64_t round) {
  if (round == round_) return;
  round_ = round;
  mean_before_ = std::exchange(mean_, {});
  deviation_.clear();
  double count = 0;
  for (const Vector& one : last_) {
    if (one.empty()) continue;
    mean_.resize(one.size());
    if (one.size() != mean_.size()) continue;
    for (std::size_t k = 0; k < one.size(); ++k) mean_[k] += one[k];
    ++count;
  }
  for (double& x : mean_) x /= count;
  deviation_.resize(mean_.size());
  for (const Vector& one : last_)
    if (one.size() == mean_.size())
      for (std::size_t k = 0; k < one.size(); ++k)
        deviation_[k] += (one[k] - mean_[k]) * (one[k] - mean_[k]) / count;
  for (double& x : deviation_) x = std::sqrt(x);
  if (mean_before_.size() != mean_.size()) mean_before_ = mean_;
  find_split();
}

// sum_i v_i s_i, with the eigenvector v of the honest nodes.
void Liar::find_split() {
  split_.assign(mean_.size(), 0);
  if (entries_.empty()) {
    const std::size_t witness = node_ == 0 ? 1 : 0;
    const gossip::TopologyStatus topology = world_->status(witness).topology;
    const auto graph = topology.graph();
    if (!graph || static_cast<std::size_t>(graph->size()) != last_.size()) return;
    const auto mode = topology::connectivity(*graph);
    if (!mode) return;
    const std::vector<double>& found = mode->entries;
    const std::vector<std::string> names = topology.names();
    entries_.resize(last_.size());
    for (std::size_t node = 0; node < last_.size(); ++node) {
      const auto name =
          std::ranges::find(names, node_options(world_->options(), node).name) - names.begin();
      if (static_cast<std::size_t>(name) < found.size())
        entries_[node] = found[static_cast<std::size_t>(name)];
    }
  }
  for (std::size_t node = 0; node < last_.size(); ++node)
    if (last_[node].size() == split_.size())
      for (std::size_t k = 0; k < split_.size(); ++k) split_[k] += entries_[node] * last_[node][k];
}

Payload Liar::lie(std::size_t to, const Payload& own) {
  const Vector honest = decoded(own);
  if (first_.empty()) first_ = honest;
  const Vector& theirs = last_[to].size() == honest.size() ? last_[to] : honest;
  const Vector& mean = mean_.size() == honest.size() ? mean_ : honest;
  const Vector none(honest.size());
  Vector split = split_.size() == honest.size() && !entries_.empty() ? split_ : none;
  for (double& x : split) x *= entries_.empty() ? 0 : entries_[to];
  const Vector told =
      lie_->vector({.own = honest,
                    .to = theirs,
                    .mean = mean,
                    .mean_before = mean_before_.size() == honest.size() ? mean_before_ : mean,
                    .deviation = deviation_.size() == honest.size() ? deviation_ : none,
                    .split = split,
                    .first = first_,
                    .sent = sent_++});
  optim::BufferPool pool;
  return optim::encode(*world_->options().format, std::span<const double>(told), pool);
}

Liar::Vector Liar::decoded(const Payload& payload) const {
  const optim::Format& format = *world_->options().format;
  Vector numbers(payload.size() / format.width);
  optim::decode(format, payload, std::span(numbers));
  return numbers;
}

}  // namespace starling::sim
