#include "gossip/node/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <iterator>
#include <utility>

#include "base/prng.h"
#include "gossip/edges/exchange.h"
#include "gossip/edges/links.h"
#include "gossip/edges/step_pace.h"
#include "gossip/members/agreement.h"
#include "gossip/members/hold_up.h"
#include "gossip/members/membership.h"
#include "gossip/node/donor.h"
#include "gossip/node/fleet_past.h"
#include "gossip/node/gate.h"
#include "gossip/node/neighborhood.h"
#include "gossip/node/sampler.h"
#include "gossip/node/saver.h"
#include "gossip/node/startup.h"
#include "gossip/node/strays.h"
#include "gossip/node/training.h"
#include "gossip/outbox.h"

namespace starling::gossip {
namespace {

// The limit of a payload before the size of the model is known. Larger: peers can make this node
// hold more memory. Smaller: a newcomer refuses a large model that comes before its data are
// prepared.
constexpr std::size_t kUnknownModelBytesLimit = 64 << 20;

// The pause between two looks at new members. Longer: new members get their edges later. Shorter:
// when many nodes join at once, each node computes its edges once per newcomer. Departures are
// followed at once.
constexpr Duration kFollowEvery = std::chrono::milliseconds(50);

template <class B>
concept OfMembers = std::same_as<B, Join> || std::same_as<B, Gossip> || std::same_as<B, Table> ||
    std::same_as<B, Probe>;

// How long a leaving node waits at most until its pairs are settled. Smaller: their share of the
// mean may be lost.
constexpr Duration kLeaveLimit = std::chrono::seconds(1);
// How long it then waits for its last checkpoint. Longer than a process manager waits before it
// kills: no use. Smaller: a large model on a slow disk loses what was trained since the last one.
constexpr Duration kLastSaveLimit = std::chrono::seconds(25);

}  // namespace

// The parts, and what connects them. Every input goes to one part; then settle() lets each part see
// the others once.
struct Node::Parts {
  Parts(const Options& given, Time now, std::shared_ptr<const Checkpoint> resumed)
      : options(given),
        gate(stable_hash(given.cluster), node_id(given.name)),
        outbox(stable_hash(given.cluster), node_id(given.name), given.incarnation),
        membership(given, now),
        agreement(given),
        links(given, resumed ? resumed->exchange.edges : std::vector<KeptEdge>()),
        exchange(options, resumed ? resumed->exchange : KeptExchange()),
        startup(given, now, resumed),
        strays(given),
        saver(given.checkpoint, now),
        training(given, pace ? &*pace : nullptr, &saver),
        sampler(given.timing.period),
        neighborhood(given.topology, given.schedule->is_matched) {
    gate.set_payload_limit(kUnknownModelBytesLimit);
    if (pace) extremes.wish(std::nullopt);
    if (!resumed) return;
    before = *resumed;
    before->state = nullptr;  // for the trainer, and large
  }

  // ---- inputs
  void on(Time, const Tick&) {}
  void on(Time now, Received& received);
  void on(Time now, Trained& trained);
  void on(Time now, const Refused& refused) {
    membership.refused(now, refused.at, outbox);
    exchange.refused(refused.at, links);
  }
  void on(Time now, const Unanswered& unanswered) { membership.unanswered(now, unanswered.at); }
  void on(Time now, const Resolved& name) { membership.resolved(now, name); }
  void on(Time now, const JoinCommand& command) { membership.seeds().add(command.seed, true, now); }
  void on(Time now, const LeaveCommand&);
  void on(Time, const PauseCommand&) { training.pause(); }
  void on(Time, const ResumeCommand&) { training.resume(); }
  void on(Time now, const CheckpointCommand& command);
  void on(Time now, const Saved& saved) { saver.saved(now, saved, outbox); }

