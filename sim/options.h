// What a simulation is told: the keys sim.*, and the options of the nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/settings.h"
#include "base/time.h"
#include "gossip/options.h"
#include "optim/options.h"
#include "optim/trainer.h"
#include "sim/lies.h"
#include "sim/network.h"

namespace starling::sim {

// Of a run under faults: the chaos, and what must come true after it.
struct Phases {
  Duration chaos = std::chrono::seconds(480);
  Duration healed = std::chrono::seconds(120);       // after the chaos, to the end of the run
  Duration agree_within = std::chrono::seconds(60);  // of the end of the chaos
  double distance_limit = 0.05;                      // from the mean, at the end
  bool sets = false;                                 // users set settings of all nodes
};

// The last nodes of a world, which nobody can dial, and the NATs before them: node k is behind NAT
// k modulo their number. 0 NATs: each node has its own. Those of even index were told so; the
// others give an address, and find out.
struct Hiding {
  std::size_t nodes = 0, nats = 0;

  bool operator==(const Hiding&) const = default;
};
// Whether it is so of node-<index> of `nodes`.
bool is_hidden(const Hiding& hiding, std::size_t nodes, std::size_t index);
// The hidden nodes behind the NAT of node-<index>, itself among them. REQUIRES that it is hidden.
std::vector<std::size_t> behind_nat_of(const Hiding& hiding, std::size_t nodes, std::size_t index);

struct Options {
  std::size_t nodes = 8;
  Hiding hiding = {};
  std::size_t relays = 0;  // the first nodes, which have no data
  // Where the sequence is of groups, node-<index> is of group index mod groups; 0: of its own.
  std::size_t groups = 3;
  std::uint64_t seed = 1;  // of every chance: network, peers, everything
  NetworkOptions network;
  Duration compute = std::chrono::milliseconds(10);  // of one local step
  double straggler = 1;       // by which the steps of the last node take longer
  std::vector<double> paces;  // optim.pace of the nodes in turn, again from the first; none: base's
  Duration limit = std::chrono::hours(1);  // of virtual time
  Duration trace{};                        // between two records of all nodes; 0: no trace
  bool has_keys = false;                   // nodes sign and verify; the seed makes their keys
  bool notes_messages = false;             // in History::behavior; each frame is read once more
  Phases phases;
  // What all nodes share. Names, addresses and node seeds are made by the simulator; without
  // `seeds` every node asks node-0.
  gossip::Options base;
  // Of the vectors that nodes exchange, for the ledger; null: it cannot read them.
  const optim::Format* format = nullptr;
  optim::Aggregation aggregation = {};  // of the nodes, for the ledger
  const Lie* lie = lie_named("none");
  std::size_t liars = 1;  // that tell it, the last nodes
};
// Whether node-<index> tells the lie.
bool is_liar(const Options& options, std::size_t index);

// Makes the trainer of node-<index>, whenever that starts; of a relay, by optim::make_relay(). Its
// clock should stand still: the simulator decides how long a job takes.
using TrainerFactory = std::function<std::unique_ptr<optim::Trainer>(std::size_t index)>;

std::string name_of(std::size_t index);  // node-<index>
// Of the machine of node-<index>, and where that node listens for control messages.
std::string host_of(std::size_t index);
Endpoint control_of(std::size_t index);
// The keys of node-<index> of the cluster that the seed makes, with a certificate for all times.
std::shared_ptr<gossip::Credentials> credentials_of(std::uint64_t seed, std::size_t index);
// What node-<index> is told, if nobody tells it anything else. Makes its keys, which takes long.
gossip::Options node_options(const Options& options, std::size_t index);

void describe(Schema& schema);
// Reads sim.*; nodes, seed and base are the caller's to fill in.
Options read_options(Reader& reader);

}  // namespace starling::sim
