// A few whole nodes in virtual time, without models: a job ends after a set time and its vectors
// hold nothing. Messages are encoded, cut and decoded as in a process and take 10 ms each. A test
// can lose, repeat, interrupt and hold up any of them.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gossip/node/node.h"
#include "gossip/wire/transfer.h"

namespace starling::test {

using namespace std::chrono_literals;

// How the trainer of a node answers.
struct CannedTrainer {
  Duration step = 200ms;        // of a job with a local step; all others take 1 ms,
  Duration data = 1ms;          // but for those that take a share of the data
  std::size_t bytes = 8;        // of a vector
  std::string schema = "same";  // of the model
  std::string survey = {};      // empty: none is needed
};

// What becomes of the next message of this kind from one node to another.
struct Mishap {
  enum class Kind { drop, repeat, interrupt };  // interrupt: only its first frame arrives
  Kind kind = Kind::drop;
  std::string message;  // gossip::kind_of; "vector" stands for one with a payload
  std::string from, to;
};

class FewNodes {
 public:
  struct Watcher {
    // `fate` says in words what becomes of a message; empty: it arrives in 10 ms.
    std::function<void(const std::string& node, const gossip::Output&, const std::string& fate)>
        saw_output;
    std::function<void(const std::string& node)> stepped;
  };
  explicit FewNodes(Watcher watcher) : watcher_(std::move(watcher)) {}

  // The address of any node, running or not; its number is that of its name.
  static Endpoint control_of(const std::string& name);
  // REQUIRES that it does not run. Its name and addresses are filled in.
  void start(const std::string& name, gossip::Options options, const CannedTrainer& trainer);
  void kill(const std::string& name) { nodes_.at(name).core.reset(); }
  void step(const std::string& name, gossip::Input input);

  void meddle(Mishap mishap) { mishaps_.push_back(std::move(mishap)); }
  // From now on may change what a node says, before it is encoded.
  using Lie = std::function<void(const std::string& from, gossip::Body& body)>;
  void lie(Lie lie) { lie_ = std::move(lie); }
  // Nothing passes between the two any more, either way.
  void cut(const std::string& a, const std::string& b) { cuts_.insert(std::minmax(a, b)); }
  void heal() { cuts_.clear(); }
  // What is sent on the bulk plane from now on arrives no sooner than after this time.
  void hold(const std::string& from, const std::string& to, Duration duration) {
    held_[{from, to}] = now_ + duration;
  }
  void run(Duration duration);

  Time now() const { return now_; }
  // Null where it does not run.
  const gossip::Node* find(const std::string& name) const;
  std::vector<std::string> running() const;
  // The name of the node at an address; REQUIRES that there is one.
  std::string name_at(const Endpoint& endpoint) const { return names_.at(endpoint.host); }
  // The name by which `node` knows another; REQUIRES that it was told.
  std::string name_of(const std::string& node, NodeId other) const {
    return nodes_.at(node).contacts.at(other).name;
  }

 private:
  struct Participant {
    std::unique_ptr<gossip::Node> core;  // null: does not run
    CannedTrainer trainer;
    optim::Needs needs;
    gossip::Cutter cutter;
    std::map<NodeId, gossip::Contact> contacts;
    std::uint64_t life = 0;
    Time busy_until{};  // the trainer
    Time wake = kNever;
  };
  struct Arrival {
    std::string from, to;
    gossip::Plane plane;
    gossip::Frame frame;
  };
  // An input of one life of a node: the end of a job, the answer to a probe.
  struct Local {
    std::string node;
    std::uint64_t life;
    std::shared_ptr<gossip::Input> input;
  };
  using Event = std::variant<Arrival, Local>;

  void put(Time at, Event event) { queue_.emplace(std::pair{at, ++put_in_}, std::move(event)); }
  void happen(Arrival& arrival);
  void happen(Local& local);
  void perform(const std::string& name, gossip::Output& output);
  std::string carry(const std::string& name, const Endpoint& at, gossip::Message& message,
                    std::size_t from = 0);
  std::string probe(const std::string& name, const gossip::ConnectProbe& probe);
  void train(const std::string& name, const optim::Job& job);
  std::optional<Mishap::Kind> mishap_of(const std::string& from, const std::string& to,
                                        const gossip::Message& message);
  void later(const std::string& name, Duration after, gossip::Input input);

  Watcher watcher_;
  std::map<std::string, Participant> nodes_;
  std::map<std::string, std::string> names_;  // by host
  std::vector<Mishap> mishaps_;
  Lie lie_;
  std::set<std::pair<std::string, std::string>> cuts_;
  std::map<std::pair<std::string, std::string>, Time> held_;
  std::map<std::pair<Time, std::uint64_t>, Event> queue_;  // by time, then as it was put in
  std::uint64_t put_in_ = 0;
  Time now_{};
};

}  // namespace starling::test
