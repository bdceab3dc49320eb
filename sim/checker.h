// Checker: laws that hold whatever the network does. It watches a world from outside while that
// runs; what is found broken is told with virtual time and node, so that it can be seen again. To
// add a law: sim/checker.cpp, ledger.cpp or end_laws.cpp, and a planted bug that breaks it
// (base/planted.h).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/end_laws.h"
#include "sim/ledger.h"
#include "sim/setting_laws.h"
#include "sim/world.h"

namespace starling::sim {

class Checker {
 public:
  // From now on, at every step:
  //   rounds go forward           within a life; topology epochs too
  //   incarnations go forward     across lives too, where none was forged; sequence numbers
  //                               within an incarnation
  //   weights are convex          w_ij >= 0 with a sum below 1
  //   a mix is what its weights say   seen where nothing is learned: at learning rate 0
  //   numbers are finite
  //   a joiner contributes late   nothing is offered while a model that was asked for may come from
  //                               somebody whom the joiner knew to train when it began
  //   rounds stay believable      whatever wrong round is heard
  //   nobody trains alone unasked where exchange.alone = rest and others may average with it: with
  //                               nobody it takes twice as many steps in a row as it catches up,
  //                               and one more for each edge that opened or closed meanwhile (all
  //                               that of each node where the graph changes from round to round;
  //                               not in pairs).
  //                               Where the part p of all messages arrives, 1 / p² times as many:
  //                               a pair needs a vector and an answer to it. Seconds in which TCP
  //                               sends packets of the node's vectors again do not count
  //   rounds mean steps           there are as many rounds in which somebody took a step, but for
  //                               the one with which each life begins, and those caught up (where
  //                               rounds are in step)
  //   nobody steps after the end  no local step begins at a node that has come to its end, nor in a
  //                               round after stop.rounds (where rounds are in step)
  //   a false model is refused    of the end: none is ten times as long as all that honest nodes
  //                               had before
  //   damage is refused           every frame with a flipped byte
  //   messages are applied once   every repeated frame is refused as such
  //   queues are bounded          jobs under way, outputs of a step, members, edges
  // and where missing=late:
  //   pairs are mixed once        of the vectors of two neighbours, by each of them
  //   weights are symmetric       both give the pair the same
  //   vectors are sent once       but for one byte in fifty, until a frame or a node goes astray
  //                               (neither between two once a message between them was forged)
  // What liars do breaks no law (Options::lie).
  // REQUIRES that the checker lives as long as the world runs.
  explicit Checker(World& world);
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  // ---- at the end
  // What one end of an edge averaged with, the other did too: so the mean stays.
  void expect_settled() { ledger_.expect_settled(); }
  // Neighbours are at most eight rounds apart, where rounds wait for all.
  void expect_step();
  // No round has waited longer than for the most patient edge, but at a node that hears nobody.
  void expect_rounds();
  // Every parameter of every node is a number.
  void expect_finite();
  // Every node that runs lists exactly those that run as alive, and has the same topology of them.
  void expect_agreement();
  // The data are dealt to exactly the nodes that run, each with a share of its own. REQUIRES that
  // they have agreed for some rounds.
  void expect_shares();
  // No model is farther from the mean of all than this share of its norm, and every node knows.
  void expect_consensus(double distance);
  // The run ends for all, and with one hash; see there.
  EndLaws& ends() { return ends_; }
  // Of settings that changed; see there.
  SettingLaws& settings() { return settings_; }

  bool sound() const { return violations_.empty(); }
  const std::vector<Violation>& violations() const { return violations_; }

 private:
  struct Seen {
    std::uint64_t life = 0;
    std::uint64_t round = 0, epoch = 0, sequence = 0;
    std::uint64_t points = 0;  // of Progress
    std::size_t sends = 0;     // at this instant
    Time instant{};
    std::optional<Time> asked;  // for a model that has not come yet
    std::size_t alone = 0;      // steps in a row without a pair
    std::size_t changes = 0;    // of its edges meanwhile
    Time last_job{};            // when its trainer was given one
    // Of the last offer: its round at least, and where its vector lies, if it was sent.
    std::uint64_t offer_round = 0;
    const std::byte* offered = nullptr;
    std::map<NodeId, std::uint64_t> told;  // the last round of a vector to each peer
    // Since settings changed, as of the first steps after; null: those of all.
    bool has_new_settings = false;
    const gossip::ScheduleRow* schedule = nullptr;
    std::shared_ptr<const topology::Options> topology = {};
    std::shared_ptr<const optim::Shard> shard = {};  // of the data, its newest
  };
  static constexpr std::size_t kViolationsLimit = 100;

  Seen& seen_of(std::size_t node);
  void see_settings(std::size_t node);
  const gossip::ScheduleRow& schedule_of(std::size_t node);
  const topology::SequenceChoice& sequence_of(std::size_t node);
  void see(std::size_t node, const gossip::Output& output);
  void see(std::size_t node, const gossip::Progress& progress);
  void see(std::size_t node, const gossip::Message& message);
  void see(std::size_t node, const gossip::Round& round, const Payload& vector);
  void see(std::size_t node, const optim::Job& job);
  void see_weights(std::size_t node, const optim::Job& job);
  void expect_finite(std::size_t node);
  void expect_estimate(std::size_t node, double distance);
  void see_status(std::size_t node);
  void see_damage(std::size_t node, const gossip::Status& status);
  std::uint64_t rounds_in_step(std::size_t node);
  void see_pace(std::size_t node, std::uint64_t round);
  void see_step(std::size_t node, const optim::Job& job);
  bool has_company(std::size_t node) const;
  bool knows_donor(std::size_t node) const;
  void violated(std::string law, std::size_t node, std::string what);

  World* world_;
  Ledger ledger_;
  EndLaws ends_;
  SettingLaws settings_;
  std::vector<Seen> seen_;
  std::vector<std::uint64_t> incarnations_;  // the highest of each node
  std::set<std::uint64_t> stepped_;          // rounds in which somebody took a step
  double least_slowness_ = 1;                // of all nodes so far
  std::vector<Violation> violations_;
};

// Whether every node that runs lists exactly those that run as alive, and has the same topology.
bool agree_on_members(const World& world);

// The largest ||x_i - mean|| / ||mean|| of the nodes that run; 0 for those without models.
double consensus_distance(const World& world);

}  // namespace starling::sim
