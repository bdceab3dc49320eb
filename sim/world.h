// World: n nodes in virtual time. Each is the same gossip::Node and the same Trainer that run in a
// process; every message is encoded, cut, carried by the Network, and decoded. Node k is called
// node-k. Everything is repeatable: the same options and the same calls give the same event hash.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/node/node.h"
#include "sim/disk.h"
#include "sim/drivers.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/options.h"
#include "sim/queue.h"

namespace starling::sim {

// What a node runs on, and what the laws see of it beside its status.
struct Machine {
  Disk disk;               // what the next start finds
  double slowness = 1;     // a job takes so many times as long as on the others
  std::uint64_t life = 0;  // how often the node was started
  // Of this life:
  std::uint64_t repeats = 0;       // sound frames that were heard more than once
  std::uint64_t corrupted = 0;     // frames with a flipped byte that were heard
  std::size_t jobs_in_flight = 0;  // given to the trainer, whose end the node does not know yet
  double learning_rate = 0;        // of the last local step of its trainer; 0 before the first
  const gossip::Roster* members = nullptr;  // null: it does not run
};

// What happened, as numbers. Two runs of one program agree in all of them.
struct History {
  std::uint64_t events = 0;
  std::uint64_t hash = 0;  // of every event with all its bytes and numbers
  // Of what nodes do: who hears which kind of message from whom and of which round, who averages
  // with whom and with what weight, and when. Bytes, numbers of models and ticks are left out, so
  // that builds and encodings of messages may differ. Who hears what counts only with
  // Options::notes_messages.
  std::uint64_t behavior = 0;

  // Each kind of event has a number. `content` is all of it, `meaning` what a node does.
  void note(Time now, std::uint64_t kind, std::size_t node, std::uint64_t content);
  void note_behavior(Time now, std::uint64_t kind, std::size_t node, std::uint64_t meaning);
};

class World {
 public:
  // Called for every output of a node, before it is done.
  using Observer = std::function<void(std::size_t node, const gossip::Output& output)>;

  // No node runs yet.
  World(Options options, TrainerFactory make_trainer);

  // ---- what happens to nodes, now
  // A node that does not run starts, with the incarnation and the newest checkpoint that its disk
  // holds and a new trainer.
  // By default with node_options() of it.
  void start(std::size_t node, std::optional<gossip::Options> options = std::nullopt);
  void crash(std::size_t node);  // ends without a word
  // Its user tells it something: to leave, to pause its training, to resume it, to save.
  void tell(std::size_t node, gossip::Input command);
  // Until then it handles nothing, as after SIGSTOP; what comes in waits and is handled then.
  void pause(std::size_t node, Time until);
  // What it runs on, and what came of it in this life.
  Machine& machine(std::size_t node) { return nodes_.at(node); }
  Network& network() { return network_; }
  Drivers& drivers() { return drivers_; }
  // ---- later
  void at(Time time, std::function<void()> action);

  // ---- time
  void run_until(Time time) {
    run_while([] { return true; }, time);
  }
  // Runs until `condition`, asked after every event, no longer holds; false when it still held at
  // `limit`.
  bool run_while(const std::function<bool()>& condition, Time limit);

  // ---- what there is to see
  Time now() const { return queue_.now(); }
  const Options& options() const { return options_; }
  void observe(Observer observer) { observers_.push_back(std::move(observer)); }
  bool runs(std::size_t node) const { return nodes_.at(node).core != nullptr; }
  std::vector<std::size_t> running() const;
  // What has gone wrong so far, for all nodes and frames.
  FaultCounts fault_counts() const;
  // REQUIRES that the node runs.
  gossip::Status status(std::size_t node) const;
  const optim::Trainer& trainer(std::size_t node) const;
  const History& history() const { return history_; }

 private:
  struct Participant : Machine {
    std::unique_ptr<gossip::Node> core;  // null: does not run
    std::unique_ptr<optim::Trainer> trainer;
    Time paused_until{};
    bool has_waiting = false;  // inputs, for the end of the pause
    Time busy_until{};         // the trainer
    Time wake = kNever;        // the earliest tick in the queue

    void end(Time now) {
      core.reset();
      members = nullptr;
      paused_until = now;
    }
  };
  struct Wake {
    std::size_t node;
    std::uint64_t life;
  };
  struct JobDone {
    std::size_t node;
    std::uint64_t life;
    std::shared_ptr<optim::Done> done;
  };
  // The disk has written, or failed to.
  struct Written {
    std::size_t node;
    std::uint64_t life;
    std::shared_ptr<const gossip::Checkpoint> checkpoint;
  };
  using Event = std::variant<Wake, Wires::Task, Wires::Notice, Wires::Delivery, Drivers::Knock,
                             JobDone, Written>;

  // Puts an event of a node that is paused behind the end of the pause.
  template <class What>
  bool waits(std::size_t node, What& what);
  void happen(Wake& wake);
  void happen(Wires::Task& task);
  void happen(Wires::Notice& notice);
  void happen(Wires::Delivery& delivery);
  void happen(JobDone& job);
  void happen(Drivers::Knock& knock);
  void happen(Written& written);
  void step(std::size_t node, gossip::Input input);
  void wake_in_time(std::size_t node);
  void stop(std::size_t node);
  void train(std::size_t node, const optim::Job& job);

  Options options_;
  TrainerFactory make_trainer_;
  Network network_;
  Queue<Event> queue_;
  Drivers drivers_;
  std::vector<Participant> nodes_;
  std::vector<Observer> observers_;
  FaultCounts counts_;  // of nodes
  History history_;
};

}  // namespace starling::sim
