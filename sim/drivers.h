// Drivers: what the processes of a world do for their nodes beside training: a Driver each, which
// sends and receives over Wires, and the probes of addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "sim/driver.h"
#include "sim/network.h"
#include "sim/wires.h"

namespace starling::sim {

class Drivers {
 public:
  // A ConnectProbe under way; the system sends the first packet again and again.
  struct Knock {
    std::size_t node;
    std::uint64_t life;  // of the node
    std::optional<NodeId> of;
    Endpoint at;
    Time until;
    bool is_refused = false;  // the refusal is on its way back
  };
  using Event = std::variant<Wires::Task, Wires::Notice, Wires::Delivery, Knock>;
  using Post = std::function<void(Time, Event)>;

  // As of Wires.
  Drivers(Network& network, std::size_t nodes, const Time& now, const Post& post);

  // A process of the node begins; ends. `life`: how often one has begun.
  void begin(std::size_t node, NodeId id, std::uint64_t life, const Endpoint& control,
             bool is_hidden);
  void end(std::size_t node) { processes_[node] = {}; }
  // The node has stopped: its process ends once all that is queued has left. Returns whether it
  // has ended.
  bool end_if_idle(std::size_t node);
  bool runs(std::size_t node, std::uint64_t life) const {
    return processes_[node].driver && processes_[node].life == life;
  }

  // All are called for every message that a node sends, and may change it.
  using Interceptor = std::function<void(Parcel& parcel)>;
  void intercept(Interceptor interceptor) { interceptors_.push_back(std::move(interceptor)); }

  // Does what a running node asks of other nodes; any other output is left alone.
  void act(std::size_t node, gossip::Output& output);
  // A connection of the node can carry more.
  void send_more(std::size_t node);
  // See Driver.
  void look(std::size_t node) { processes_[node].driver->look(*now_); }
  Time deadline(std::size_t node) const { return processes_[node].driver->deadline(*now_); }
  // The wire has the event.
  void notify(std::size_t node, const Wires::Notice& notice);
  // What the node gets of the frame; nothing: it was a greeting.
  std::optional<gossip::Received> hear(std::size_t node, const Wires::Delivery& delivery);
  // What the node learns of its probe now; nothing: it waits, or has no result.
  std::optional<gossip::Input> knock(Knock& knock);

  Wires& wires() { return wires_; }
  const Wires& wires() const { return wires_; }

 private:
  struct Process {
    std::unique_ptr<Driver> driver = nullptr;  // null: no process
    std::uint64_t life = 0;
  };
  void send(std::size_t node, gossip::Send& send);
  void introduce(std::size_t node, gossip::Introduce& introduce);
  void probe(std::size_t node, const gossip::ConnectProbe& probe);
  Parcel& shown(Parcel& parcel) const;

  Network* network_;
  const Time* now_;
  Post post_;
  Wires wires_;
  std::vector<Process> processes_;
  std::vector<Interceptor> interceptors_;
};

}  // namespace starling::sim
