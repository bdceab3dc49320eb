#include "sim/rehearsal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/ids.h"
#include "base/prng.h"
#include "sim/world.h"

namespace starling::sim {
namespace {

// Of a whole vector: at least so many, and each at most so long under way on the thinnest link.
// Fewer: connections that share a link take turns of longer pieces. Longer: what is under way looks
// lost to the protocol.
constexpr double kChunksLeast = 64, kChunksMost = 4096, kChunkMost_s = 0.5;
// How many times longer than rounds should take the rehearsal waits for them.
constexpr double kPatienceForRounds = 5;

// Where machines die the rehearsal sees so many deaths, for which it takes at most so many times
// the rounds.
constexpr std::uint64_t kDeaths = 5, kRoundsForDeaths = 10;

// Of a machine.
struct Work {
  double computed_s = 0, sent_bytes = 0;
};
// What a machine did in one life.
struct Life {
  Time since{}, last{};  // the first round was done, or, of a machine that came later, it started
  Work before = {}, sum = {};  // by then, and by its last round
  std::uint64_t first_round = 0, round = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
};

class Stage {
 public:
  Stage(const RehearsalOptions& options, double haste, const TrainerFactory& make_trainer)
      : options_(options),
        haste_(haste),
        world_(options.world, make_trainer),
        lives_(options.world.nodes),
        prng_(Prng::derive(options.world.seed, stable_hash("churn"))) {
    for (std::size_t node = 0; node < lives_.size(); ++node)
      world_.machine(node).slowness = options.plan.slowness(node);
    world_.observe([this](std::size_t node, const gossip::Output& output) {
      if (const auto* progress = std::get_if<gossip::Progress>(&output)) see(node, *progress);
    });
  }

  Rehearsal play(Duration limit) {
    for (std::size_t node = 0; node < lives_.size(); ++node) world_.start(node);
    if (options_.plan.deaths_a_day > 0) plan_death();
    world_.run_while([this] { return goes_on(); }, Time(limit));
    result_.rounds = round_;
    for (std::size_t node = 0; node < lives_.size(); ++node)
      if (world_.runs(node))
        close(node, lives_[node].first_round > 0 ? lives_[node].last : world_.now());
    return finish();
  }

 private:
  bool goes_on() const {
    const bool waits_for_deaths = options_.plan.deaths_a_day > 0 && result_.deaths < kDeaths &&
                                  round_ < kRoundsForDeaths * options_.rounds;
    return waits_for_deaths || round_ < (result_.loss_s ? options_.rounds_least : options_.rounds);
  }

  void see(std::size_t node, const gossip::Progress& progress) {
    Life& life = lives_[node];
    life.last = world_.now();
    const gossip::Status status = world_.status(node);
    life.sum = {seconds(status.compute), static_cast<double>(status.sent_bytes)};
    life.round = progress.round;
    if (life.first_round == 0 && progress.round > 0) {
      life.first_round = progress.round;
      if (round_ <= 2) result_.start_s = seconds(world_.now()) * haste_;
      if (world_.machine(node).life == 1) life.since = life.last, life.before = life.sum;
    }
    round_ = std::max(round_, progress.round);
    if (progress.evaluation_loss) life.loss = *progress.evaluation_loss;
    if (progress.evaluation_loss) look_at_loss();
  }

  void look_at_loss() {
    double sum = 0, count = 0;
    for (const std::size_t node : world_.running())
      if (std::isfinite(lives_[node].loss)) sum += lives_[node].loss, ++count;
    result_.last_loss = sum / count;
    if (!result_.loss_s && result_.last_loss <= options_.loss)
      result_.loss_s = seconds(world_.now()) * haste_;
  }

  // Exponential intervals, machine by chance.
  void plan_death() {
    const double mean_s = kDay_s / options_.plan.deaths_a_day / haste_;
    world_.at(world_.now() + from_seconds(-mean_s * std::log(1 - prng_.uniform())), [this] {
      const std::vector<std::size_t> running = world_.running();
      if (running.size() > 1) kill(running[prng_.below(running.size())]);
      plan_death();
    });
  }

  void kill(std::size_t node) {
    close(node, world_.now());
    ++result_.deaths;
    away_s_ += options_.plan.away_s / haste_;
    world_.crash(node);
    world_.machine(node).disk.lose();
    world_.at(world_.now() + from_seconds(options_.plan.away_s / haste_), [this, node] {
      lives_[node] = {.since = world_.now()};
      world_.start(node);
    });
  }

