#include "tests/sim/lockstep.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "topology/build.h"
#include "topology/sequence.h"

namespace starling::test {
namespace {

std::vector<topology::Site> numbered_sites(std::size_t nodes) {
  std::vector<topology::Site> sites;
  for (std::size_t k = 0; k < nodes; ++k) {
    const std::string name = fmt::format("node-{}", k);
    sites.push_back({node_id(name), name});
  }
  return sites;
}

double path_of(const optim::Done& done) {
  return done.stats.path;
}

}  // namespace

Lockstep::Lockstep(topology::Kind kind, const optim::Options& training, ReferenceShape shape)
    : Lockstep(kind, shape.n, training, reference_trainers(training, shape)) {}

Lockstep::Lockstep(topology::Kind kind, std::size_t nodes, const optim::Options& training,
                   const sim::TrainerFactory& make_trainer)
    : Lockstep(*topology::build({.kind = kind}, numbered_sites(nodes)), kind, training,
               make_trainer) {}

Lockstep::Lockstep(topology::Graph graph, const optim::Options& training)
    : Lockstep(graph, topology::Kind::ring, training,
               reference_trainers(training, {.n = static_cast<std::size_t>(graph.size())})) {}

Lockstep::Lockstep(topology::Graph graph, topology::Kind kind, const optim::Options& training,
                   const sim::TrainerFactory& make_trainer)
    : needs_(needs_of(training)),
      local_steps_(*training.local_steps.fixed),
      make_trainer_(make_trainer),
      sites_(numbered_sites(static_cast<std::size_t>(graph.size()))),
      whole_(std::move(graph)),
      births_(sites_.size()),
      numbers_(sites_.size()),
      trainers_(sites_.size()),
      offers_(sites_.size()),
      spans_(sites_.size()),
      later_(sites_.size()),
      is_alone_(sites_.size()),
      problems_(sites_.size()),
      turns_{.kind = kind} {
  for (std::size_t node = 0; node < sites_.size(); ++node) start(node);
  found();
  for (std::size_t node = 0; node < sites_.size(); ++node) come_back(node);
}

void Lockstep::start(std::size_t node) {
  trainers_[node] = make_trainer_(node);
  optim::Job job;
  optim::Shard shard{.members = {}, .place = node};
  for (std::size_t k = 1; k <= trainers_.size(); ++k) shard.members.push_back(NodeId{k});
  job.shard = std::make_shared<optim::Shard>(std::move(shard));
  trainers_[node]->run(job);
}

// Nothing to do where the trainers need no foundation.
void Lockstep::found() {
  const auto surveys = std::make_shared<std::vector<std::string>>();
  for (const auto& trainer : trainers_) surveys->push_back(trainer->workload().survey);
  if (surveys->front().empty()) return;
  optim::Job job;
  job.foundation = surveys;
  for (const auto& trainer : trainers_) {
    const optim::Done done = trainer->run(job);
    ENSURE(!done.problem, "surveys of one problem fit");
  }
}

void Lockstep::follow_present() {
  topology::Edges edges;
  for (const std::size_t node : present_)
    for (const int from : whole_.in[node])
      if (std::ranges::binary_search(present_, static_cast<std::size_t>(from)))
        edges.emplace_back(from, static_cast<int>(node));
  graph_ = topology::directed(whole_.size(), edges);
  weights_ = topology::metropolis_weights(graph_);
}

void Lockstep::crash(std::size_t node) {
  std::erase(present_, node);
  follow_present();
  begin_anew();
}

void Lockstep::come_back(std::size_t node) {
  ++births_[node];
  present_.push_back(node);
  std::ranges::sort(present_);
  follow_present();
  begin_anew();
}

// Where edges closed over which sums went.
void Lockstep::begin_anew() {
  optim::Job job;
  job.round = round_;
  job.anew = true;
  if (needs_.sums)
    for (const std::size_t node : present_) trainers_[node]->run(job);
}

void Lockstep::come_back(std::size_t node, std::size_t donor) {
  const Payload state = snapshot(donor);
  start(node);
  adopt(node, state);
  come_back(node);
}

Payload Lockstep::snapshot(std::size_t node) {
  optim::Job job;
  job.round = round_;
  job.snapshot = true;
  return trainers_[node]->run(job).snapshot;
}

void Lockstep::go_on_from_saved() {
  for (const std::size_t node : present_) {
    optim::Job before, after;
    before.round = after.round = round_ + 1;
    before.save = true;
    after.resume = trainers_[node]->run(before).saved;
    start(node);
    const optim::Done done = trainers_[node]->run(after);
    ENSURE(!done.problem, "the state was saved by such a trainer");
  }
  numbers_.assign(numbers_.size(), {});
}

void Lockstep::adopt(std::size_t node, const Payload& snapshot) {
  optim::Job job;
  job.round = round_;
  job.adopt = snapshot;
  const optim::Done done = trainers_[node]->run(job);
  ENSURE(!done.problem, "the snapshot was made for its trainer");
}

void Lockstep::run(std::uint64_t rounds) {
  for (std::uint64_t k = 0; k < rounds; ++k) {
    ++round_;
    if (turns_.sequence.moves())
      exchange_by_turns();
    else if (!needs_.is_pairwise)
      exchange_all();
    else
      for (std::size_t exchange = 0; exchange < present_.size(); ++exchange) exchange_two();
  }
}

void Lockstep::exchange_all() {
  for (const std::size_t node : present_) make_offer(node, true, graph_.in[node]);
  for (const std::size_t node : present_) {
    std::vector<optim::MixTerm> mix;
    for (std::size_t k = 0; k < graph_.in[node].size(); ++k)
      mix.push_back(
          term(node, static_cast<std::size_t>(graph_.in[node][k]), weights_.from[node][k]));
    absorb(node, std::move(mix));
  }
}

void Lockstep::follow(std::string_view sequence, std::uint64_t seed) {
  turns_.sequence = *topology::parse_sequence(sequence);
  turns_.seed = seed;
  if (const auto edges = turns_.sequence.row->edges) whole_ = edges(turns_, sites_);
  follow_present();
}

void Lockstep::exchange_by_turns() {
  const topology::SequenceRow& row = *turns_.sequence.row;
  auto turns = row.make(turns_, sites_, graph_)->round(round_ - 1);
  const std::vector<double> before = spans_;
  for (const std::size_t node : present_) {
    std::vector<int> peers;
    std::erase_if(turns[node], [this](const topology::Turn& turn) {
      return !std::ranges::binary_search(present_, static_cast<std::size_t>(turn.vertex));
    });
    for (const topology::Turn& turn : turns[node])
      if (turn.out) peers.push_back(turn.vertex);
    if (row.rests && turns[node].empty()) continue;
    make_offer(node, true, peers);
  }
  for (const std::size_t node : present_) {
    if (row.rests) continue;
    if (is_alone_[node] && row.spreads_flows) spans_[node] += before[node];
    is_alone_[node] = turns[node].empty();
  }
  for (const std::size_t node : present_) {
    if (row.rests && turns[node].empty()) continue;
    std::vector<optim::MixTerm> mix;
    for (const topology::Turn& turn : turns[node])
      if (turn.in) {
        mix.push_back(term(node, static_cast<std::size_t>(turn.vertex), turn.weight));
        mix.back().span /= row.theta;
      }
    absorb(node, std::move(mix));
  }
}

void Lockstep::exchange_two() {
  const std::size_t one = present_[prng_.below(present_.size())];
  const std::vector<int>& in = graph_.in[one];
  const auto other = static_cast<std::size_t>(in[prng_.below(in.size())]);
  make_offer(one, true, {static_cast<int>(other)});
  make_offer(other, false, {static_cast<int>(one)});
  absorb(one, {term(one, other, 0.5)});
  absorb(other, {term(other, one, 0.5)});
}

void Lockstep::set_steps(optim::Job& job, std::size_t node) const {
  const double pace = paces_.empty() ? 1 : paces_[node];
  job.local_steps = static_cast<std::size_t>(pace * static_cast<double>(local_steps_));
  job.pace = pace;
}

// `peers`: who averages with the node.
void Lockstep::make_offer(std::size_t node, bool has_step, const std::vector<int>& peers) {
  optim::Job job;
  job.round = round_;
  job.edges = edges(node);
  job.offer = true;
  if (needs_.in_order)
    for (const int peer : peers) {
      const std::uint64_t life = edge(node, static_cast<std::size_t>(peer));
      const std::uint64_t number = ++numbers_[node][life];
      // Another for each vector, where it counts.
      job.offer_to.push_back({life, number, std::size_t{1} << (life + number + node) % 4});
    }
  if (needs_.sums)
    for (const int peer : peers)
      job.offer_to.push_back({.edge = edge(node, static_cast<std::size_t>(peer))});
  job.local = has_step && !needs_.overlaps;
  set_steps(job, node);
  offers_[node] = trainers_[node]->run(job);
  if (!has_step) return;
  spans_[node] = path_of(offers_[node]);
  problems_[node] = offers_[node].problem;
  if (!needs_.overlaps) return;
  spans_[node] = later_[node];
  optim::Job step;
  step.round = round_;
  step.local = true;
  set_steps(step, node);
  const optim::Done stepped = trainers_[node]->run(step);
  later_[node] = path_of(stepped);
  problems_[node] = stepped.problem;
}

optim::MixTerm Lockstep::term(std::size_t node, std::size_t from, double weight) const {
  optim::MixTerm term;
  term.peer = NodeId{from + 1};
  term.weight = weight;
  term.edge = edge(node, from);
  term.span = std::max(spans_[node], spans_[from]);
  term.theirs = offers_[from].offer;
  term.own = offers_[node].offer;
  for (const optim::EdgeOffer& offer : offers_[from].edge_offers)
    if (offer.edge == edge(from, node)) term.theirs = offer.payload, term.theta = offer.theta;
  if (!needs_.in_order) return term;
  for (const optim::EdgeOffer& offer : offers_[node].edge_offers) {
    if (offer.edge != term.edge) continue;
    term.own = offer.payload;
    term.number = offer.number;
    term.theta = std::min(term.theta, offer.theta);
  }
  term.weight *= term.theta;
  if (term.theta > 0) term.span /= term.theta;
  return term;
}

void Lockstep::absorb(std::size_t node, std::vector<optim::MixTerm> mix) {
  optim::Job job;
  job.round = round_ + 1;
  job.absorb = true;
  job.edges = edges(node);
  job.mix = std::move(mix);
  trainers_[node]->run(job);
}

// The life of an edge, as `node` calls it, ends with either of its ends.
std::uint64_t Lockstep::edge(std::size_t node, std::size_t peer) const {
  return (births_[node] + births_[peer]) * births_.size() + peer;
}

std::vector<std::uint64_t> Lockstep::edges(std::size_t node) const {
  std::vector<std::uint64_t> edges;
  for (const int peer : graph_.in[node])
    edges.push_back(edge(node, static_cast<std::size_t>(peer)));
  return edges;
}

double Lockstep::error(const std::vector<double>& optimum) const {
  double sum = 0;
  for (const std::size_t node : present_) {
    const std::vector<double> x = trainers_[node]->parameters();
    for (std::size_t k = 0; k < x.size(); ++k) sum += std::pow(x[k] - optimum[k], 2);
  }
  return std::sqrt(sum / static_cast<double>(present_.size()));
}

}  // namespace starling::test
