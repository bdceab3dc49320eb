#include "sim/options.h"

#include <fmt/format.h>

#include <utility>

#include "base/bindings.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/prng.h"
#include "base/text.h"
#include "base/utc.h"
#include "topology/sequence.h"

namespace starling::sim {
namespace {

void bind_network(Bindings<Options>& all) {
  using enum Scope;
  const auto of = [](auto member) { return at(&Options::network, member); };
  all.bind("sim.delay", of(&NetworkOptions::delay), Real{0, 1e4}, own,
           "time of a message from one node to another, s; larger makes rounds slower")
      .bind("sim.jitter", of(&NetworkOptions::jitter), Real{0, 1e4}, own,
            "uniform extra delay from 0 to this, s; larger makes neighbours wait more")
      .bind("sim.loss", of(&NetworkOptions::loss), Real{0, 1}, own,
            "probability, 0 to 1, that a message never arrives; rounds then wait until their "
            "patience ends")
      .bind("sim.bandwidth", of(&NetworkOptions::bandwidth), Real{0, 1e12}, own,
            "of each node's link, each way, bytes per second; 0: infinite; smaller makes vectors "
            "take longer")
      .bind("sim.packet-loss", of(&NetworkOptions::packet_loss), Real{0, 1}, own,
            "probability, 0 to 1, that TCP must send a packet again, 0.2 s later and then twice "
            "that: nothing is lost, and everything behind it waits")
      .bind("sim.duplicate", of(&NetworkOptions::duplicate), Real{0, 1}, own,
            "probability, 0 to 1, that a message arrives twice");
}

Result<std::vector<double>> parse_paces(const std::string& text) {
  constexpr double kMost = 1024;
  std::vector<double> paces;
  if (text.empty()) return paces;
  for (const std::string& word : split(text, ',')) {
    const auto pace = parse_number(word);
    if (!pace || !(*pace >= 1 / kMost && *pace <= kMost))
      return fail("expected numbers from 1/{0} to {0} with commas between, as 1,2,4", kMost);
    paces.push_back(*pace);
  }
  return paces;
}

std::string print_paces(const std::vector<double>& paces) {
  return fmt::format("{}", fmt::join(paces, ","));
}

void bind_run(Bindings<Options>& all) {
  using enum Scope;
  const auto of = [](auto member) { return at(&Options::phases, member); };
  all.bind("sim.compute", &Options::compute, Real{0, 1e6}, own,
           "time of one local step, s; larger spends more of a round on computing")
      .bind("sim.straggler", &Options::straggler, Real{1, 1000}, own,
            "factor by which the steps of the last node take longer; larger makes those wait "
            "longer who wait for all")
      .bind("sim.paces", &Options::paces, Written{parse_paces, print_paces}, own,
            "optim.pace of node-0, node-1, ..., with commas, and again from the first; empty: the "
            "same for all")
      .bind("sim.hidden", at(&Options::hiding, &Hiding::nodes),
            Whole{0, static_cast<std::int64_t>(kMembersLimit) - 1}, own,
            "number of nodes, the last ones, that nobody can dial, as behind a NAT; fewer than all")
      .bind("sim.nats", at(&Options::hiding, &Hiding::nats),
            Whole{0, static_cast<std::int64_t>(kMembersLimit)}, own,
            "number of NATs in front of them; 0: one each; fewer cut off more nodes at once")
      .bind("sim.relays", &Options::relays, Whole{0, static_cast<std::int64_t>(kMembersLimit) - 1},
            own,
            "number of nodes, the first ones, that have no data and only average; fewer than all")
      .bind("sim.groups", &Options::groups, Whole{0, static_cast<std::int64_t>(kMembersLimit)}, own,
            "number of values of node.group, which the nodes have in turn where "
            "topology.sequence=clusters:K reads it; 0: each is a group of its own")
      .bind("sim.lie", &Options::lie, OneRow<Lie>{lies()}, own,
            help_of("what liars send in place of their vectors", lies()))
      .bind("sim.liars", &Options::liars, Whole{1, static_cast<std::int64_t>(kMembersLimit) - 1},
            own, "number of nodes that tell sim.lie, the last ones; fewer than all")
      .bind("sim.seconds", &Options::limit, Real{0, 1e9}, own,
            "virtual time after which the simulation stops, s")
      .bind("sim.chaos", of(&Phases::chaos), Real{0, 1e6}, own,
            "time of faults in a run with --chaos, s; larger finds more")
      .bind("sim.healed", of(&Phases::healed), Real{0, 1e6}, own,
            "time after them in which none is left, s")
      .bind("sim.agree-within", of(&Phases::agree_within), Real{0, 1e6}, own,
            "time in which all must agree after the last fault, s; smaller asks for more")
      .bind("sim.distance", of(&Phases::distance_limit), Real{0, 1e9}, own,
            "largest ||x_i - mean|| / ||mean|| that is allowed at the end of such a run")
      .bind("sim.trace", &Options::trace, Real{0, 1e6}, own,
            "time between two records of all nodes, s; --json lists them as trace; 0: none; "
            "smaller makes a longer document");
}

const Bindings<Options>& bindings() {
  static const auto kBindings = [] {
    Bindings<Options> all;
    bind_network(all);
    bind_run(all);
    return all;
  }();
  return kBindings;
}

KeyPair key_pair_of(std::uint64_t seed, std::size_t number) {
  Prng prng = Prng::derive(seed, stable_hash("keys") ^ number);
  Secret bytes(kKeyBytes);
  for (std::byte& byte : bytes.bytes()) byte = static_cast<std::byte>(prng.below(256));
  return KeyPair(bytes);
}

}  // namespace

bool is_hidden(const Hiding& hiding, std::size_t nodes, std::size_t index) {
  return index + hiding.nodes >= nodes;
}

std::vector<std::size_t> behind_nat_of(const Hiding& hiding, std::size_t nodes, std::size_t index) {
  ENSURE(is_hidden(hiding, nodes, index), "a node behind a NAT is hidden");
  const auto nat = [&](std::size_t node) { return hiding.nats > 0 ? node % hiding.nats : node; };
  std::vector<std::size_t> together;
  for (std::size_t node = nodes - hiding.nodes; node < nodes; ++node)
    if (nat(node) == nat(index)) together.push_back(node);
  return together;
}

bool is_liar(const Options& options, std::size_t index) {
  return options.lie->is_told() && index + options.liars >= options.nodes;
}

std::string name_of(std::size_t index) {
  return fmt::format("node-{}", index);
}

std::string host_of(std::size_t index) {
  const std::size_t number = index + 1;
  return fmt::format("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255);
}

Endpoint control_of(std::size_t index) {
  return {host_of(index), 7600};
}

std::shared_ptr<gossip::Credentials> credentials_of(std::uint64_t seed, std::size_t index) {
  const KeyPair cluster = key_pair_of(seed, 0);
  KeyPair key = key_pair_of(seed, index + 1);
  auto certificate = gossip::sign_certificate({.name = name_of(index),
                                               .key = key.public_key(),
                                               .not_before = 0,
                                               .not_after = kLatestMoment},
                                              cluster);
  ENSURE(certificate, "the name of a simulated node is short");
  return std::make_shared<gossip::Credentials>(gossip::Credentials{
      std::move(key), *std::move(certificate), gossip::Authority(cluster.public_key(), {})});
}

gossip::Options node_options(const Options& options, std::size_t index) {
  gossip::Options node = options.base;
  node.name = name_of(index);
  node.control = control_of(index);
  node.http = {host_of(index), 7680};
  node.tests_address = options.hiding.nodes > 0;
  if (is_hidden(options.hiding, options.nodes, index) && index % 2 == 0) {
    node.control = {"hidden-" + node.name, 0};
    node.http.port = 0;
  }
  node.seed = options.seed;
  if (!options.paces.empty()) node.local_steps.pace = options.paces[index % options.paces.size()];
  node.role = index < options.relays ? gossip::Role::relay : gossip::Role::trainer;
  const topology::SequenceRow* sequence = options.base.topology.sequence.row;
  const Geography* const map = options.network.geography.get();
  if (map && sequence && sequence->is_by_group)
    node.group = map->region_of(index);
  else if (options.groups > 0 && sequence && sequence->is_by_group)
    node.group = fmt::format("site-{}", index % options.groups);
  if (options.has_keys) node.credentials = credentials_of(options.seed, index);
  if (node.seeds.empty()) node.seeds = {control_of(0)};
  return node;
}

void describe(Schema& schema) {
  bindings().describe(schema);
}

Options read_options(Reader& reader) {
  Options options;
  bindings().read(reader, options);
  return options;
}

}  // namespace starling::sim
