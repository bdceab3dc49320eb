// Lockstep: trainers that exchange their offers by hand, every round on every edge, or two at a
// time where the algorithm is pairwise. The mathematics of an algorithm without messages, a hundred
// times as fast as the simulator.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "base/prng.h"
#include "tests/sim/reference.h"
#include "topology/build.h"
#include "topology/graph.h"
#include "topology/options.h"
#include "topology/weights.h"

namespace starling::test {

class Lockstep {
 public:
  // Node i holds the i-th part of the reference problem.
  Lockstep(topology::Kind kind, const optim::Options& training, ReferenceShape shape = {});
  // `nodes` trainers of any kind, trained with these options.
  Lockstep(topology::Kind kind, std::size_t nodes, const optim::Options& training,
           const sim::TrainerFactory& make_trainer);

  // Node i holds the i-th part of the reference problem, with the neighbours of that graph.
  Lockstep(topology::Graph graph, const optim::Options& training);

  // Of a pairwise algorithm a round is as many exchanges as nodes are present: one of them, by
  // chance, steps and exchanges with one of its neighbours, by chance.
  void run(std::uint64_t rounds);
  // From now on a node exchanges as the sequence of graphs says, such as "matching", which is drawn
  // by this seed. Its graph replaces that of the constructor if it has one of its own. Not of a
  // pairwise algorithm.
  void follow(std::string_view sequence, std::uint64_t seed = 1);
  // Node i is of group i mod `groups`. Before follow().
  void group(std::size_t groups) {
    for (std::size_t k = 0; k < sites_.size(); ++k) sites_[k].group = std::to_string(k % groups);
  }
  // From now on node i takes paces[i] times the local steps, and its jobs say so.
  void run_at(std::vector<double> paces) { paces_ = std::move(paces); }
  // From now on chance is drawn from this seed; before it is 1.
  void draw_from(std::uint64_t seed) { prng_ = Prng(seed); }

  // Its edges end at the others, and the weights are those of the graph without it.
  void crash(std::size_t node);
  // As it was, on its former edges, which begin another life.
  void come_back(std::size_t node);
  // The same as another trainer, which adopts a snapshot of `donor`, or its own of before.
  void come_back(std::size_t node, std::size_t donor);
  // All end between two rounds and go on in trainers made anew, from what they saved.
  void go_on_from_saved();
  Payload snapshot(std::size_t node);
  // The snapshot was made for its trainer.
  void adopt(std::size_t node, const Payload& snapshot);

  const std::vector<std::size_t>& present() const { return present_; }
  // sqrt(mean_i ||x_i - x*||^2) of those present, x* being the optimum of all.
  double error() const { return error(trainers_.at(0)->optimum()); }
  // The same with any point for x*.
  double error(const std::vector<double>& optimum) const;
  const optim::Trainer& trainer(std::size_t node) const { return *trainers_.at(node); }
  // The last that it made, and what became of its last local step.
  const optim::Done& offer(std::size_t node) const { return offers_.at(node); }
  const std::optional<std::string>& problem(std::size_t node) const { return problems_.at(node); }

 private:
  Lockstep(topology::Graph graph, topology::Kind kind, const optim::Options& training,
           const sim::TrainerFactory& make_trainer);
  void start(std::size_t node);
  void found();
  void follow_present();
  void begin_anew();
  void exchange_all();
  void exchange_by_turns();
  void exchange_two();
  void set_steps(optim::Job& job, std::size_t node) const;
  void make_offer(std::size_t node, bool has_step, const std::vector<int>& peers);
  optim::MixTerm term(std::size_t node, std::size_t from, double weight) const;
  void absorb(std::size_t node, std::vector<optim::MixTerm> mix);
  std::uint64_t edge(std::size_t node, std::size_t peer) const;
  std::vector<std::uint64_t> edges(std::size_t node) const;

  optim::Needs needs_;
  std::size_t local_steps_;
  sim::TrainerFactory make_trainer_;
  std::vector<topology::Site> sites_;
  topology::Graph whole_;  // with all nodes
  topology::Graph graph_;  // the absent have no edges in it
  topology::Weights weights_;
  std::vector<std::size_t> present_;
  std::vector<std::uint64_t> births_;
  std::vector<std::map<std::uint64_t, std::uint64_t>> numbers_;  // of each node's vectors, by edge
  std::vector<std::unique_ptr<optim::Trainer>> trainers_;
  std::vector<optim::Done> offers_;
  std::vector<double> spans_;   // learning rate times steps since the last pair
  std::vector<double> later_;   // the same of the steps taken after the last offer
  std::vector<bool> is_alone_;  // it had no turn in the last round
  std::vector<std::optional<std::string>> problems_;
  std::uint64_t round_ = 0;
  Prng prng_{1};
  topology::Options turns_;
  std::vector<double> paces_;  // empty: all 1
};

}  // namespace starling::test
