// A whole cluster in virtual time, one of whose members lies: the bytes say which of its messages
// are changed, which field, and to what. With keys or without, nothing that it says may fail an
// assertion, break a law of sim/checker.h, end another node, or keep the others from training.
#include <algorithm>

#include "gossip/wire/wire.h"
#include "tests/fuzz/field_changer.h"
#include "tests/fuzz/input.h"
#include "tests/sim/cluster.h"
#include "tests/sim/reference.h"

namespace starling::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNodes = 4, kLiar = 3;
constexpr std::uint64_t kRoundsBefore = 2, kRoundsAfter = 3;
// Of virtual time: while the liar lies, and until the others must train again.
constexpr Duration kLies = 20s, kRecovery = 120s;

sim::Options world_of(bool has_keys, const optim::Options& training) {
  sim::Options options = test::reference_world(kNodes, topology::Kind::complete, training);
  options.base.expect = kNodes;
  options.compute = 500ms;
  options.network.delay = 5ms;
  options.has_keys = has_keys;
  return options;
}

// Every fourth message or so is changed, in a field of its body, or in its envelope or chunk.
bool lie(gossip::Header& header, Input& in) {
  if (in.empty() || header.envelope.sender != node_id("node-3")) return false;
  const std::size_t how = in.byte();
  if (how % 4 != 0) return false;
  if (how % 16 != 0) return change_a_field(header.body, in), true;
  change_one(in, [&header](FieldChanger& changer) {
    changer.number(header.envelope.incarnation, gossip::kIncarnationLimit - 1);
    changer.number(header.envelope.sequence, gossip::kAnyNumber);
    changer.number(header.chunk.transfer, gossip::kAnyNumber);
    changer.number(header.chunk.offset, gossip::kAnyNumber);
    changer.number(header.chunk.total, gossip::kAnyNumber);
  });
  return true;
}

std::uint64_t least_round(const test::Cluster& cluster) {
  std::uint64_t least = ~0ULL;
  for (std::size_t node = 0; node < kLiar; ++node) least = std::min(least, cluster.round(node));
  return least;
}

void expect_honest(const test::Cluster& cluster) {
  for (const sim::Violation& violation : cluster.checker.violations())
    fmt::print(stderr, "{}\n", sim::to_text(violation, 1));
  ENSURE(cluster.checker.sound(), "every law of sim/checker.h holds");
  for (std::size_t node = 0; node < kLiar; ++node) {
    ENSURE(cluster.world.runs(node), "no lie ends another node");
    const gossip::Status status = cluster.world.status(node);
    ENSURE(status.run.round < 1000, "rounds stay believable");
    ENSURE(status.members.size() <= kMembersLimit, "members are bounded");
  }
}

void run_cluster(Bytes input) {
  Input in(input);
  optim::Options training = test::reference_training(0.1);
  static constexpr std::string_view kAlgorithms[] = {"dpsgd", "ed", "gt"};
  training.algorithm = optim::algorithm_named(kAlgorithms[in.below(std::size(kAlgorithms))]);
  test::Cluster cluster(world_of(in.flag(), training), training);
  cluster.start_all();
  ENSURE(cluster.comes_true([&] { return least_round(cluster) >= kRoundsBefore; }, 60s),
         "honest nodes train");
  cluster.world.network().damage().set_liar(
      [&](gossip::Header& header) { return lie(header, in); });
  cluster.world.run_until(cluster.world.now() + kLies);
  cluster.world.network().damage().set_liar(nullptr);
  expect_honest(cluster);
  const std::uint64_t round = least_round(cluster) + kRoundsAfter;
  ENSURE(cluster.comes_true([&] { return least_round(cluster) >= round; }, kRecovery),
         "the others train on after the lies");
  expect_honest(cluster);
}

// Lies about many fields, one kind of value each.
std::vector<std::string> cluster_seeds() {
  std::vector<std::string> seeds;
  for (char keys = 0; keys < 2; ++keys)
    for (char algorithm = 0; algorithm < 3; ++algorithm) {
      std::string text{algorithm, keys};
      for (char field = 0; field < 24; ++field)
        text += {static_cast<char>(4 + 12 * (field % 5 == 0)),
                 field,
                 static_cast<char>(field % 4),
                 field,
                 1,
                 0,
                 0,
                 0,
                 0,
                 0,
                 static_cast<char>(field * 9)};
      seeds.push_back(text);
    }
  return seeds;
}

}  // namespace

std::vector<Target> cluster_targets() {
  return {{"cluster", run_cluster, cluster_seeds, 512, 20}};
}

}  // namespace starling::fuzz
