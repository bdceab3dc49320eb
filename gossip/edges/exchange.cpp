#include "gossip/edges/exchange.h"

#include <fmt/core.h>

#include <utility>

#include "gossip/edges/round_check.h"

namespace starling::gossip {
namespace {

// The reason for the status if this node spends most of its time waiting for the network; else
// empty. `bytes`: the size of a vector.
std::string network_reason(const WaitMeter& waits, const std::vector<EdgeStatus>& edges,
                           std::size_t bytes) {
  constexpr double kMostly = 0.5, kWorthSaying = 0.005;
  const NetworkShare& share = waits.network_share();
  if (share.value() < kMostly || share.per_round() < kWorthSaying) return {};
  const auto edge = std::ranges::find(edges, waits.slowest(), &EdgeStatus::id);
  if (edge == edges.end()) return {};
  return fmt::format(
      "waits for the network {:.0f} % of the time: {:.3g} MB a round over {:.3g} MB/s from {}",
      100 * share.value(), static_cast<double>(bytes) / 1e6, edge->receive_rate / 1e6, edge->name);
}

// Records that the peer's message is of a newer round than all before. `offered`: the round of this
// node's last offer.
void hear_round(Time now, const LateRules& rules, std::uint64_t offered, Neighbor& neighbor,
                std::uint64_t round) {
  std::optional<Duration> waited;
  if (neighbor.offered_edge != 0 && round >= offered) waited = now - neighbor.offered;
  rules.measure(now, round - neighbor.round, waited, neighbor.patience);
  neighbor.hear(now, round);
}

// Adds the edges that lead to a peer.
void add_ways_out(const Links& links, const Neighbors& neighbors, optim::Job& job) {
  for (const auto& [peer, link] : links.all())
    if (link.active && link.wanted.out && !neighbors.has_finished(peer))
      job.offer_to.push_back({.edge = link.edge_id()});
}

}  // namespace

Exchange::Exchange(const Options& options, const KeptExchange& before)
    : options_(options),
      scheduler_(options.schedule->make(options)),
      rounds_(scheduler_->rules().rounds_in_step, options.timing.patience_least,
              options.needs.liars),
      offering_{.path = before.path, .path_before = before.path, .sent_path = before.sent_path},
      neighbors_(options.timing),
      sessions_({.is_kept = options.needs.in_order, .a_round = scheduler_->rules().vectors}),
      mixing_(node_id(options.name), options.needs.mixing_share) {}

void Exchange::renew() {
  scheduler_ = options_.schedule->make(options_);
  const Scheduler::Rules& rules = scheduler_->rules();
  rounds_.relate(rules.rounds_in_step, options_.needs.liars);
  sessions_.renew({.is_kept = options_.needs.in_order, .a_round = rules.vectors});
  for (const auto& [peer, neighbor] : neighbors_.all())
    neighbors_.find(peer)->begin_anew(offering_.path);
  mixing_ = MixingMeter(node_id(options_.name), options_.needs.mixing_share);
  offering_ = {.path = offering_.path,
               .path_before = offering_.path,
               .sent_path = offering_.path,
               .state = offering_.state};
}

void Exchange::links_changed(Time now, const Links& links, const Roster& members, Outbox& out) {
  if (!neighbors_.follow(links, members)) return;
  sessions_.follow(now, links, members, out);
  means_.keep([&](NodeId peer) { return links.all().contains(peer); });
  if (offering_.vector.round > 0 && scheduler_->offers_late()) greet(now, links, out);
}

// Offers to the neighbours whose edge opened after the offer of this round. Vectors that are paired
// go with the next offer.
void Exchange::greet(Time now, const Links& links, Outbox& out) {
  for (const EdgeView& edge : neighbors_.views(links, sessions_)) {
    if (edge.was_offered) continue;
    const Link& link = *links.active(edge.peer);
    neighbors_.meet(edge.peer, offering_.path);
    if (!link.is_paired) send_offer(now, link, out);
  }
}

Wait Exchange::wait(const Links& links) const {
  CurrentRound current = waits_.current(offering_.vector.round);
  current.rounds_a_turn = rounds_.rounds_a_turn();
  return {*scheduler_, current, neighbors_.views(links, sessions_)};
}

// ---------------------------------------------------------------- a round

void Exchange::offer(Time now, optim::Done& done, const Links& links, Outbox& out) {
  const Scheduler::Rules& rules = scheduler_->rules();
  rounds_.set_rounds_a_turn(rounds_a_turn(links.places().turns()));
  const Duration unmeasured = unmeasured_patience(waits_.rounds(), rounds_.has_joined());
  neighbors_.begin_round(now, rounds_.round(), turns_in(links.places().turns(), rounds_.round()),
                         unmeasured);
  const std::vector<EdgeView> edges = neighbors_.views(links, sessions_);
  if (rules.joins_furthest) {
    const std::uint64_t round = std::max(rounds_.round(), rounds_.follow(now, edges));
    rounds_.go_to(now, round, neighbors_.pace(waits_.rounds()));
  }
  const std::uint64_t round = rounds_.round();
  // Edges that are not open yet count too: the shares of a round must add up to less than one.
  const auto is_incoming = [](const auto& item) { return item.second.wanted.in; };
  const auto degree = std::ranges::count_if(links.all(), is_incoming);
  if (!options_.needs.overlaps) offering_.stepped(done.stats.path);
  offering_.begin(round, done, static_cast<std::size_t>(degree), mixing_.begin(round));
  waits_.begin(now);
  means_.plan(now + options_.timing.period);
  means_.begin_round(round);
  means_.update();
  // An edge that opens after this offer carries no vector of this round. The answer to a request
  // over it says that this node skips the round, and the peer stops waiting.
  if (rules.by_round) sessions_.skip(round);
  for (const NodeId peer : scheduler_->choose(edges)) {
    send_offer(now, *links.active(peer), out);
    Neighbor& neighbor = *neighbors_.find(peer);
    neighbor.offered = now;
    if (neighbor.round >= round) neighbor.patience.answered({});
  }
}

std::optional<optim::Job> Exchange::begin_answer(Time now, const Links& links,
                                                 const ExchangeBudget& budget) {
  if (!scheduler_->rules().answers) return std::nullopt;
  offering_.answers = scheduler_->answers(neighbors_.views(links, sessions_), offering_.state,
                                          outcome(now, links) != Outcome::open);
  if (offering_.answers.empty()) return std::nullopt;
  if (std::exchange(offering_.state.is_unanswered, false)) waits_.interrupt(now);
  optim::Job job;
  job.round = rounds_.round();
  job.absorb = job.between = job.offer = true;
  job.mix = take_pairs();
  write_edges(job, links, budget);
  return job;
}

void Exchange::answer(Time now, optim::Done& done, const Links& links, Outbox& out) {
  offering_.take(done, mixing_.end());
  for (const NodeId peer : std::exchange(offering_.answers, {}))
    if (const Link* link = links.active(peer)) send_offer(now, *link, out);
}

// An edge that skips the round now skips it later too. The other edges may still skip it.
void Exchange::write_edges(optim::Job& job, const Links& links,
                           const ExchangeBudget& budget) const {
  job.ending = sessions_.ending();
  for (const auto& [peer, link] : links.all())
    if (link.active)
      (neighbors_.has_finished(peer) ? job.ending : job.edges).push_back(link.edge_id());
  if (!job.offer) return;
  if (options_.needs.sums) add_ways_out(links, neighbors_, job);
  if (!options_.needs.in_order) return;
  const std::uint64_t round = rounds_.round();
  const auto gets_it = [&](const EdgeView& edge) {
    if (neighbors_.has_finished(edge.peer)) return false;
    if (job.between)
      return std::ranges::find(offering_.answers, edge.peer) != offering_.answers.end();
    return scheduler_->offers_over(edge, round);
  };
  const NodeId self = node_id(options_.name);
  const RoundTurns turns = turns_in(links.places().turns(), round);
  for (EdgeView& edge : neighbors_.views(links, sessions_)) {
    take_turn(edge, turns);
    const Link& link = *links.active(edge.peer);
    const auto number = gets_it(edge) ? sessions_.next_number(link) : std::nullopt;
    if (!number) continue;
    job.offer_to.push_back({link.edge_id(), *number, budget.shortening(edge.peer)});
    if (scheduler_->rules().vectors > 1)
      job.offer_to.back().slot = links.places().slot(round, self, edge.peer);
  }
}

Outcome Exchange::outcome(Time now, const Links& links) const {
  const Wait wait = this->wait(links);
  if (!scheduler_->may_finish(now, wait.current, wait.edges)) return Outcome::open;
  return wait.hears_any(now) ? Outcome::heard : Outcome::unheard;
}

Time Exchange::deadline(const Links& links) const {
  const Wait wait = this->wait(links);
  return scheduler_->deadline(wait.current, wait.edges);
}

bool Exchange::is_led(const Links& links, const Roster& members) const {
  std::vector<EdgeView> leaders = neighbors_.views(links, sessions_);
  const auto has_data = [&](const EdgeView& view) {
    const Member* member = members.find(view.peer);
    return member && !is_relay(*member);
  };
  const auto has_come = [&](const EdgeView& view) { return view.round >= rounds_.round(); };
  const bool are_trainers = std::ranges::any_of(leaders, has_data);
  std::erase_if(leaders, [&](const EdgeView& view) {
    return !view.in || view.is_late || view.rests || (are_trainers && !has_data(view));
  });
  if (leaders.empty()) return false;
  if (are_trainers && std::ranges::any_of(leaders, has_come)) return true;
  return std::ranges::all_of(leaders,
                             [&](const EdgeView& view) { return view.has_news || has_come(view); });
}

// Splits the wait: the transit time of the last vector counts as waiting for the network, the rest
// as waiting for its sender.
std::vector<optim::MixTerm> Exchange::finish_round(Time now, const Links& links, Outbox& out) {
  const Wait wait = this->wait(links);
  const std::optional<NodeId> given_up = neighbors_.end_round(now, wait, links);
  const WaitMeter::Last last = neighbors_.last_come(waits_.since(), links);
  const Link* link = links.active(last.from);
  out.put(Span{Span::Kind::wait, waits_.since(), now, link ? link->name : std::string(),
               offering_.vector.round});
  waits_.end(now, last, given_up);
  sessions_.go_on(now);
  std::vector<optim::MixTerm> terms = take_pairs();
  take_newest(links, terms);
  // Sessions keep the vectors that they may retransmit. If rounds are in step, only neighbours on
  // new edges without pairs are sent this vector again before the next offer.
  const auto is_paired = [](const auto& item) { return item.second.is_paired; };
  if (scheduler_->rules().by_round && !links.all().empty() &&
      std::ranges::all_of(links.all(), is_paired))
    offering_.vector.payload = {};
  mixing_.end();
  neighbors_.tell_first(rounds_.round(), links, out);
  CurrentRound ended = wait.current;
  ended.round = rounds_.round();
  const std::uint64_t next = scheduler_->next_round(ended, rounds_.follow(now, wait.edges));
  rounds_.go_to(now, next, neighbors_.pace(waits_.rounds()));
  return terms;
}

std::vector<optim::MixTerm> Exchange::take_pairs() {
  const Scheduler::Rules& rules = scheduler_->rules();
  std::vector<optim::MixTerm> terms;
  for (Sessions::Mixable& item : sessions_.take()) {
    // Both ends know the rounds of the pair, so both leave the pair out.
    EdgeLedger::Pair& pair = item.pair;
    const bool is_left_out = rules.same_round_pairs && pair.own.round != pair.theirs.round;
    if (is_left_out && !options_.needs.in_order) continue;
    const double weight = is_left_out ? 0 : pair.weight();
    if (Neighbor* neighbor = neighbors_.find(item.peer)) {
      neighbor->status.weight = weight;
      neighbor->refusals.take();
      // A node behind which a quorum went on spans more rounds with a vector than the others.
      const bool are_comparable = options_.local_steps.is_equal() && !mixes_rounds(options_);
      if (pair.own.round == pair.theirs.round && are_comparable)
        neighbor->rates.take(pair.own.span, pair.theirs.span);
    }
    if (pair.number % rules.vectors == 0)
      mixing_.mix(weight, {pair.own.round, pair.own.probe}, {pair.theirs.round, pair.theirs.probe});
    terms.push_back({.peer = item.peer,
                     .weight = weight,
                     .theirs = std::move(pair.theirs.payload),
                     .own = std::move(pair.own.payload),
                     .edge = item.edge,
                     .span = pair.span(),
                     .number = pair.number,
                     .theta = is_left_out ? 0 : pair.theta(),
                     .reach = pair.reach()});
  }
  return terms;
}

// Adds the terms of the edges whose vectors are not paired.
void Exchange::take_newest(const Links& links, std::vector<optim::MixTerm>& terms) {
  struct Item {
    const Link* link;
    Neighbor* neighbor;
    HeardVector* vector;
    EdgeView view;
  };
  const std::uint64_t round = offering_.vector.round;
  const auto rules = NewestStream::rules_of(options_, scheduler_->rules().by_round);
  std::vector<Item> items;
  for (const auto& [peer, link] : links.all()) {
    Neighbor* neighbor = neighbors_.find(peer);
    if (!link.active || link.is_paired || !neighbor) continue;
    const EdgeView view = neighbors_.view(link, sessions_);
    if (!view.in || !view.in_round) continue;
    HeardVector* vector = neighbor->newest.vector_for(round, rules);
    if (vector && !vector->payload.empty()) items.push_back({&link, neighbor, vector, view});
  }
  // Edges that opened since the offer make more terms than the offer counted: the shares must still
  // add up to less than one.
  const std::size_t degree = std::max(offering_.degree, items.size());
  for (const auto& [link, neighbor, vector, view] : items) {
    const double share = scheduler_->share(view, degree);
    neighbor->status.weight = std::min(share, vector->share);
    neighbor->refusals.take();
    vector->is_taken = true;
    mixing_.mix(neighbor->status.weight, {round, offering_.vector.probe},
                {vector->round, vector->probe});
    terms.push_back({link->wanted.peer, neighbor->status.weight, vector->payload,
                     offering_.vector.payload, link->edge_id()});
  }
}

void Exchange::rest(bool is_resting) {
  offering_.state.is_resting = is_resting;
  if (is_resting) means_.rest();
}

std::vector<NodeId> Exchange::tick(Time now, const Links& links, Outbox& out) {
  std::vector<NodeId> doubted;
  sessions_.tick(now, out);
  if (now >= neighbors_.deadline()) doubted = neighbors_.tick(now, wait(links), links, out);
  means_.tell(now, options_.timing.period, offering_.state.is_resting ? 0 : offering_.vector.round,
              links, out);
  return doubted;
}

// ---------------------------------------------------------------- messages to neighbours

void Exchange::send_offer(Time now, const Link& link, Outbox& out) {
  const NodeId peer = link.wanted.peer;
  Neighbor& neighbor = neighbors_.meet(peer, offering_.path_before);
  EdgeVector vector =
      offering_.vector_for(link, neighbor, neighbors_.view(link, sessions_), *scheduler_);
  Payload payload = vector.payload;
  Round message;
  message.epoch = link.epoch;
  const double span = vector.span;
  message.terms() = vector.terms();
  means_.write(now, options_.timing.period, peer, payload.size(), message);
  if (const optim::EdgeOffer* own = offering_.offer_of(link)) {
    neighbor.status.codec_quality = own->quality;
    neighbor.unshortened = own->unshortened;
  }
  message.sent = stamp_of(now);
  message.rate = std::min(static_cast<std::uint64_t>(neighbor.meter.rate()), kRoundLimit);
  if (link.is_paired) {
    if (!offer_pair(now, link, neighbor, std::move(vector), message)) payload = {};
  } else {
    neighbor.newest.offer(link, std::move(vector), message);
    neighbors_.expect(now, link, neighbor);
  }
  if (!payload.empty()) offering_.sent(neighbor, span);
  neighbor.status.sent_bytes += payload.size();
  neighbor.offered_edge = link.edge_id();
  neighbor.offered_out = link.wanted.out;
  if (neighbor.first_offered == Time{}) neighbor.first_offered = now;
  out.send(link.wanted.peer, std::move(message), payload);
}

// Returns whether the edge takes a vector in this round.
bool Exchange::offer_pair(Time now, const Link& link, const Neighbor& neighbor, EdgeVector vector,
                          Round& message) {
  const Timing& timing = options_.timing;
  const EdgeView view = neighbors_.view(link, sessions_);
  const Sessions::Waits waits{
      scheduler_->usual(view, neighbor.patience),
      2 * neighbor.patience.doubt(timing.doubt_least, timing.patience_initial),
      link.wanted.in && view.round < vector.round && scheduler_->waits_for_round(view)};
  // An edge that opened after the job began has no vector to send.
  const bool is_stale = vector.number != 0 && sessions_.next_number(link) != vector.number;
  const bool skips = (link.wanted.out && vector.payload.empty()) || is_stale ||
                     scheduler_->skips_round(view, vector.round);
  return sessions_.offer(now, link, std::move(vector), skips, waits, message);
}

// ---------------------------------------------------------------- messages from neighbours

void Exchange::receive(Time now, const Envelope& from, const Round& message, Payload payload,
                       const Links& links, const Roster& members, Outbox& out) {
  const RoundCheck check{rounds_, waits_.rounds(), neighbors_, members, options_.needs.liars};
  if (!check.accepts(now, from.sender, message.round)) return;
  const std::size_t bytes = payload.size();
  auto heard = Sessions::Heard::fresh;
  if (message.echo != 0) heard = hear_pairs(now, from, message, std::move(payload), links, out);
  const auto found = links.all().find(from.sender);
  if (found == links.all().end()) return;
  const Link& link = found->second;
  Neighbor& neighbor = neighbors_.meet(from.sender, offering_.path);
  neighbor.status.received_bytes += bytes;
  // The peer's end may be active a moment before this one, so its epoch counts, not link.active.
  if (!link.carries(from, message)) {
    if (heard == Sessions::Heard::foreign || message.echo == 0)
      ++neighbor.status.rejected["closed edge"];
    return;
  }
  neighbor.measure(now, link, message, bytes, out);
  if (message.echo == 0 && link.active)
    neighbor.status.sent_bytes += neighbor.newest.hear(now, link, message, out);
  if (message.round == 0) return;  // only an acknowledgement or a request
  const bool is_new = message.round > neighbor.round;
  if (heard == Sessions::Heard::known || (message.echo == 0 && !is_new))
    ++neighbor.status.rejected["repeated"];
  if (!is_new) return;
  hear_round(now, *scheduler_, offering_.vector.round, neighbor, message.round);
  neighbor.hear_estimate(
      means_.receive(from.sender, message.round, message.flow, message.estimate));
  if (message.echo == 0) neighbor.newest.receive({message.terms(), std::move(payload)});
}

// Takes a message of paired vectors into the session of the edge.
Sessions::Heard Exchange::hear_pairs(Time now, const Envelope& from, const Round& message,
                                     Payload payload, const Links& links, Outbox& out) {
  // No offer follows the peer's answer, so the session acknowledges the answer at once.
  const bool is_answer = scheduler_->is_answered_by(sessions_.pairs(from.sender));
  const Sessions::Heard heard = sessions_.receive(now, from, message, std::move(payload), links,
                                                  offering_.state.is_resting || is_answer, out);
  const Neighbor* neighbor = neighbors_.find(from.sender);
  const bool was_offered = neighbor && neighbor->offered > Time{};
  if (is_answer && was_offered && !sessions_.pairs(from.sender).is_waiting)
    waits_.answered(now - neighbor->offered);
  return heard;
}

// ---------------------------------------------------------------- status

void Exchange::note(Time now, const optim::Done& done) {
  waits_.worked(now);
  neighbors_.note(done);
  if (options_.needs.overlaps && done.stats.path > 0) offering_.stepped(done.stats.path);
  // Vectors encoded against earlier ones cannot be decoded if one of these is missing.
  if (options_.needs.in_order)
    for (const optim::Rejection& item : done.rejections)
      if (!item.is_known) sessions_.reject(now, item.peer);
}

// For unpaired vectors the ends need to agree on the round only.
KeptExchange Exchange::memory(const Links& links) const {
  KeptExchange memory{.path = offering_.path, .sent_path = offering_.sent_path};
  const NodeId self = node_id(options_.name);
  for (const auto& [peer, link] : links.all())
    if (link.active)
      memory.edges.push_back(
          link.kept(self, link.is_paired ? sessions_.taken(peer) : rounds_.round()));
  return memory;
}

void Exchange::describe(Time now, const Links& links, const ExchangeBudget& budget,
                        Status& status) const {
  status.edges = neighbors_.statuses(rounds_.round(), links, sessions_);
  for (EdgeStatus& edge : status.edges) edge.encoding = budget.encoding(edge.id);
  status.unsettled_edges = sessions_.unsettled();
  status.late_edges = sessions_.late();
  status.abandoned_edges = sessions_.abandoned();
  status.wait = waits_.waited();
  if (options_.needs.mixing_share > 0) status.mixing_rate = mixing_.rate();
  status.network_wait = waits_.waited_for_network();
  add_reasons(now, links, status);
}

void Exchange::add_reasons(Time now, const Links& links, Status& status) const {
  std::string network = network_reason(waits_, status.edges, offering_.vector_bytes());
  if (!network.empty()) status.reasons.push_back(std::move(network));
  const Wait wait = this->wait(links);
  const auto leader = rounds_.alone(wait.edges);
  if (leader && rounds_.are_related()) {
    const std::uint64_t claimed = neighbors_.all().at(*leader).round;
    status.reasons.push_back(fmt::format("{} says that it is in round {}, {} ahead of this node",
                                         links.all().at(*leader).name, claimed,
                                         claimed - rounds_.round()));
  }
  if (rounds_.has_jumped(now))
    status.reasons.push_back(
        fmt::format("{} rounds that were jumped over do not count", rounds_.uncounted()));
  for (const EdgeStatus& edge : status.edges) {
    if (edge.state != EdgeState::late) continue;
    if (const auto phase = neighbors_.resting(edge.id)) {
      const char* const says = *phase == Phase::paused ? "is paused" : "has finished";
      if (!offering_.state.is_resting)
        status.reasons.push_back(fmt::format("{} {}", edge.name, says));
      continue;
    }
    const Neighbor& neighbor = neighbors_.all().at(edge.id);
    if (neighbor.rests) {
      status.reasons.push_back(
          fmt::format("going on without {}: no process listens at its address", edge.name));
      continue;
    }
    const Duration silence = now - neighbor.heard;
    status.reasons.push_back(fmt::format("{} {}: last heard {:.1f} s ago, patience {:.1f} s",
                                         wait.is_far_ahead ? "far ahead of" : "going on without",
                                         edge.name, seconds(silence), edge.patience_s));
  }
}

}  // namespace starling::gossip