  // ---- messages
  void hear(Time now, const Envelope& from, OfMembers auto& body, Payload&) {
    membership.receive(now, from, std::move(body), outbox);
  }
  void hear(Time now, const Envelope& from, Hello& hello, Payload&) {
    links.receive(now, from, hello, members, outbox);
  }
  void hear(Time, const Envelope& from, Bye& bye, Payload&) { links.receive(from, bye, outbox); }
  void hear(Time, const Envelope& from, Surveys& surveys, Payload&) {
    startup.receive(surveys, from, members, outbox);
  }
  void hear(Time now, const Envelope& from, SnapshotRequest& request, Payload&) {
    membership.receive(now, from, Gossip{{{request.self}}}, outbox);
    if (training.started() || startup.is_founding()) donor.asked(now, from.sender, members, outbox);
  }
  void hear(Time, const Envelope& from, Snapshot& snapshot, Payload& payload) {
    startup.receive(snapshot, std::move(payload), from, members, outbox);
  }
  void hear(Time now, const Envelope& from, Round& round, Payload& payload) {
    exchange.receive(now, from, round, std::move(payload), links, members, outbox);
  }
  void hear(Time, const Envelope& from, Terms& terms, Payload&) {
    agreement.receive(from, terms, members, outbox);
    links.receive(from, terms);
  }
  void hear(Time, const Envelope& from, Estimate& estimate, Payload&) {
    const Link* link = links.active(from.sender);
    if (link && link->peer_incarnation == from.incarnation)
      means.receive(from.sender, estimate.round, estimate.flow, estimate.estimate);
  }
  void hear(Time now, const Envelope&, Misdirected& message, Payload&) {
    strays.receive(now, message, membership.seeds(), outbox);
  }

  void donate(Time now, optim::Done& done);
  void become_ready(Time now);
  void start_training(Time now);
  Identity::Report report() const;
  void sample(Time now);
  void settle(Time now);
  void leave(Time now);
  void end(const std::string& error);
  void learn_workload(const optim::Workload& workload);
  bool has_news() const { return members_version != members.version() && startup.is_expected(); }
  void follow_members(Time now);
  void reassign_data();
  Phase phase() const;
  State state() const;
  FleetStatus fleet(Time now) const;

