#include "gossip/node/inputs.h"

#include <utility>

namespace starling::gossip {
namespace {

// How long a leaving node waits at most until its pairs are settled. Smaller: the mean of the fleet
// may change where much is lost. Larger: beside a neighbour that is silent a node stops later.
constexpr Duration kLeaveLimit = std::chrono::seconds(3);
// Passes the body of a message to the part that it concerns.
struct Hearing {
  NodeParts& node;
  Time now;
  const Envelope& from;
  Payload& payload;

  void operator()(OfMembers auto& body) const {
    node.membership.receive(now, from, std::move(body), node.outbox);
  }
  void operator()(Hello& hello) const {
    node.links.receive(now, from, hello, node.members, node.outbox);
  }
  void operator()(Bye& bye) const { node.links.receive(from, bye, node.outbox); }
  void operator()(Surveys& surveys) const {
    node.startup.receive(surveys, from, node.members, node.outbox);
  }
  void operator()(SnapshotRequest& request) const {
    node.membership.receive(now, from, Gossip{{{Record(request.self)}}}, node.outbox);
    if (node.trains() || node.startup.is_founding())
      node.donor.asked(now, from.sender, node.members, node.outbox);
  }
  void operator()(Snapshot& snapshot) const {
    node.startup.receive(now, snapshot, std::move(payload), from, node.members, node.outbox);
  }
  void operator()(Round& round) const {
    node.exchange.receive(now, from, round, std::move(payload), node.links, node.members,
                          node.outbox);
  }
  void operator()(Terms& terms) const {
    node.agreement.receive(from, terms, node.members, node.outbox);
    node.links.receive(from, terms);
  }
  void operator()(SettingChanges& changes) const {
    node.settings.receive(from, changes, node.training.progress().run().round, node.members,
                          node.outbox);
  }
  void operator()(Estimate& estimate) const {
    const Link* link = node.links.active(from.sender);
    if (!link || link->peer_incarnation != from.incarnation) return;
    const bool is_believed = node.exchange.means().receive(from.sender, estimate.round,
                                                           estimate.flow, estimate.estimate);
    if (Neighbor* neighbor = node.exchange.neighbors().find(from.sender))
      neighbor->hear_estimate(is_believed);
  }
  void operator()(Tally& tally) const {
    node.settlement.receive(now, from.sender, tally, std::move(payload), node.outbox);
  }
  void operator()(Misdirected& message) const {
    node.strays.receive(now, from.sender, message, node.membership.seeds(), node.outbox);
  }
};

// Passes an input to the part that it concerns.
struct Handling {
  NodeParts& node;
  Time now;

  void operator()(const Tick&) const {}
  void operator()(Received& received) const;
  void hear(Message& message) const;
  void operator()(Trained& trained) const;
  void operator()(const Refused& refused) const {
    node.membership.refused(now, refused, node.outbox);
    if (refused.of) node.exchange.neighbors().refused(*refused.of);
  }
  void operator()(const Unanswered& unanswered) const {
    node.membership.unanswered(now, unanswered, node.outbox);
  }
  void operator()(const KeyAsked& asked) const {
    node.membership.seeds().asked_for_key(asked.at, asked.is_answered);
  }
  void operator()(const Resolved& name) const { node.membership.resolved(now, name, node.outbox); }
  void operator()(const JoinCommand& command) const {
    node.membership.seeds().add(command.seed, true, now);
  }
  void operator()(const LeaveCommand&) const;
  void operator()(const RevokeCommand& command) const {
    node.membership.receive(now, Envelope{}, command.news, node.outbox);
  }
  void operator()(const PauseCommand&) const { node.training.want_pause(true); }
  void operator()(const ResumeCommand&) const { node.training.want_pause(false); }
  void operator()(const CheckpointCommand& command) const {
    command.fleet ? save_all(node, now) : node.saver.want();
  }
  void operator()(const StopCommand& command) const { node.run_end.order(command.at_round); }
  void operator()(const ConfigureCommand& command) const { configure(node, now, command); }
  void operator()(const Saved& saved) const { node.saver.saved(now, saved, node.outbox); }
};

void Handling::operator()(Received& received) const {
  const auto incarnation_of = [this](NodeId id) { return node.members.incarnation_of(id); };
  std::optional<Message> message = node.gate.admit(now, received, incarnation_of);
  node.gate.forget_strangers(node.members.others().size() + 1, incarnation_of);
  if (const auto part = node.gate.take_part()) {
    node.membership.heard_from(now, part->sender, part->incarnation, node.outbox);
    node.exchange.sessions().hear_part(now, *part);
    if (Neighbor* neighbor = node.exchange.neighbors().find(part->sender))
      neighbor->hear_part(now, part->bytes);
  }
  if (const auto sender = node.gate.take_oversized(); sender && sender == node.startup.donor())
    node.startup.hears_misfit(now, "it is larger than that of this node");
  if (const auto other = node.gate.take_other_version()) node.strays.note(now, *other);
  if (const auto stray = node.gate.take_stray()) node.strays.answer(now, *stray, node.outbox);
  if (!message) return;
  hear(*message);
  for (const std::string& reason : node.outbox.notary().take_refusals())
    node.gate.count(reason, kind_of(message->body).name);
}

void Handling::hear(Message& message) const {
  const Envelope& from = message.envelope;
  const bool is_misdirected = std::holds_alternative<Misdirected>(message.body);
  if (!is_misdirected && from.sender == node.members.self())
    return node.membership.hear_namesake(now, message.body, node.outbox);
  if (!is_misdirected) node.membership.heard_from(now, from.sender, from.incarnation, node.outbox);
  std::visit(Hearing{node, now, from, message.payload}, message.body);
}

void Handling::operator()(Trained& trained) const {
  optim::Done& done = trained.done;
  if (done.workload) learn_workload(node, now, *done.workload);
  donate(node, now, done);
  if (done.saved) node.saver.made(std::move(done.saved), node.outbox);
  if (node.trains())
    node.training.trained(now, std::move(done), node.outbox);
  else if (const std::string failure = node.startup.trained(now, done, node.outbox);
           !failure.empty())
    node.end(failure);
}

void Handling::operator()(const LeaveCommand&) const {
  if (node.exit.has_begun()) return;
  node.exit = {Exit::Stage::settles, now + kLeaveLimit};
  node.exchange.rest(true);
  node.exchange.sessions().close_all(now, node.outbox);
  node.links.close_all(node.outbox);
}

}  // namespace

void handle(NodeParts& node, Time now, Input& input) {
  std::visit(Handling{node, now}, input);
}

}  // namespace starling::gossip
