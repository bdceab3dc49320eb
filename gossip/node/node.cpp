#include "gossip/node/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/planted.h"
#include "base/prng.h"
#include "gossip/members/hold_up.h"
#include "gossip/members/look_alikes.h"
#include "gossip/members/wishes.h"
#include "gossip/node/coming_round.h"
#include "gossip/node/inputs.h"
#include "gossip/node/parts.h"

namespace starling::gossip {
namespace {

// The limit of a payload before the size of the model is known. Larger: peers can make this node
// hold more memory. Smaller: a newcomer refuses a large model that comes before its data are
// prepared.
constexpr std::size_t kUnknownModelBytesLimit = 64 << 20;

// The same for a relay, which learns the size of the model from the model.
constexpr std::size_t kRelayedModelBytesLimit = std::size_t{16} << 30;

// How long a leaving node, its pairs settled, waits for its last checkpoint. Larger: process
// managers kill before. Smaller: a large model on a slow disk loses the training since the last
// one.
constexpr Duration kLastSaveLimit = std::chrono::seconds(25);

bool is_alone(const NodeParts& parts, Time now) {
  return !is_relay(parts.options) && !parts.training.rest_reason(now).empty();
}

void reassign_data(NodeParts& parts) {
  if (PLANTED(share_kept)) return;
  parts.training.reassign(parts.share.deal(parts.neighborhood.sharing()));
  parts.dealt_view = parts.neighborhood.view();
}

// What keeps the node from averaging; empty: nothing known. What was wrong last counts: the
// neighbours may leave before this node ends.
std::string cause_of_solitude(NodeParts& parts, Time now) {
  std::vector<std::string> causes = parts.neighborhood.warnings();
  std::ranges::move(parts.exchange.neighbors().mute(now, parts.links, parts.members),
                    std::back_inserter(causes));
  return causes.empty() ? std::string() : causes.front();
}

// Once the training on which the model is judged is over, as data.refit says.
void refit(NodeParts& parts) {
  const RunStatus& run = parts.training.progress().run();
  if (!parts.trains() || !parts.run_end.refits(run.round, run.uncounted)) return;
  if (!parts.share.take_held_out()) return;
  reassign_data(parts);
  parts.outbox.event(Event::Kind::data,
                     fmt::format("the model is judged after round {}; {} rounds follow over all "
                                 "rows, those that were held out too (data.refit)",
                                 run.round, parts.run_end.refit_rounds()));
}

void sample(NodeParts& parts, Time now) {
  if (!parts.trains() || !parts.fleet.is_due(now)) return;
  const bool is_degraded = parts.state(now) == State::degraded;
  parts.fleet.sample(now, parts.training.progress(), parts.outbox.sent_bytes(), is_degraded);
  if (parts.exchange.neighbors().has_averaged())
    parts.alone.clear();
  else if (const std::string cause = cause_of_solitude(parts, now); !cause.empty())
    parts.alone = cause;
  if (parts.budget.follow(wished_steps(parts.members)))
    parts.outbox.event(Event::Kind::exchange,
                       fmt::format("from the next round on {}", parts.budget.steps_text()));
}

// Whether the node knows its neighbours and the present settings.
bool is_informed(const NodeParts& parts, Time now) {
  return !parts.has_news() && !parts.settings.is_behind(now);
}

// What new values of settings mean for other parts than the training.
void follow_settings(NodeParts& parts, Time now) {
  parts.settings.tick(now, parts.members, parts.outbox);
  if (parts.settings.take_new_topology()) parts.neighborhood.take(now, parts.options.topology);
  if (const auto round = parts.settings.take_new_goal()) parts.run_end.take_new_goal(*round);
}

}  // namespace

NodeParts::NodeParts(const Options& given, Time now, std::shared_ptr<const Checkpoint> resumed)
    : options(given),
      gate(stable_hash(given.cluster), node_id(given.name), given.records),
      outbox(stable_hash(given.cluster), node_id(given.name), given.incarnation, given.credentials),
      membership(options, outbox.notary(), now),
      agreement(given),
      settings(options, resumed ? resumed->changes : std::vector<SettingChange>()),
      links(options, resumed ? resumed->exchange.edges : std::vector<KeptEdge>()),
      exchange(options, resumed ? resumed->exchange : KeptExchange()),
      life(now),
      share(node_id(given.name)),
      startup(options, now, life, share, resumed),
      strays(given),
      saver(options.checkpoint, now),
      training(options, {members, life, exchange, links, donor, saver, budget, run_end, settlement,
                         settings}),
      fleet(given, exchange.means(), membership.extremes()),
      neighborhood(given.topology) {
  gate.set_payload_limit(is_relay(options) ? kRelayedModelBytesLimit : kUnknownModelBytesLimit);
  if (!resumed) return;
  before = *resumed;
  before->state = nullptr;  // the trainer has it, and it is large
}

Node::Node(const Options& options, Time now, std::shared_ptr<const Checkpoint> before)
    : parts_(std::make_unique<NodeParts>(options, now, std::move(before))) {}
Node::~Node() = default;

void Node::step(Time now, Input input, Outputs& out) {
  NodeParts& parts = *parts_;
  const auto is_gone = [&parts] { return parts.exit.stage == Exit::Stage::gone; };
  if (is_gone()) return;
  const std::size_t before = out.size();
  parts.outbox.begin(out);
  if (parts.membership.awake(now)) parts.exchange.waits().was_away();
  handle(parts, now, input);
  if (is_gone()) return;
  if (!parts.membership.identity().defeat().empty())
    parts.end(parts.membership.identity().defeat());
  else if (parts.exit.has_begun())
    parts.leave(now);
  else
    parts.settle(now);
  if (!is_gone() && !is_hidden(parts.members.own()))
    connections_.follow(now, std::span(out).subspan(before), parts.outbox);
}

Time Node::deadline() const {
  const NodeParts& parts = *parts_;
  if (parts.exit.stage == Exit::Stage::gone) return kNever;
  const Time exchange = parts.exchange.next_tick();
  if (parts.exit.has_begun())
    return std::min({parts.exit.until, parts.membership.deadline(), exchange});
  const Time follow = parts.has_news() ? parts.neighborhood.next() : kNever;
  return std::min({parts.membership.deadline(), parts.agreement.deadline(parts.members),
                   parts.settings.deadline(), parts.links.deadline(), parts.startup.deadline(),
                   parts.donor.deadline(), exchange, follow, parts.training.deadline(),
                   parts.settlement.deadline()});
}

// Waits for the last vectors in both directions, so that no pair is averaged at one end only, which
// would change the mean of the remaining nodes.
void NodeParts::leave(Time now) {
  gate.tick(now);
  membership.tick(now, outbox);
  exchange.links_changed(now, links, members, outbox);
  exchange.tick(now, links, outbox);
  if (exit.stage == Exit::Stage::settles) {
    if (!training.closing().wind_up(outbox) && now < exit.until) return;
    exit = {Exit::Stage::saves, now + kLastSaveLimit};
    // The job that copies the state takes steps too, and its trainer may stand still.
    if (saver.is_busy() && !life.is_free()) outbox.put(EndSteps{});
  }
  saver.tick(now, outbox);
  training.save_last(now, outbox);
  if (saver.is_busy() && now < exit.until) return;
  membership.leave(outbox);
  end({});
}

void NodeParts::end(const std::string& error) {
  exit.stage = Exit::Stage::gone;
  outbox.put(Stopped{error});
}

void learn_workload(NodeParts& parts, Time now, const optim::Workload& workload) {
  parts.training.progress().set_workload(workload);
  for (const std::string& note : workload.notes)
    if (std::ranges::find(parts.data_notes, note) == parts.data_notes.end())
      parts.outbox.event(Event::Kind::data, note);
  parts.data_notes = workload.notes;
  if (workload.payload_bytes > 0)
    parts.gate.set_payload_limit(std::max(workload.payload_bytes, workload.snapshot_bytes));
  parts.gate.set_buffers(workload.vector_bytes, workload.take_buffer);
  if (parts.was_ready && workload.schema_hash != 0)
    parts.links.open(now, workload.schema_hash, workload.schema);
}

void donate(NodeParts& parts, Time now, optim::Done& done) {
  if (done.snapshot.empty()) return;
  const std::uint64_t round =
      done.round - std::min(done.round, parts.training.progress().run().uncounted + 1);
  parts.donor.made(now, round, std::move(done.snapshot), parts.startup.workload().foundation,
                   parts.members, parts.outbox);
}

void NodeParts::settle(Time now) {
  gate.tick(now);
  if (const auto id = startup.donor())
    if (const auto chunk = gate.last_chunk(*id)) startup.search().hears_chunk(*chunk);
  startup.tick(now, membership, outbox);
  donor.tick(now);
  if (life.has_come_to<phases::Ready>()) become_ready(now);
  membership.set_self(report());
  membership.tick(now, outbox);
  agreement.tick(now, members, outbox);
  follow_settings(*this, now);
  if (has_news() && neighborhood.is_due(now, members)) follow_members(now);
  training.masks().follow(members, neighborhood.status().sites.get());
  links.tick(now, outbox);
  if (is_informed(*this, now) && startup.may_begin(now, members, links)) start_training(now);
  exchange.links_changed(now, links, members, outbox);
  end_watch.tick(now, outbox);
  refit(*this);
  sample(*this, now);
  fleet.sends().add(now, outbox.sent_bytes());
  const std::vector<NodeId> doubted = exchange.tick(now, links, outbox);
  for (NodeId peer : exchange.sessions().take_broken())
    links.restart(now, peer, "the counts of vectors at its ends differ", Duration{}, outbox);
  // In slices a round needs all members of the graph.
  if (!options.schedule->is_in_slices)
    for (const Neighbors::Barred& edge : exchange.neighbors().take_barred())
      links.restart(now, edge.peer, edge.reason, edge.pause, outbox);
  startup.want_snapshot(donor, outbox);
  saver.tick(now, outbox);
  if (trains()) training.follow(members);
  settlement.tick(now, outbox);
  training.advance(now, outbox);
  for (NodeId slow : doubted) {
    membership.doubt(now, slow);
    if (links.active(slow)) outbox.put(ConnectProbe{slow});
  }
}

// The startup is ready, for the first time or after it adopted another node's model.
void NodeParts::become_ready(Time now) {
  if (!std::exchange(was_ready, true)) {
    links.open(now, startup.workload().schema_hash, startup.workload().schema);
    neighborhood.restart(now);
  }
  // With another node's model, the remembered edges have no meaning.
  if (!before || startup.is_resumed()) return;
  links.forget(now, true);
  before.reset();
}

// A resumed node reports the round of its earlier life, so that newcomers ask it for its model.
Report NodeParts::report() {
  const RunStatus& run = training.progress().run();
  const bool is_training = phase() == Phase::training;
  return {.phase = phase(),
          .round = phase() == Phase::resumed ? startup.round() : run.round,
          .loss = run.loss,
          .norm = amount_bits(run.norm),
          .saved = saver.status().round.value_or(0),
          .save_at = saver.agreed_round(),
          .changes = settings.hash(),
          .end_at = trains() ? run_end.vote(run.uncounted) : 0,
          .samples = asks(options.goal, JudgedBy::samples) ? run.samples : 0,
          .accuracy = run_end.told_accuracy(run.evaluation),
          .held_out_loss = run_end.told_loss(run.evaluation),
          .sealed = settlement.sealed(),
          .held = is_training ? exchange.waits().hold_ups().held() : Held{},
          .wished_steps = is_training ? budget.wished_steps() : 0};
}

void NodeParts::start_training(Time now) {
  const std::uint64_t round = startup.round();
  outbox.event(Event::Kind::started,
               round > 0 ? fmt::format("training from round {}", round) : "training");
  links.forget(now, false);
  // Members may have come or gone since the startup dealt the data.
  if (neighborhood.view() != 0 && !share.is_among(neighborhood.sharing())) reassign_data(*this);
  end_watch.begin(now, round);
  const auto& from = startup.search().donor();
  if (from && round > 0 && !startup.is_resumed()) exchange.rounds().begin_with_model_of(*from);
  training.start(now, round, outbox, before ? &*before : nullptr);
  before.reset();
}

void configure(NodeParts& parts, Time now, const ConfigureCommand& command) {
  const TrainingProgress& progress = parts.training.progress();
  const std::uint64_t own = progress.run().round;
  const std::uint64_t soon =
      coming_round(parts.members, own, progress.rounds_per_s(now), parts.options.timing);
  parts.settings.set(command, own, soon, parts.members, parts.outbox);
}

// Agrees on a round far enough ahead for all nodes to know of it in time, but not beyond the goal:
// nodes save at the end anyway.
void save_all(NodeParts& parts, Time now) {
  const TrainingProgress& progress = parts.training.progress();
  const std::uint64_t own = progress.run().round, furthest = furthest_round(parts.members, own);
  if (parts.life.has_come_to<phases::Ending>()) return parts.saver.agree(now, furthest);
  const std::uint64_t target =
      coming_round(parts.members, own, progress.rounds_per_s(now), parts.options.timing);
  const auto last = parts.options.goal.last_round(progress.run().uncounted);
  parts.saver.agree(now, last ? std::min(target, std::max(*last, furthest)) : target);
}

void NodeParts::follow_members(Time now) {
  saver.hear(now, members, training.progress().run().round);
  saver.set_fleet(startup.workload().foundation, members.present_count() - relay_count(members));
  if (!neighborhood.follow(now, members)) gate.count("topology", "members");
  // Otherwise the peers learn only by gossip that this node is ready, and answer no hello until
  // then.
  if (!std::exchange(was_introduced, true))
    for (const WantedEdge& edge : neighborhood.wanted())
      if (members.find(edge.peer)) outbox.send(edge.peer, Gossip{{{members.own_record()}}});
  if (startup.is_founding()) links.tell_view(now, neighborhood.view(), outbox);
  links.want(now, neighborhood.wanted(), members, outbox);
  gate.set_senders(links.all().size());
  links.take(Places(neighborhood.status().sites.get(), neighborhood.turns()));
  exchange.links_changed(now, links, members, outbox);
  if (trains() && dealt_view != neighborhood.view()) reassign_data(*this);
}

State NodeParts::state(Time now) const {
  if (exit.has_begun()) return State::leaving;
  if (!trains()) return membership.search().seeds().empty() ? State::starting : State::joining;
  if (life.row().state != State::training) return life.row().state;
  const bool is_well = !training.progress().run().problem && !membership.identity().namesake() &&
                       saver.status().problem.empty() && !is_alone(*this, now);
  return is_well ? State::training : State::degraded;
}

FleetStatus Node::fleet(Time now) const {
  return parts_->fleet.status(now);
}

const Roster& Node::members() const {
  return parts_->members;
}

std::vector<std::string> Node::warnings(Time now) const {
  const NodeParts& parts = *parts_;
  std::vector<std::string> warnings;
  if (const auto& problem = parts.training.progress().run().problem) warnings.push_back(*problem);
  if (const std::string& problem = parts.saver.status().problem; !problem.empty())
    warnings.push_back(fmt::format("no checkpoint: {}; trains on, and tries again", problem));
  const Identity& identity = parts.membership.identity();
  if (identity.is_contested())
    warnings.push_back(fmt::format("waiting until {}, which has this name, is dead",
                                   located("the node", identity.contested_by())));
  if (const auto namesake = identity.namesake())
    warnings.push_back(
        fmt::format("{} runs under this node's name", located("another node", *namesake)));
  const auto add = [&warnings](std::vector<std::string> more) {
    std::ranges::move(more, std::back_inserter(warnings));
  };
  if (is_relay(parts.options) && founders(parts.members).empty())
    warnings.emplace_back(
        "no member has data: all are relays (node.role), which learn nothing; start a node with "
        "data");
  add(parts.startup.warnings(now));
  add(parts.membership.warnings(now));
  add(parts.neighborhood.warnings());
  add(parts_->exchange.neighbors().warnings(parts.links));
  add(parts_->exchange.neighbors().mute(now, parts.links, parts.members));
  if (std::string alike = look_alikes(parts.members); !alike.empty())
    warnings.push_back(std::move(alike));
  add(parts.strays.warnings(now));
  add(parts.agreement.warnings());
  add({parts.settings.warning()});
  add(parts.links.refusals());
  if (parts.phase() == Phase::training)
    add({parts.training.masks().reason(), parts.training.progress().drift()});
  for (const auto& [kind, count] : parts.outbox.unsendable())
    warnings.push_back(fmt::format(
        "{} {} messages were beyond a limit of the protocol and not sent", count, kind));
  std::erase(warnings, "");
  return warnings;
}

// Behind the end of a run the estimate lags.
static std::optional<double> consensus_distance(const NodeParts& parts) {
  return parts.settlement.sealed() != 0 ? 0 : parts.training.progress().consensus_distance();
}

Status Node::status(Time now) const {
  const NodeParts& parts = *parts_;
  const TrainingProgress& progress = parts.training.progress();
  Status status;
  status.state = parts.state(now);
  if (!parts.trains()) status.reasons.push_back(parts.startup.reason());
  if (status.state == State::paused)
    status.reasons.push_back(fmt::format("paused after round {}", progress.run().round));
  const auto add = [&status](std::string reason) {
    const bool is_new = std::ranges::find(status.reasons, reason) == status.reasons.end();
    if (is_new && !reason.empty()) status.reasons.push_back(std::move(reason));
  };
  status.warnings = warnings(now);
  for (const std::string& warning : status.warnings) add(warning);
  status.is_alone = is_alone(parts, now);
  add(parts.training.rest_reason(now));
  add(progress.run().preparation.idle);
  add(parts.settlement.reason());
  add(parts.agreement.remainder());
  add(parts.membership.health());
  status.hold_up = hold_up_among(parts.members.present());
  if (status.hold_up) add(text_of(*status.hold_up, parts.members.self()));
  parts.exchange.describe(now, parts.links, parts.budget, status);
  status.checkpoint = parts.saver.status();
  status.settings = parts.settings.status();
  status.algorithm = parts.options.algorithm;
  status.schedule = parts.options.schedule->name;
  status.codec = parts.options.codec;
  status.run = progress.run();
  status.run.is_idle = parts.trains() && progress.is_idle(now);
  // Before its checkpoint is read, a node that comes back does not know what it has spent.
  if (!parts.life.has_come_to<phases::Ready>()) status.run.privacy.reset();
  status.run.local_steps_reason = parts.budget.steps_reason();
  if (const std::string pace = parts.training.pace().reason(); !pace.empty())
    status.run.local_steps_reason += (status.run.local_steps_reason.empty() ? "" : "; ") + pace;
  status.run.codec.reason = parts.budget.encoding_reason();
  if (parts.trains()) status.run.end = parts.end_watch.status(now);
  status.consensus_distance = consensus_distance(parts);
  status.members = parts.members.status(now);
  status.fleet = parts.fleet.status(now);
  status.alone = parts.alone;
  for (const EdgeStatus& edge : status.edges)
    if (edge.distance)
      status.neighbor_distance = std::max(status.neighbor_distance.value_or(0), *edge.distance);
  status.topology = parts.neighborhood.status();
  status.sent_bytes = parts.outbox.sent_bytes();
  status.sent_per_s = parts.fleet.sends().mean();
  status.sent_most_per_s = parts.fleet.sends().most();
  status.received_bytes = parts.gate.received_bytes();
  status.compute = progress.compute();
  status.evaluation = progress.evaluation();
  status.mix = progress.mix();
  const Duration measured = status.compute + status.mix + status.wait;
  status.other = std::max(Duration::zero(), progress.lived() - measured);
  status.rejected = parts.gate.rejected();
  for (const auto& [reason, kinds] : parts.gate.rejected_kinds())
    status.rejected_kinds[reason].insert(kinds.begin(), kinds.end());
  return status;
}

}  // namespace starling::gossip
