#include "tests/sim/lockstep.h"

#include <fmt/core.h>

#include <cmath>
#include <string>

#include "topology/build.h"

namespace starling::test {

Lockstep::Lockstep(topology::Kind kind, const optim::Options& training, ReferenceShape shape)
    : Lockstep(kind, shape.n, optim::traits(training.algorithm).overlaps,
               reference_trainers(training, shape)) {}

Lockstep::Lockstep(topology::Kind kind, std::size_t nodes, bool overlaps,
                   const sim::TrainerFactory& make_trainer)
    : overlaps_(overlaps), troubles_(nodes) {
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  topology::Options options;
  options.kind = kind;
  graph_ = *topology::build(options, sites);
  weights_ = topology::metropolis_weights(graph_);
  for (std::size_t k = 0; k < nodes; ++k) {
    trainers_.push_back(make_trainer(k));
    optim::Job job;
    job.shard = std::make_shared<optim::Shard>();
    trainers_.back()->run(job);
  }
}

void Lockstep::run(std::uint64_t rounds) {
  for (std::uint64_t k = 0; k < rounds; ++k) {
    ++round_;
    std::vector<optim::Done> offers;
    for (std::size_t node = 0; node < trainers_.size(); ++node) offers.push_back(offer_of(node));
    for (std::size_t node = 0; node < trainers_.size(); ++node) absorb(node, offers);
  }
}

// Each edge is called after the node at its other end, from 1.
std::vector<std::uint64_t> Lockstep::edges(std::size_t node) const {
  std::vector<std::uint64_t> edges;
  for (const int from : graph_.in[node]) edges.push_back(static_cast<std::uint64_t>(from) + 1);
  return edges;
}

optim::Done Lockstep::offer_of(std::size_t node) {
  optim::Job job;
  job.round = round_;
  job.edges = edges(node);
  job.offer = true;
  job.local = !overlaps_;
  optim::Done done = trainers_[node]->run(job);
  troubles_[node] = done.trouble;
  if (!overlaps_) return done;
  optim::Job step;
  step.round = round_;
  step.local = true;
  troubles_[node] = trainers_[node]->run(step).trouble;
  return done;
}

void Lockstep::absorb(std::size_t node, const std::vector<optim::Done>& offers) {
  optim::Job job;
  job.round = round_ + 1;
  job.absorb = true;
  job.edges = edges(node);
  const std::vector<int>& in = graph_.in[node];
  for (std::size_t k = 0; k < in.size(); ++k) {
    const auto from = static_cast<std::size_t>(in[k]);
    const optim::Done& offer = offers[from];
    optim::MixTerm term;
    term.peer = NodeId{from + 1};
    term.weight = weights_.from[node][k];
    term.edge = from + 1;
    term.theirs = offer.offer;
    for (const auto& [edge, payload] : offer.edge_offers)
      if (edge == node + 1) term.theirs = payload;
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