  Options options;
  Gate gate;
  Outbox outbox;
  Membership membership;
  const Roster& members = membership.roster();
  Extremes& extremes = membership.extremes();
  Agreement agreement;
  Links links;
  Exchange exchange;
  FleetMeans& means = exchange.means();
  Startup startup;
  Strays strays;
  // Where the nodes choose how many local steps a round has.
  std::optional<StepPace> pace =
      options.exchange_share ? std::optional<StepPace>(*options.exchange_share) : std::nullopt;
  Saver saver;
  Training training;
  Sampler sampler;
  FleetPast past;
  Donor donor;
  const Gate::Known known_incarnation = [this](NodeId id) { return members.incarnation_of(id); };
  Neighborhood neighborhood;
  std::optional<Checkpoint> before;   // without the state; nothing once it is no more needed
  Time started_at{};                  // of the training
  std::uint64_t dealt_view = 0;       // Neighborhood::view() by which the data were assigned
  std::uint64_t members_version = 0;  // Roster::version() that the topology follows
  std::uint64_t departures = 0;       // Roster::departures() at that time
  Time next_follow{};
  bool was_ready = false, was_introduced = false;
  std::vector<std::string> data_notes;  // notes that were reported
  std::optional<Time> leave_by;         // if leaving: when the stage ends at the latest
  bool is_settled = false;              // of leaving: only the last checkpoint is waited for
  bool gone = false;
};

Node::Node(const Options& options, Time now, std::shared_ptr<const Checkpoint> before)
    : parts_(std::make_unique<Parts>(options, now, std::move(before))) {}
Node::~Node() = default;

void Node::step(Time now, Input input, Outputs& out) {
  Parts& parts = *parts_;
  if (parts.gone) return;
  parts.outbox.begin(out);
  parts.membership.awake(now);
  std::visit([&](auto& event) { parts.on(now, event); }, input);
  if (parts.gone) return;
  if (!parts.membership.identity().defeat().empty())
    parts.end(parts.membership.identity().defeat());
  else if (parts.leave_by)
    parts.leave(now);
  else
    parts.settle(now);
}

Time Node::deadline() const {
  const Parts& parts = *parts_;
  if (parts.gone) return kNever;
  const Time exchange = parts.exchange.next_tick();
  if (parts.leave_by) return std::min({*parts.leave_by, parts.membership.deadline(), exchange});
  const Time follow = parts.has_news() ? parts.next_follow : kNever;
  return std::min({parts.membership.deadline(), parts.agreement.deadline(parts.members),
                   parts.links.deadline(), parts.startup.deadline(), parts.donor.deadline(),
                   exchange, follow, parts.training.deadline(parts.exchange, parts.links)});
}

void Node::Parts::on(Time now, Received& received) {
  std::optional<Message> message = gate.admit(now, received, known_incarnation);
  if (const auto part = gate.take_part()) {
    membership.heard_from(now, part->sender, part->incarnation);
    exchange.sessions().hear_part(now, part->sender, part->transfer, part->bytes);
  }
  if (const auto sender = gate.take_oversized(); sender && sender == startup.donor())
    startup.hears_oversized(now);
  if (const auto other = gate.take_other_version()) strays.note(now, *other);
  if (const auto stray = gate.take_stray()) strays.answer(now, *stray, outbox);
  if (!message) return;
  if (auto* misdirected = std::get_if<Misdirected>(&message->body))
    return hear(now, message->envelope, *misdirected, message->payload);
  if (message->envelope.sender == members.self())
    return membership.receive(now, message->envelope, message->body, outbox);
  membership.heard_from(now, message->envelope.sender, message->envelope.incarnation);
  std::visit([&](auto& body) { hear(now, message->envelope, body, message->payload); },
             message->body);
}

void Node::Parts::on(Time now, Trained& trained) {
  if (trained.done.workload) learn_workload(*trained.done.workload);
  donate(now, trained.done);
  if (trained.done.saved) saver.made(std::move(trained.done.saved), outbox);
  if (startup.done())
    training.trained(now, std::move(trained.done), exchange, links, outbox);
  else if (const std::string failure = startup.trained(now, trained.done, outbox); !failure.empty())
    end(failure);
}

void Node::Parts::on(Time now, const LeaveCommand&) {
  if (leave_by) return;
  leave_by = now + kLeaveLimit;
  exchange.rest(true);
  exchange.sessions().close_all(now, outbox);
  links.close_all(outbox);
}

// The peers still need the vectors that this node offered, and this node theirs: then the mean of
// the remaining nodes is not changed by pairs that only one end has averaged.
void Node::Parts::leave(Time now) {
  gate.tick(now);
  membership.tick(now, outbox);
  exchange.tick(now, links, outbox);
  if (!is_settled) {
    if (!training.wind_up(exchange, outbox) && now < *leave_by) return;
    is_settled = true;
    leave_by = now + kLastSaveLimit;
  }
  training.want_checkpoint(now, exchange, links, outbox, true);
  if (saver.is_busy() && now < *leave_by) return;
  membership.leave(outbox);
  end({});
}

void Node::Parts::end(const std::string& error) {
  gone = true;
  outbox.put(Stopped{error});
}

void Node::Parts::learn_workload(const optim::Workload& workload) {
  training.set_workload(workload);
  for (const std::string& note : workload.notes)
    if (std::ranges::find(data_notes, note) == data_notes.end())
      outbox.event(Event::Kind::data, note);
  data_notes = workload.notes;
  if (workload.payload_bytes > 0)
    gate.set_payload_limit(std::max(workload.payload_bytes, workload.snapshot_bytes));
}

void Node::Parts::donate(Time now, optim::Done& done) {
  if (done.snapshot.empty()) return;
  const std::uint64_t round = done.round - std::min(done.round, training.run().uncounted + 1);
  donor.made(now, round, std::move(done.snapshot), startup.foundation(), members, outbox);
}

void Node::Parts::settle(Time now) {
  gate.tick(now);
  if (const auto id = startup.donor()) startup.hears_chunk(gate.last_chunk(*id));
  startup.tick(now, membership, outbox);
  donor.tick(now);
  if (startup.is_ready()) become_ready(now);
  membership.set_self(report());
  membership.tick(now, outbox);
  agreement.tick(now, members, outbox);
  if (has_news() && (now >= next_follow || departures != members.departures())) follow_members(now);
  links.tick(now, outbox);
  if (!has_news()) startup.begin(now, members, links);
  if (pace) pace->follow(extremes.wished());
  if (startup.done() && !training.started()) start_training(now);
  exchange.links_changed(now, links, members, outbox);
  sample(now);
  const std::vector<NodeId> doubted = exchange.tick(now, links, outbox);
  for (NodeId peer : exchange.sessions().take_broken())
    links.restart(now, peer, "the counts of vectors at its ends differ", outbox);
  startup.want_snapshot(donor, outbox);
  training.want_snapshot(donor, exchange, outbox);
  training.want_checkpoint(now, exchange, links, outbox);
  training.advance(now, exchange, links, outbox);
  for (NodeId slow : doubted) {
    membership.doubt(now, slow);
    if (const Link* link = links.active(slow)) outbox.put(ConnectProbe{link->control});
  }
}

// The startup is ready, for the first time or since it took the model of another node.
void Node::Parts::become_ready(Time now) {
  if (!std::exchange(was_ready, true)) {
    links.open(startup.workload().schema_hash, startup.workload().schema);
    members_version = 0;
    next_follow = now;
  }
  // The model is another's: nothing that this node remembers of its edges belongs to it.
  if (!before || startup.is_resumed()) return;
  links.forget(now, true);
  before.reset();
}

// A node that goes on from an earlier life is known by the round of that, so that newcomers ask it
// for its model.
Identity::Report Node::Parts::report() const {
  const bool waits = startup.is_resumed() && !training.started();
  return {.phase = phase(),
          .round = waits ? startup.round() : training.run().round,
          .loss = training.run().loss,
          .saved = saver.status().round.value_or(0),
          .save_at = saver.agreed_round(),
          .held = phase() == Phase::training ? exchange.waits().hold_ups().held() : Held{}};
}

void Node::Parts::start_training(Time now) {
  const std::uint64_t round = startup.round();
  outbox.event(Event::Kind::started,
               round > 0 ? fmt::format("training from round {}", round) : "training");
  links.forget(now, false);
  started_at = now;
  training.start(now, round, exchange, links, outbox, before ? &*before : nullptr);
  before.reset();
}

// Far enough ahead for all nodes to hear of it before they are there, and no further than the goal:
// nodes that finish save their last round.
void Node::Parts::on(Time now, const CheckpointCommand& command) {
  if (!command.fleet) return saver.want();
  constexpr int kSpreads = 20;
  std::uint64_t furthest = training.run().round;
  for (const Member* member : members.present()) furthest = std::max(furthest, member->round);
  if (training.finished()) return saver.agree(now, furthest);
  const double trained = static_cast<double>(training.run().round - startup.round());
  const double speed = training.started() ? trained / seconds(now - started_at) : 0;
  const double rounds = speed * kSpreads * seconds(options.timing.news);
  const std::uint64_t target = furthest + 2 + static_cast<std::uint64_t>(rounds);
  std::uint64_t last = options.goal.rounds;
  if (last > 0) last += training.run().uncounted;
  saver.agree(now, last > 0 ? std::min(target, std::max(last, furthest)) : target);
}

void Node::Parts::sample(Time now) {
  if (!training.started() || !sampler.is_due(now)) return;
  const Sample own = sampler.take(now, training, outbox.sent_bytes(), state() == State::degraded);
  means.set(own);
  extremes.set(own.values);
  past.add(now, means.status());
  if (pace) extremes.wish(phase() == Phase::training ? pace->wish() : std::nullopt);
}

FleetStatus Node::Parts::fleet(Time now) const {
  FleetStatus fleet = means.status();
  past.complete(now, extremes, fleet);
  return fleet;
}

void Node::Parts::follow_members(Time now) {
  members_version = members.version();
  saver.hear(now, members, training.run().round);
  saver.set_fleet(startup.foundation(), members.present().size());
  departures = members.departures();
  next_follow = now + kFollowEvery;
  if (!neighborhood.follow(members)) gate.count("topology", "members");
  // Otherwise the peers learn only from the news that this node is ready, and answer no hello
  // before.
  if (!std::exchange(was_introduced, true))
    for (const WantedEdge& edge : neighborhood.wanted())
      if (const Member* peer = members.find(edge.peer))
        outbox.send(peer->control, Gossip{{{*members.find(members.self())}}});
  if (startup.is_founding()) links.tell_view(now, neighborhood.view(), outbox);
  links.want(now, neighborhood.wanted(), members, outbox);
  gate.set_senders(links.all().size());
  links.match(neighborhood.partners());
  exchange.links_changed(now, links, members, outbox);
  if (training.started() && dealt_view != neighborhood.view()) reassign_data();
}

void Node::Parts::reassign_data() {
  auto shard = std::make_shared<optim::Shard>();
  for (const topology::Site& site : *neighborhood.status().sites) {
    if (site.id == members.self()) shard->place = shard->members.size();
    shard->members.push_back(site.id);
  }
  training.reassign(std::move(shard));
  dealt_view = neighborhood.view();
}

Phase Node::Parts::phase() const {
  if (!startup.is_ready()) return Phase::joining;
  if (startup.is_resumed() && !training.started()) return Phase::resumed;
  if (training.finished()) return Phase::finished;
  return training.is_paused() ? Phase::paused : Phase::training;
}

State Node::Parts::state() const {
  if (leave_by) return State::leaving;
  if (!startup.done()) return membership.has_seeds() ? State::joining : State::starting;
  if (training.finished()) return State::finished;
  if (training.is_paused()) return State::paused;
  const bool is_well =
      !training.problem() && !membership.identity().namesake() && saver.status().problem.empty();
  return is_well ? State::training : State::degraded;
}

std::vector<std::string> Node::warnings(Time now) const {
  const Parts& parts = *parts_;
  std::vector<std::string> warnings;
  if (parts.training.problem()) warnings.push_back(*parts.training.problem());
  if (const std::string& problem = parts.saver.status().problem; !problem.empty())
    warnings.push_back(fmt::format("no checkpoint: {}; trains on, and tries again", problem));
  const Identity& identity = parts.membership.identity();
  if (identity.is_contested())
    warnings.push_back(fmt::format("waiting until the node at {} that has this name is dead",
                                   to_string(identity.contested_by())));
  if (const auto namesake = identity.namesake())
    warnings.push_back(
        fmt::format("another node at {} runs under this node's name", to_string(*namesake)));
  const auto add = [&warnings](std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(warnings));
  };
  add(parts.startup.warnings(now));
  add(parts.membership.warnings(now));
  add(parts.strays.warnings(now));
  add(parts.agreement.warnings());
  add(parts.links.refusals());
  for (const auto& [kind, count] : parts.outbox.unsendable())
    warnings.push_back(fmt::format(
        "{} {} messages were beyond a limit of the protocol and not sent", count, kind));
  return warnings;
}