  // Counts what the machine has done until then.
  void close(std::size_t node, Time until) {
    const Life& life = lives_[node];
    const bool has_trained = life.first_round > 0;
    if (!has_trained && world_.machine(node).life == 1) return;
    there_s_ += seconds(until - life.since);
    if (!has_trained) return;
    computed_s_ += life.sum.computed_s - life.before.computed_s;
    sent_bytes_ += life.sum.sent_bytes - life.before.sent_bytes;
    rounds_ += static_cast<double>(life.round - life.first_round);
    trained_s_ += seconds(life.last - life.since);
  }

  Rehearsal finish() {
    const double all_s = seconds(world_.now()) * static_cast<double>(lives_.size());
    const double weight = options_.world.network.payload_weight;
    if (there_s_ > 0) result_.goodput = computed_s_ / there_s_;
    if (all_s > 0) result_.away = std::min(away_s_ / all_s, 1.0);
    if (rounds_ > 0) result_.round_s = haste_ * trained_s_ / rounds_;
    if (there_s_ > 0) result_.bytes_a_day = sent_bytes_ * weight / (there_s_ * haste_) * kDay_s;
    result_.haste = haste_;
    return result_;
  }

  const RehearsalOptions& options_;
  double haste_;
  World world_;
  std::vector<Life> lives_;
  Prng prng_;
  Rehearsal result_;
  std::uint64_t round_ = 0;
  double there_s_ = 0, computed_s_ = 0, trained_s_ = 0, away_s_ = 0, rounds_ = 0, sent_bytes_ = 0;
};

// What a node says of its model once it is founded.
struct StandIn {
  std::size_t parameters = 0;
  double ratio = 1;  // of a vector's bytes on an edge, after the first, to those of the parameters
};
StandIn look_at_stand_in(const RehearsalOptions& options, const TrainerFactory& make_trainer) {
  Options world = options.world;
  world.nodes = world.base.expect = 1;
  world.base.goal.rounds = 1;
  World alone(world, make_trainer);
  alone.start(0);
  alone.run_while([&] { return alone.trainer(0).parameters().empty(); }, Time(world.limit));
  StandIn found{.parameters = alone.trainer(0).parameters().size()};
  found.ratio = static_cast<double>(alone.trainer(0).workload().vector_bytes) /
                static_cast<double>(found.parameters * options.number_bytes);
  return found;
}

// A round takes that long, and a whole vector, of which a machine sends two first.
double haste_of(const RehearsalOptions& options, double round_s, double whole_s) {
  const double rounds = static_cast<double>(options.rounds);
  double wanted_s = rounds / 2 * round_s;  // most reach the loss by then
  if (options.plan.deaths_a_day > 0)
    wanted_s = std::clamp(kDeaths * kDay_s / options.plan.deaths_a_day, wanted_s,
                          kRoundsForDeaths * rounds * round_s);
  const double machines = static_cast<double>(options.plan.machines());
  return std::max(1.0, (wanted_s + 2 * whole_s) * machines / options.machine_s);
}

}  // namespace

Rehearsal rehearse(RehearsalOptions options, const TrainerFactory& make_trainer) {
  const FleetPlan& plan = options.plan;
  const StandIn stand_in = look_at_stand_in(options, make_trainer);
  double slowest = 1;
  for (const FleetPlan::Region& region : plan.regions) slowest = std::max(slowest, region.slower);
  const double steps = static_cast<double>(options.world.base.local_steps.fixed.value_or(1));
  const double step_s = plan.step_s * options.steps_each;
  const double whole_s = plan.model_bytes / plan.thinnest().first;
  const double round_s = steps * step_s * slowest + stand_in.ratio * whole_s;
  const double haste = haste_of(options, round_s, whole_s);
  options.world.nodes = plan.machines();
  options.world.compute = from_seconds(step_s / haste);
  options.world.base.expect = options.world.nodes;
  const double stand_in_bytes = static_cast<double>(options.number_bytes * stand_in.parameters);
  const double chunks = std::clamp(whole_s / haste / kChunkMost_s, kChunksLeast, kChunksMost);
  NetworkOptions& network = options.world.network;
  network.geography = geography_of(plan, haste);
  network.payload_weight = plan.model_bytes / stand_in_bytes;
  network.chunk_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(stand_in_bytes / chunks));
  const double rounds = static_cast<double>(options.rounds) *
                        (plan.deaths_a_day > 0 ? static_cast<double>(kRoundsForDeaths) : 1);
  return Stage(options, haste, make_trainer)
      .play(from_seconds(kPatienceForRounds * (rounds * round_s + whole_s) / haste));
}

}  // namespace starling::sim
