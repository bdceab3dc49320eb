#include "gossip/edges/exchange.h"

#include <fmt/core.h>

#include <algorithm>

namespace starling::gossip {

Exchange::Exchange(const Options& options)
    : options_(options),
      scheduler_(options.schedule->make(options)),
      mixing_(node_id(options.name), options.needs.mixing_share),
      newest_rules_(NewestStream::rules_of(options, scheduler_->rules().by_round)),
      rounds_(scheduler_->rules().rounds_in_step, options.timing.patience_least) {}

void Exchange::links_changed(Time now, const Links& links, const Roster& members, Outbox& out) {
  const std::pair versions{links.version(), members.version()};
  if (std::exchange(versions_, versions) == versions) return;
  sessions_.follow(now, links, members, out);
  std::erase_if(neighbors_, [&](const auto& item) {
    const bool gone = !links.all().contains(item.first);
    return gone;
  });
  const auto stays = [&](NodeId peer) { return links.all().contains(peer); };
  std::erase_if(told_, [&](const auto& item) { return !stays(item.first); });
  means_.keep(stays);
  paused_.clear();
  for (const auto& [peer, link] : links.all())
    if (const Member* member = members.find(peer); member && member->phase == Phase::paused)
      paused_.insert(peer);
  for (auto& [peer, neighbor] : neighbors_) {
    if (!links.active(peer)) neighbor.offered_edge = 0;
    if (const Member* member = members.find(peer); member && member->phase == Phase::finished)
      neighbor.rests = true;
  }
  // A partner is waited for from the first round on that both offer in.
  if (offered_round_ > 0 && !scheduler_->rules().by_partner) greet(now, links, out);
}

// The neighbour's state. The first vector to one that is new stands for the steps from now on.
Neighbor& Exchange::meet(NodeId peer) {
  const auto [item, is_new] = neighbors_.try_emplace(peer);
  if (is_new) item->second.offered_path = path_;
  return item->second;
}

// Offers to those whose edge opened after the offer of this round.
void Exchange::greet(Time now, const Links& links, Outbox& out) {
  for (const auto& [peer, link] : links.all()) {
    if (!link.active || view_of(link).was_offered) continue;
    // The peer's first vector is under way. Rounds wait for the peer only once it is heard.
    if (!neighbors_.contains(peer)) meet(peer).late = true;
    if (!is_paired(link)) send_offer(now, link, out);
  }
}

// An edge that carries vectors one way only has no pairs.
bool Exchange::is_paired(const Link& link) const {
  return counts_pairs(options_) && link.wanted.in && link.wanted.out;
}

// ---------------------------------------------------------------- a round

void Exchange::offer(Time now, optim::Done& done, const Links& links, Outbox& out) {
  offer_ = std::move(done.offer);
  edge_offers_ = {done.edge_offers.begin(), done.edge_offers.end()};
  for (auto& [peer, neighbor] : neighbors_) neighbor.is_doubted = false, neighbor.offered_edge = 0;
  partner_ = links.partner(round());
  const std::vector<StreamView> streams = views(links);
  if (scheduler_->rules().joins_furthest)
    rounds_.go_to(now, std::max(round(), rounds_.follow(now, streams)), pace());
  offered_round_ = round();
  // Edges that are not open yet count too: the shares of a round must add up to less than one.
  const auto is_incoming = [](const auto& item) { return item.second.wanted.in; };
  const auto degree = std::ranges::count_if(links.all(), is_incoming);
  offered_share_ = scheduler_->share(static_cast<std::size_t>(degree));
  waits_.begin(now);
  path_before_ = path_;
  path_ += done.stats.learning_rate * static_cast<double>(done.stats.steps);
  next_doubt_ = now + options_.timing.doubt_least;
  next_tell_ = std::min(next_tell_, now + options_.timing.period);
  means_.begin_round(offered_round_);
  means_.update();
  probe_ = mixing_.begin(offered_round_);
  // A peer that asks learns that this node is beyond its round, and does not wait in vain.
  if (scheduler_->rules().by_partner) sessions_.skip(offered_round_);
  for (const NodeId peer : scheduler_->choose(streams)) {
    send_offer(now, *links.active(peer), out);
    Neighbor& neighbor = neighbors_.at(peer);
    neighbor.offered = now;
    if (neighbor.round >= offered_round_) neighbor.patience.answered({});
  }
}

const Link* Exchange::asker(const Links& links) const {
  if (!scheduler_->rules().answers || is_resting_) return nullptr;
  for (const auto& [peer, link] : links.all())
    if (link.active && view_of(link).is_asked) return &link;
  return nullptr;
}

void Exchange::answer(Time now, Payload payload, const Links& links, Outbox& out) {
  offer_ = std::move(payload);
  probe_ = mixing_.end();
  if (const Link* link = asker(links)) send_offer(now, *link, out);
}

bool Exchange::complete(Time now, const Links& links) const {
  return scheduler_->may_finish(now, turn(), views(links));
}

Time Exchange::deadline(const Links& links) const {
  return scheduler_->deadline(turn(), views(links));
}

std::vector<optim::MixTerm> Exchange::finish_round(Time now, const Links& links, Outbox& out) {
  const std::vector<StreamView> streams = views(links);
  end_wait(now, links, mark_late(now, streams), out);
  for (auto& [peer, neighbor] : neighbors_)
    if (const Link* link = links.active(peer); link && link->wanted.in) neighbor.weight = 0;
  sessions_.go_on(now);
  std::vector<optim::MixTerm> terms = take_pairs();
  take_newest(links, terms);
  mixing_.end();
  tell_first(links, out);
  rounds_.go_to(now, scheduler_->next_round(round(), rounds_.follow(now, streams)), pace());
  return terms;
}

// The part of the wait in which the last vector to come was under way counts as waiting for the
// network, the rest as waiting for its sender.
void Exchange::end_wait(Time now, const Links& links, std::optional<NodeId> given_up, Outbox& out) {
  static const std::string kNobody;
  const Neighbor* last = nullptr;
  for (const auto& [peer, neighbor] : neighbors_) {
    if (!links.active(peer) || neighbor.came < waits_.since()) continue;
    if (last && last->came >= neighbor.came) continue;
    last = &neighbor;
    slowest_ = peer;
  }
  const std::string& name = last ? links.all().at(slowest_).name : kNobody;
  out.put(Span{Span::Kind::wait, waits_.since(), now, name, offered_round_});
  WaitMeter::Last of_last;
  if (last) of_last = {slowest_, last->under_way, last->meter.transit()};
  waits_.end(now, of_last, given_up);
}

// A neighbour whose patience has not run out is not late, though a quorum went on without it.
// Returns the one among the newly late that was heard longest ago.
std::optional<NodeId> Exchange::mark_late(Time now, const std::vector<StreamView>& streams) {
  const StreamView* given_up = nullptr;
  if (scheduler_->rules().answers) return std::nullopt;
  const bool far_ahead = scheduler_->is_far_ahead(turn(), streams);
  for (const StreamView& stream : streams) {
    const auto found = neighbors_.find(stream.peer);
    if (found == neighbors_.end() || !stream.in) continue;
    if (scheduler_->rules().by_partner && !stream.was_offered) continue;
    if (!scheduler_->lacks(stream, offered_round_)) continue;
    if (now < scheduler_->waits_until(turn(), stream, far_ahead)) continue;
    found->second.late = true;
    if (!stream.is_late && (!given_up || stream.heard < given_up->heard)) given_up = &stream;
  }
  return given_up ? std::optional(given_up->peer) : std::nullopt;
}

std::vector<optim::MixTerm> Exchange::take_pairs() {
  const Scheduler::Rules& rules = scheduler_->rules();
  std::vector<optim::MixTerm> terms;
  for (Sessions::Mixable& item : sessions_.take()) {
    // Both ends know the rounds of the pair, so both leave the pair out.
    if (rules.same_round_pairs && item.pair.own.round != item.pair.theirs.round) continue;
    const double weight = item.pair.weight(), span = item.pair.span();
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      found->second.weight = weight;
    mixing_.mix(weight, {item.pair.own.round, item.pair.own.probe},
                {item.pair.theirs.round, item.pair.theirs.probe});
    terms.push_back({item.peer, weight, std::move(item.pair.theirs.payload),
                     std::move(item.pair.own.payload), item.edge, span});
  }
  return terms;
}

// Adds the terms of the edges whose vectors are not paired.
void Exchange::take_newest(const Links& links, std::vector<optim::MixTerm>& terms) {
  struct Item {
    const Link* link;
    Neighbor* neighbor;
    HeardVector* vector;
  };
  std::vector<Item> items;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wanted.in || is_paired(link) || found == neighbors_.end()) continue;
    HeardVector* vector = found->second.newest.vector_for(offered_round_, newest_rules_);
    if (vector && !vector->payload.empty()) items.push_back({&link, &found->second, vector});
  }
  // Edges that opened since the offer make more terms than the offer counted: the shares must still
  // add up to less than one.
  const double share = std::min(offered_share_, scheduler_->share(items.size()));
  for (const Item& item : items) {
    item.neighbor->weight = std::min(share, item.vector->share);
    item.vector->is_taken = true;
    mixing_.mix(item.neighbor->weight, {offered_round_, probe_},
                {item.vector->round, item.vector->probe});
    terms.push_back({item.link->wanted.peer, item.neighbor->weight, item.vector->payload, offer_,
                     item.link->edge_id()});
  }
}

void Exchange::tell_first(const Links& links, Outbox& out) {
  for (auto& [peer, neighbor] : neighbors_) {
    const Link* link = links.active(peer);
    if (!link || neighbor.averaged || neighbor.weight == 0) continue;
    neighbor.averaged = true;
    out.event(Event::Kind::averaged,
              fmt::format("averages with {} from round {} on", link->name, round()));
  }
}

void Exchange::rest(bool is_resting) {
  is_resting_ = is_resting;
  if (is_resting) means_.rest();
}

void Exchange::refused(const Endpoint& control, const Links& links) {
  for (const auto& [peer, link] : links.all())
    if (link.control == control && neighbors_.contains(peer))
      neighbors_.at(peer).late = neighbors_.at(peer).rests = true;
}

}  // namespace starling::gossip
