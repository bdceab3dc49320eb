// World: n nodes in virtual time. Each is the same gossip::Node and the same Trainer that run in a
// process; every message is encoded, cut, carried by the Network, and decoded. Node k is called
// node-k. Everything is repeatable: the same options and the same calls give the same event hash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "gossip/node.h"
#include "gossip/transfer.h"
#include "sim/network.h"
#include "sim/options.h"
#include "sim/queue.h"

namespace starling::sim {

class World {
 public:
  // Called for every output of a node, before it is done.
  using Observer = std::function<void(std::size_t node, const gossip::Output& output)>;

  // No node runs yet.
  World(Options options, TrainerFactory make_trainer);

  // ---- what happens to nodes, now
  // A node that does not run starts, each time with a higher incarnation and a new trainer.
  void start(std::size_t node) { start(node, node_options(node)); }
  void start(std::size_t node, const gossip::Options& options);
  void crash(std::size_t node);  // ends without a word
  void leave(std::size_t node);  // says goodbye
  // From now on a job takes `factor` times as long as on the others.
  void slow(std::size_t node, double factor);
  void partition(std::span<const std::size_t> group) { network_.partition(group, nodes_.size()); }
  Network& network() { return network_; }
  // ---- later
  void at(Time time, std::function<void()> action);

  // ---- time
  void run_until(Time time);
  // Runs until `condition`, asked after every event, no longer holds; false when it still held at
  // `limit`.
  bool run_while(const std::function<bool()>& condition, Time limit);

  // ---- what there is to see
  Time now() const { return now_; }
  std::size_t size() const { return nodes_.size(); }
  const Options& options() const { return options_; }
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }
  bool runs(std::size_t node) const { return nodes_.at(node).core != nullptr; }
  std::vector<std::size_t> running() const;
  // How often it was started; its incarnation.
  std::uint64_t life(std::size_t node) const { return nodes_.at(node).life; }
  // REQUIRES that the node runs.
  gossip::Status status(std::size_t node) const;
  const optim::Trainer& trainer(std::size_t node) const;
  // What start() gives to a node that is not told anything else.
  gossip::Options node_options(std::size_t node) const;
  std::uint64_t event_hash() const { return hash_; }
  std::uint64_t events() const { return events_; }

 private:
  struct Participant {
    std::unique_ptr<gossip::Node> core;  // null: does not run
    std::unique_ptr<optim::Trainer> trainer;
    gossip::Cutter cutter;
    std::uint64_t life = 0;
    double slowness = 1;
    Time busy_until{};   // the trainer
    Time wake = kNever;  // the earliest tick in the queue
  };
  struct Wake {
    std::size_t node;
    std::uint64_t life;
  };
  struct Delivery {
    std::size_t to;
    gossip::Plane plane;
    std::shared_ptr<const gossip::Frame> frame;
  };
  struct JobDone {
    std::size_t node;
    std::uint64_t life;
    std::shared_ptr<optim::Done> done;
  };
  struct Refusal {
    std::size_t node;
    std::uint64_t life;
    Endpoint at;
  };
  struct Action {
    std::function<void()> act;
  };
  using Event = std::variant<Wake, Delivery, JobDone, Refusal, Action>;

  void next_event();
  void happen(Wake& wake);
  void happen(Delivery& delivery);
  void happen(JobDone& job);
  void happen(Refusal& refusal);
  void happen(Action& action);
  void step(std::size_t node, gossip::Input input);
  void wake_in_time(std::size_t node);
  void perform(std::size_t node, gossip::Outputs& outputs);
  void carry(std::size_t node, const gossip::Send& send);
  void look(std::size_t node, const gossip::Knock& knock);
  void train(std::size_t node, const optim::Job& job);
  void note(std::uint64_t kind, std::size_t node, std::uint64_t content);

  Options options_;
  TrainerFactory make_trainer_;
  Network network_;
  Queue<Event> queue_;
  std::vector<Participant> nodes_;
  std::unordered_map<std::string, std::size_t> by_host_;
  std::vector<Observer> observers_;
  Time now_{};
  std::uint64_t hash_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace starling::sim
