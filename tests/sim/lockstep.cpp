#include "tests/sim/lockstep.h"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "topology/build.h"

namespace starling::test {

Lockstep::Lockstep(topology::Kind kind, const optim::Options& training, ReferenceShape shape)
    : overlaps_(optim::overlaps(training.algorithm)) {
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < shape.n; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  topology::Options options;
  options.kind = kind;
  graph_ = *topology::build(options, sites);
  weights_ = topology::metropolis_weights(graph_);
  const sim::TrainerFactory make = reference_trainers(training, shape);
  for (std::size_t k = 0; k < shape.n; ++k) {
    trainers_.push_back(make(k));
    optim::Job job;
    job.shard = std::make_shared<optim::Shard>();
    trainers_.back()->run(job);
  }
}

void Lockstep::run(std::uint64_t rounds) {
  for (std::uint64_t k = 0; k < rounds; ++k) {
    ++round_;
    std::vector<Payload> offers;
    for (const auto& trainer : trainers_) offers.push_back(offer_of(*trainer));
    for (std::size_t node = 0; node < trainers_.size(); ++node) absorb(node, offers);
  }
}

Payload Lockstep::offer_of(optim::Trainer& trainer) const {
  optim::Job job;
  job.round = round_;
  job.offer = true;
  job.local = !overlaps_;
  Payload offer = trainer.run(job).offer;
  if (!overlaps_) return offer;
  optim::Job step;
  step.round = round_;
  step.local = true;
  trainer.run(step);
  return offer;
}

void Lockstep::absorb(std::size_t node, const std::vector<Payload>& offers) {
  optim::Job job;
  job.round = round_ + 1;
  job.absorb = true;
  const std::vector<int>& in = graph_.in[node];
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto from = static_cast<std::size_t>(in[k]);
    optim::MixTerm term;
    term.peer = NodeId{from + 1};
    term.weight = weights_.from[node][k];
    term.theirs = offers[from];
    term.edge = from + 1;
    job.edges.push_back(term.edge);
    job.mix.push_back(std::move(term));
  }
  trainers_[node]->run(job);
}

double Lockstep::error() const {
  double sum = 0;
  for (const auto& trainer : trainers_) {
    const std::vector<double> x = trainer->parameters(), optimum = trainer->optimum();
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::pow(x[k] - optimum[k], 2);
  }
  return std::sqrt(sum / static_cast<double>(trainers_.size()));
}

}  // namespace starling::test
