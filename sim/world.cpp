#include "sim/world.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/check.h"
#include "base/content_hash.h"
#include "base/planted.h"
#include "gossip/wire/connection_rules.h"

namespace starling::sim {
namespace {

using namespace std::chrono_literals;

// Slots of the cache that all nodes share.
constexpr std::size_t kRecords = 1 << 16;
constexpr Duration kTickLeast = 1ms;  // between ticks that ask for another at once
constexpr Duration kJobLeast = 1us;   // so that time passes even where nothing costs any

void mix_in(std::uint64_t& hash, std::initializer_list<std::uint64_t> words) {
  for (const std::uint64_t word : words) hash = mix64(hash ^ word);
}

// What a frame says, whatever its encoding; 0: it cannot be read.
std::uint64_t meaning_of(std::size_t from, const gossip::Frame& frame,
                         gossip::RecordCache* records) {
  const auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)), records);
  if (!header) return 0;
  const gossip::Body& body = header->body;
  std::uint64_t hash = stable_hash(gossip::kind_of(body).name);
  mix_in(hash, {from});
  if (const auto* snapshot = std::get_if<gossip::Snapshot>(&body)) mix_in(hash, {snapshot->round});
  if (const auto* round = std::get_if<gossip::Round>(&body))
    mix_in(hash, {round->round, round->number, round->asks, round->closes});
  return hash;
}

// What a node has its trainer do. Weights count to one part in a million.
std::uint64_t meaning_of(const optim::Job& job) {
  std::uint64_t hash = job.round;
  mix_in(hash, {job.adopt.has_value(), job.absorb, job.local, job.offer, job.evaluate, job.snapshot,
                job.foundation != nullptr, job.shard != nullptr});
  for (const optim::MixTerm& term : job.mix)
    mix_in(hash, {term.peer.value, static_cast<std::uint64_t>(std::llround(term.weight * 1e6))});
  return hash;
}