Status Node::status(Time now) const {
  const Parts& parts = *parts_;
  Status status;
  status.state = parts.state();
  if (!parts.startup.done()) status.reasons.push_back(parts.startup.reason());
  if (status.state == State::paused)
    status.reasons.push_back(fmt::format("paused after round {}", parts.training.run().round));
  const auto add = [&status](std::string reason) {
    const bool is_new = std::ranges::find(status.reasons, reason) == status.reasons.end();
    if (is_new && !reason.empty()) status.reasons.push_back(std::move(reason));
  };
  status.warnings = warnings(now);
  for (const std::string& warning : status.warnings) add(warning);
  add(parts.agreement.remainder());
  add(parts.membership.health());
  status.hold_up = hold_up_among(parts.members.present());
  if (status.hold_up) add(text_of(*status.hold_up, parts.members.self()));
  parts.exchange.describe(now, parts.links, status);
  status.checkpoint = parts.saver.status();
  status.run = parts.training.run();
  status.run.problem = parts.training.problem();
  if (parts.pace) status.run.local_steps_reason = parts.pace->reason();
  status.run.remaining_s = parts.training.remaining_s(now);
  status.consensus_distance = parts.training.consensus_distance();
  status.members = parts.members.status(now);
  status.fleet = parts.fleet(now);
  for (const EdgeStatus& edge : status.edges)
    if (edge.distance)
      status.neighbor_distance = std::max(status.neighbor_distance.value_or(0), *edge.distance);
  status.topology = parts.neighborhood.status();
  status.sent_bytes = parts.outbox.sent_bytes();
  status.received_bytes = parts.gate.received_bytes();
  status.compute = parts.training.compute();
  status.mix = parts.training.mix();
  status.rejected = parts.gate.rejected();
  for (const auto& [reason, kinds] : parts.gate.rejected_kinds())
    status.rejected_kinds[reason].insert(kinds.begin(), kinds.end());
  return status;
}

}  // namespace starling::gossip
