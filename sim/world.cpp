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

// What a message says, whatever its encoding.
std::uint64_t meaning_of(std::size_t from, const gossip::Body& body) {
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
      connections_(network_, options_.nodes),
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
  connections_.begin(node, born.control, is_hidden(options_.hiding, nodes_.size(), node));
  born.incarnation = PLANTED(incarnation_forgotten) ? 1 : self.disk.next_incarnation(born.clock);
  self.disk.save(born.incarnation);
  const auto before = born.checkpoint.is_kept ? self.disk.newest() : nullptr;
  ++self.life;
  self.repeats = self.corrupted = 0;
  self.jobs_in_flight = 0;
  self.learning_rate = 0;
  self.id = node_id(born.name);
  self.core = std::make_unique<gossip::Node>(born, now(), before);
  self.members = &self.core->members();
  self.trainer = make_trainer_(node);
  self.cutter = {};
  self.busy_until = now();
  self.wake = kNever;
  step(node, gossip::Tick{});
}

void World::crash(std::size_t node) {
  counts_.crashed += runs(node);
  nodes_.at(node).end(now());
  connections_.end(node);
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
  queue_.push(std::max(time, now()), Action{std::move(action)});
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
  if (self.core->deadline() > now()) return wake_in_time(wake.node);
  history_.note(now(), 1, wake.node, 0);
  step(wake.node, gossip::Tick{});
}

void World::happen(Delivery& delivery) {
  Participant& self = nodes_[delivery.to];
  if (delivery.life > 0 && delivery.life != self.life) return;  // it ended with who paused
  if (self.core && self.paused_until > now()) delivery.life = self.life;
  if (self.core && waits(delivery.to, delivery)) return;
  const gossip::Frame& frame = delivery.carried->frame;
  // The header holds the hash of the body.
  history_.note(now(), 2, delivery.to, content_hash(std::as_bytes(std::span(frame.header))));
  history_.note_behavior(now(), 2, delivery.to, delivery.carried->meaning);
  if (!self.core) return;
  Carried& carried = *delivery.carried;
  self.corrupted += carried.damage == Damage::Done::corrupted;
  if (carried.damage == Damage::Done::nothing && carried.heard_by == self.life) ++self.repeats;
  carried.heard_by = self.life;
  step(delivery.to, gossip::Received{delivery.plane, carried.from,
                                     std::as_bytes(std::span(frame.header)), frame.body});
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

// Where no node runs the system refuses, and for one that is paused it accepts. Where the way there
// or back is cut, or a NAT is before the node, nothing is heard, and the look ends as unanswered.
void World::happen(Look& look) {
  const auto to = connections_.find(look.at);
  if (!to || look.at.port == 0 || !runs(look.node) || nodes_[look.node].life != look.life) return;
  const bool is_cut = network_.is_cut(look.node, *to) || network_.is_cut(*to, look.node) ||
                      connections_.is_hidden(*to);
  if (!look.is_refused && !is_cut) {
    if (runs(*to)) return;
    look.is_refused = true;
    queue_.push(now() + 2 * network_.options().delay, std::move(look));
  } else if (!look.is_refused && now() < look.until) {
    queue_.push(std::min(now() + gossip::kConnectTryEvery, look.until), std::move(look));
  } else if (!waits(look.node, look)) {
    const std::uint64_t kind = look.is_refused ? 5 : 6;
    history_.note(now(), kind, look.node, stable_hash(to_string(look.at)));
    history_.note_behavior(now(), kind, look.node, stable_hash(to_string(look.at)));
    if (look.is_refused)
      step(look.node, gossip::Refused{look.of, look.at});
    else
      step(look.node, gossip::Unanswered{look.of, look.at});
  }
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

void World::happen(Action& action) {
  history_.note(now(), 4, 0, 0);
  action.act();
}

// ---------------------------------------------------------------- nodes

void World::step(std::size_t node, gossip::Input input) {
  gossip::Outputs outputs;
  nodes_[node].core->step(now(), std::move(input), outputs);
  perform(node, outputs);
  if (runs(node)) wake_in_time(node);
}

void World::wake_in_time(std::size_t node) {
  Participant& self = nodes_[node];
  const Time deadline = self.core->deadline();
  const Time wake = deadline > now() ? deadline : now() + kTickLeast;
  if (wake >= self.wake) return;
  self.wake = wake;
  queue_.push(wake, Wake{node, self.life});
}

void World::perform(std::size_t node, gossip::Outputs& outputs) {
  for (gossip::Output& output : outputs) {
    for (const Observer& observer : observers_) observer(node, output);
    if (const auto* reach = std::get_if<gossip::Reach>(&output))
      connections_.reach(node, *reach);
    else if (auto* send = std::get_if<gossip::Send>(&output))
      carry(node, connections_.control_of(node, send->to), std::move(send->message), send->from);
    else if (auto* introduce = std::get_if<gossip::Introduce>(&output))
      carry(node, connections_.target_of(*introduce), std::move(introduce->message), 0);
    else if (const auto* hangup = std::get_if<gossip::Hangup>(&output))
      connections_.hang_up(now(), node, *hangup);
    else if (const auto* probe = std::get_if<gossip::ConnectProbe>(&output))
      queue_.push(now(), Look{node, nodes_[node].life, probe->of,
                              probe->of ? connections_.control_of(node, *probe->of) : probe->at,
                              now() + gossip::kConnectPatience});
    else if (const auto* training = std::get_if<gossip::Train>(&output))
      train(node, training->job);
    else if (auto* save = std::get_if<gossip::Save>(&output))
      queue_.push(now() + nodes_[node].disk.write_time,
                  Written{node, nodes_[node].life,
                          std::make_shared<const gossip::Checkpoint>(std::move(save->checkpoint))});
    else if (std::holds_alternative<gossip::Stopped>(output))
      connections_.end(node), nodes_[node].end(now());  // it has said all it had to say
  }
}

void World::carry(std::size_t node, const Endpoint& at, gossip::Message message, std::size_t from) {
  const auto to = connections_.find(at);
  if (!to) return;
  const Hop asked{node, *to, gossip::kind_of(message.body).plane};
  for (Parcel& parcel : connections_.post(now(), {asked, std::move(message), from})) {
    const Hop hop = parcel.hop;
    const std::uint64_t meaning = meaning_of(hop.from, parcel.message.body);
    Participant& sender = nodes_[hop.from];
    for (gossip::Frame& frame : sender.cutter.cut(std::move(parcel.message), parcel.from).all()) {
      const Arrivals arrivals = network_.send(now(), hop, frame.header.size() + frame.body.size());
      if (!arrivals.first) continue;
      const Damage::Done damage = network_.damage().meet(frame);
      if (damage == Damage::Done::forged) network_.damage().note_forged(hop.from, hop.to);
      const auto carried =
          std::make_shared<Carried>(Carried{sender.id, std::move(frame), meaning, damage});
      for (const auto& time : {arrivals.first, arrivals.second})
        if (time) queue_.push(*time, Delivery{hop.to, hop.plane, carried});
    }
  }
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
  counts += connections_.counts();
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