// As the clock of a machine gives it.
std::uint64_t in_milliseconds(Time time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace

// One number for the whole history: whatever happens differs in it, or nothing does.
void History::note(Time now, std::uint64_t kind, std::size_t node, std::uint64_t content) {
  ++events;
  mix_in(hash, {static_cast<std::uint64_t>(now.time_since_epoch().count()), kind, node, content});
}

void History::note_behavior(Time now, std::uint64_t kind, std::size_t node, std::uint64_t meaning) {
  mix_in(behavior,
         {static_cast<std::uint64_t>(now.time_since_epoch().count()), kind, node, meaning});
}

World::World(Options options, TrainerFactory make_trainer)
    : options_(std::move(options)),
      make_trainer_(std::move(make_trainer)),
      network_(options_.network, options_.seed),
      drivers_(network_, options_.nodes, queue_.now(),
               [this](Time at, Drivers::Event event) {
                 std::visit([&](auto& what) { queue_.push(at, std::move(what)); }, event);
               }),
      nodes_(options_.nodes) {
  ENSURE(nodes_.size() <= kMembersLimit, "a world is one cluster");
  options_.base.records = std::make_shared<gossip::RecordCache>(kRecords);
  if (!nodes_.empty()) nodes_.back().slowness = options_.straggler;
}

void World::start(std::size_t node, std::optional<gossip::Options> options) {
  Participant& self = nodes_.at(node);
  ENSURE(!self.core, "a node that runs cannot start");
  counts_.restarted += self.life > 0;
  counts_.joined += self.life == 0 && now() > Time{};
  counts_.disk_lost += self.disk.state() == DiskState::lost;
  counts_.disk_old += self.disk.state() == DiskState::old;
  gossip::Options born = options ? *std::move(options) : node_options(options_, node);
  born.clock = in_milliseconds(now());
  if (born.control.port == 0) born.control.host += self.disk.mark();
  born.incarnation = PLANTED(incarnation_forgotten) ? 1 : self.disk.next_incarnation(born.clock);
  self.disk.save(born.incarnation);
  const auto before = born.checkpoint.is_kept ? self.disk.newest() : nullptr;
  ++self.life;
  self.repeats = self.corrupted = 0;
  self.jobs_in_flight = 0;
  self.learning_rate = 0;
  drivers_.begin(node, node_id(born.name), self.life, born.control,
                 is_hidden(options_.hiding, nodes_.size(), node));
  self.core = std::make_unique<gossip::Node>(born, now(), before);
  self.members = &self.core->members();
  self.trainer = make_trainer_(node);
  self.busy_until = now();
  self.wake = kNever;
  step(node, gossip::Tick{});
}

void World::crash(std::size_t node) {
  counts_.crashed += runs(node);
  nodes_.at(node).end(now());
  drivers_.end(node);
}

void World::tell(std::size_t node, gossip::Input command) {
  if (!runs(node)) return;
  counts_.left += std::holds_alternative<gossip::LeaveCommand>(command);
  counts_.halted += std::holds_alternative<gossip::PauseCommand>(command);
  step(node, std::move(command));
}

void World::pause(std::size_t node, Time until) {
  Participant& self = nodes_.at(node);
  if (!self.core) return;
  if (self.paused_until <= now()) self.has_waiting = false;
  self.paused_until = std::max(self.paused_until, until);
}

void World::at(Time time, std::function<void()> action) {
  queue_.push(std::max(time, now()), Wires::Task{std::move(action)});
}

// ---------------------------------------------------------------- time

bool World::run_while(const std::function<bool()>& condition, Time limit) {
  while (condition()) {
    if (queue_.next_time() > limit) {
      queue_.wait_until(limit);
      return false;
    }
    Event event = queue_.pop();
    std::visit([&](auto& what) { happen(what); }, event);
  }
  return true;
}

template <class What>
bool World::waits(std::size_t node, What& what) {
  Participant& self = nodes_[node];
  if (self.paused_until <= now()) return false;
  if (!self.has_waiting) ++counts_.paused;
  self.has_waiting = true;
  queue_.push(self.paused_until, std::move(what));
  return true;
}

// Deadlines mostly move away while a tick is in the queue; then it only puts in a later one.
void World::happen(Wake& wake) {
  Participant& self = nodes_[wake.node];
  if (!self.core || self.life != wake.life || self.wake != now()) return;
  if (waits(wake.node, wake)) {
    self.wake = self.paused_until;
    return;
  }
  self.wake = kNever;
  drivers_.look(wake.node);
  if (self.core->deadline() > now()) return wake_in_time(wake.node);
  history_.note(now(), 1, wake.node, 0);
  step(wake.node, gossip::Tick{});
}

void World::happen(Wires::Notice& notice) {
  const auto node = drivers_.wires().owner(notice.end);
  if (!node || waits(*node, notice)) return;
  drivers_.notify(*node, notice);
  if (runs(*node)) wake_in_time(*node);
}

void World::happen(Wires::Delivery& delivery) {
  Wires& wires = drivers_.wires();
  if (!wires.arrive(delivery)) return;
  if (options_.network.geography) drivers_.send_more(wires.sender_of(delivery));
  const std::size_t node = *wires.owner(delivery.end);
  if (waits(node, delivery)) return;
  Participant& self = nodes_[node];
  const std::size_t sender = wires.sender_of(delivery);
  Wires::Carried& carried = *delivery.carried;
  // The header holds the hash of the body.
  history_.note(now(), 2, node, content_hash(std::as_bytes(std::span(carried.frame.header))));
  auto received = drivers_.hear(node, delivery);
  if (!self.core) return;
  if (!received) return wake_in_time(node);
  if (options_.notes_messages)
    history_.note_behavior(now(), 2, node,
                           meaning_of(sender, carried.frame, options_.base.records.get()));
  self.corrupted += carried.damage == Damage::Done::corrupted;
  if (carried.damage == Damage::Done::nothing && carried.heard_by == self.life) ++self.repeats;
  carried.heard_by = self.life;
  step(node, *std::move(received));
}

void World::happen(JobDone& job) {
  Participant& self = nodes_[job.node];
  if (!self.core || self.life != job.life || waits(job.node, job)) return;
  --self.jobs_in_flight;
  history_.note(now(), 3, job.node,
                std::bit_cast<std::uint64_t>(job.done->stats.norm) ^ job.done->round);
  history_.note_behavior(now(), 3, job.node, job.done->round);
  step(job.node, gossip::Trained{std::move(*job.done)});
}

void World::happen(Drivers::Knock& knock) {
  if (!runs(knock.node) || !drivers_.runs(knock.node, knock.life)) return;
  auto found = drivers_.knock(knock);
  if (!found || waits(knock.node, knock)) return;
  const std::uint64_t kind = knock.is_refused ? 5 : 6;
  history_.note(now(), kind, knock.node, stable_hash(to_string(knock.at)));
  history_.note_behavior(now(), kind, knock.node, stable_hash(to_string(knock.at)));
  step(knock.node, *std::move(found));
}

void World::happen(Written& written) {
  Participant& self = nodes_[written.node];
  if (!self.core || self.life != written.life || waits(written.node, written)) return;
  gossip::Saved saved{.problem = self.disk.fault};
  if (saved.problem.empty()) {
    self.disk.checkpoints.push_back(written.checkpoint);
    saved.generation = self.disk.checkpoints.size();
  }
  history_.note(now(), 7, written.node, written.checkpoint->round);
  step(written.node, std::move(saved));
}

void World::happen(Wires::Task& task) {
  history_.note(now(), 4, 0, 0);
  task.act();
}

// ---------------------------------------------------------------- nodes

void World::step(std::size_t node, gossip::Input input) {
  Participant& self = nodes_[node];
  gossip::Outputs outputs;
  self.core->step(now(), std::move(input), outputs);
  for (gossip::Output& output : outputs) {
    for (const Observer& observer : observers_) observer(node, output);
    drivers_.act(node, output);
    if (const auto* training = std::get_if<gossip::Train>(&output))
      train(node, training->job);
    else if (auto* save = std::get_if<gossip::Save>(&output))
      queue_.push(now() + self.disk.write_time,
                  Written{node, self.life,
                          std::make_shared<const gossip::Checkpoint>(std::move(save->checkpoint))});
    else if (std::holds_alternative<gossip::Stopped>(output))
      stop(node);
  }
  if (runs(node)) wake_in_time(node);
}

void World::wake_in_time(std::size_t node) {
  Participant& self = nodes_[node];
  const Time deadline = std::min(self.core->deadline(), drivers_.deadline(node));
  const Time wake = deadline > now() ? deadline : now() + kTickLeast;
  if (wake >= self.wake) return;
  self.wake = wake;
  queue_.push(wake, Wake{node, self.life});
}

// The process ends once all that is queued has left, or after kFlushPatience.
void World::stop(std::size_t node) {
  nodes_[node].end(now());
  if (drivers_.end_if_idle(node)) return;
  at(now() + gossip::kFlushPatience, [this, node, life = nodes_[node].life] {
    if (!runs(node) && drivers_.runs(node, life)) drivers_.end(node);
  });
}

// The numbers are there at once; the node learns of them when the job would have ended.
void World::train(std::size_t node, const optim::Job& job) {
  Participant& self = nodes_[node];
  history_.note_behavior(now(), 7, node, meaning_of(job));
  auto done = std::make_shared<optim::Done>(self.trainer->run(job));
  ++self.jobs_in_flight;
  if (done->stats.path > 0) self.learning_rate = done->stats.learning_rate;
  counts_.slowed += self.slowness > 1;
  const double steps = static_cast<double>(done->stats.steps) * self.slowness;
  done->stats.compute = from_seconds(seconds(options_.compute) * steps);
  self.busy_until = std::max(self.busy_until, now()) + std::max(done->stats.compute, kJobLeast);
  queue_.push(self.busy_until, JobDone{node, self.life, std::move(done)});
}

// ---------------------------------------------------------------- what there is to see

std::vector<std::size_t> World::running() const {
  std::vector<std::size_t> nodes;
  for (std::size_t k = 0; k < nodes_.size(); ++k)
    if (runs(k)) nodes.push_back(k);
  return nodes;
}

FaultCounts World::fault_counts() const {
  FaultCounts counts = counts_;
  counts += network_.counts();
  counts += drivers_.wires().counts();
  return counts;
}

gossip::Status World::status(std::size_t node) const {
  ENSURE(runs(node), "only a node that runs has a status");
  return nodes_[node].core->status(now());
}

const optim::Trainer& World::trainer(std::size_t node) const {
  ENSURE(nodes_.at(node).trainer, "only a node that was started has a trainer");
  return *nodes_[node].trainer;
}

}  // namespace starling::sim
