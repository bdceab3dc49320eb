#include "gossip/edges/exchange.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"

namespace starling::gossip {
namespace {

// A node this many rounds behind is still in step: it catches up round by round, so that all take
// equally many local steps; the optimum moves towards those who take more. Beyond it, it jumps.
// Larger: those ahead wait longer for one that comes back.
constexpr std::uint64_t kRoundsInStep = 8;

// Between two rounds of a node none of whose neighbours is in step. Smaller: it trains on towards
// its own optimum while all its links are down and nobody is found dead.
constexpr Duration kAlonePatience = std::chrono::seconds(60);

}  // namespace

std::uint64_t Exchange::rounds_in_step() const {
  return kRoundsInStep + (options_.schedule == Schedule::ssp ? options_.staleness : 0);
}

std::vector<std::uint64_t> Exchange::edges(const Links& links) const {
  std::vector<std::uint64_t> edges;
  for (const auto& [peer, link] : links.all())
    if (link.active) edges.push_back(link.life());
  return edges;
}

void Exchange::links_changed(Time now, const Links& links, const Membership& members, Outbox& out) {
  const std::pair versions{links.version(), members.version()};
  if (std::exchange(versions_, versions) == versions) return;
  sessions_.follow(now, links, members, out);
  std::erase_if(neighbors_, [&](const auto& item) {
    const bool gone = !links.all().contains(item.first);
    if (gone) aggregate_.forget(item.first);
    return gone;
  });
  for (auto& [peer, neighbor] : neighbors_)
    if (const Member* member = members.find(peer); member && member->phase == Phase::finished)
      neighbor.rests = true;
  std::erase_if(offered_to_, [&](const auto& item) { return !links.active(item.first); });
  if (offered_round_ == 0) return;
  for (const auto& [peer, link] : links.all()) {
    if (!link.active || was_offered(link)) continue;
    // It comes while we are under way: hear it before waiting for it.
    if (!neighbors_.contains(peer)) neighbors_[peer].late = true;
    if (!is_numbered(link)) send_offer(now, link, out);
  }
}

// An edge that brings one way only has no pairs.
bool Exchange::is_numbered(const Link& link) const {
  return counts_pairs(options_) && link.wish.brings && link.wish.takes;
}

void Exchange::offer(Time now, optim::Done& done, const Links& links, Outbox& out) {
  offer_ = std::move(done.offer);
  edge_offers_ = {done.edge_offers.begin(), done.edge_offers.end()};
  // Who is behind others that go on with a quorum would never count for them again.
  if (options_.quorum < 1) round_ = std::max(round_, furthest_round(links));
  offered_round_ = round_;
  // Edges that are about to close are offered to as well, and count: the weights of a round must
  // add up to less than one.
  const auto active = std::ranges::count_if(
      links.all(), [](const auto& item) { return item.second.active && item.second.wish.brings; });
  offered_degree_ = std::max(degree_, static_cast<std::uint32_t>(active));
  // Pairs that are averaged a step late make models swing, if they pull by more than a half.
  if (mixes_rounds(options_) && counts_pairs(options_)) offered_degree_ = 2 * offered_degree_ + 1;
  round_times_.add(now - wait_since_);
  wait_since_ = now;
  path_before_ = path_;
  path_ += done.stats.learning_rate * static_cast<double>(done.stats.steps);
  for (auto& [peer, neighbor] : neighbors_) neighbor.is_doubted = false;
  next_doubt_ = now + options_.timing.doubt_least;
  offered_to_.clear();
  aggregate_.update();
  if (options_.schedule == Schedule::pairwise) return propose(now, links, out);
  for (const auto& [peer, link] : links.all())
    if (link.active) send_offer(now, link, out);
}

void Exchange::propose(Time now, const Links& links, Outbox& out) {
  offered_degree_ = 1;  // so that the weight is 1/2
  const Link* link = pairing_.choose(links, sessions_);
  if (!link) return;
  send_offer(now, *link, out);
  pairing_.proposed(now, link->wish.peer);
}

bool Exchange::is_asked(const Links& links) const {
  return options_.schedule == Schedule::pairwise && !is_resting_ &&
         pairing_.find_asker(links, sessions_);
}

void Exchange::answer(Time now, Payload payload, const Links& links, Outbox& out) {
  offer_ = std::move(payload);
  if (is_asked(links)) send_offer(now, *pairing_.find_asker(links, sessions_), out);
}

Payload Exchange::offer_for(const Link& link) const {
  if (!link.wish.takes) return {};
  if (options_.needs.delivery != optim::Delivery::per_edge) return offer_;
  const auto found = edge_offers_.find(link.life());
  return found == edge_offers_.end() ? Payload() : found->second;
}

void Exchange::send_offer(Time now, const Link& link, Outbox& out) {
  Round message;
  message.epoch = link.epoch;
  message.round = offered_round_;
  message.degree = offered_degree_;
  if (aggregate_.has_value()) {
    message.flow = aggregate_.flow(link.wish.peer);
    message.estimate = aggregate_.estimate();
  }
  const auto [item, is_new] = neighbors_.try_emplace(link.wish.peer);
  Neighbor& neighbor = item->second;
  if (is_new) neighbor.offered_path = path_before_;
  message.span = neighbor.span = span_of(neighbor);
  message.sent = stamp_of(now);
  message.rate = neighbor.meter.rate();
  Payload payload = offer_for(link);
  const Duration usual = neighbor.patience.usual();
  if (is_numbered(link)) {
    const Timing& timing = options_.timing;
    const Sessions::Waits waits{
        usual, 2 * neighbor.patience.doubt(timing.doubt_least, timing.patience_initial)};
    // An edge that is younger than the job was offered nothing.
    const bool has_nothing = link.wish.takes && payload.empty();
    if (!sessions_.offer(now, link, {offered_round_, offered_degree_, message.span, payload},
                         has_nothing || sits_out(link, neighbor), waits, message))
      payload = {};
  } else {
    number(link, message);
    neighbor.asking.vector = message.order;
    neighbor.asking.pause = first_pause(link);
    neighbor.asking.at = now + usual + neighbor.asking.pause;
    next_ask_ = std::min(next_ask_, neighbor.asking.at);
  }
  if (!payload.empty()) neighbor.offered_path = path_;
  neighbor.sent_bytes += payload.size();
  offered_to_[link.wish.peer] = link.epoch;
  out.send(link.bulk, std::move(message), payload);
}

// Pairs take their time in schedule pairwise, and what comes of one acts on all steps until the
// next: the longest of late counts, so that a long wait behind a short one does not overshoot.
double Exchange::span_of(const Neighbor& neighbor) const {
  constexpr double kFade = 0.95;
  const double span = path_ - neighbor.offered_path;
  const bool varies = options_.schedule == Schedule::pairwise;
  return varies ? std::max(span, kFade * neighbor.span) : span;
}

bool Exchange::sits_out(const Link& link, const Neighbor& neighbor) const {
  if (mixes_rounds(options_)) return sessions_.is_waiting(link.wish.peer);
  if (options_.schedule != Schedule::rounds) return false;
  // Who is behind in rounds catches up first: the others wait for it. Who is ahead in number, since
  // the other end sat rounds out, sits out as many.
  const std::uint64_t furthest = neighbor.latest ? neighbor.latest->round : 0;
  return std::max(furthest, sessions_.round_of_next(link.wish.peer)) > offered_round_;
}

void Exchange::tick(Time now, const Links& links, Outbox& out) {
  sessions_.tick(now, out);
  if (now >= next_doubt_) doubt(now, links);
  if (now < next_ask_) return;
  next_ask_ = kNever;
  for (const auto& [peer, link] : links.all()) {
    if (is_numbered(link) || !neighbors_.contains(peer)) continue;
    ask(now, links, link, out);
    next_ask_ = std::min(next_ask_, neighbors_.at(peer).asking.at);
  }
}

// Whoever is waited for longer than usual may be dead: that is to be found out at once.
void Exchange::doubt(Time now, const Links& links) {
  next_doubt_ = kNever;
  const Timing& timing = options_.timing;
  for (const auto& [peer, link] : links.all()) {
    if (!waits_for(links, link, now)) continue;
    Neighbor& neighbor = neighbors_.at(peer);
    if (neighbor.is_doubted) continue;
    const Time at = wait_since_ + neighbor.patience.doubt(timing.doubt_least, timing.doubt_least);
    if (now < at) {
      next_doubt_ = std::min(next_doubt_, at);
      continue;
    }
    neighbor.is_doubted = true;
    doubted_.push_back(peer);
  }
}

void Exchange::refused(const Endpoint& control, const Links& links) {
  for (const auto& [peer, link] : links.all())
    if (link.control == control && neighbors_.contains(peer))
      neighbors_.at(peer).late = neighbors_.at(peer).rests = true;
}

void Exchange::receive(Time now, const Envelope& from, const Round& message, Payload payload,
                       const Links& links, const Membership& members, Outbox& out) {
  if (!believes(now, message, from.sender, members)) return;
  const std::size_t bytes = payload.size();
  auto heard = Sessions::Heard::fresh;
  // An answer is not answered again.
  const bool is_answer =
      options_.schedule == Schedule::pairwise && sessions_.is_waiting(from.sender);
  if (message.echo != 0)
    heard = sessions_.receive(now, from, message, std::move(payload), links,
                              is_resting_ || is_answer, out);
  const auto found = links.all().find(from.sender);
  if (found == links.all().end()) return;
  const Link& link = found->second;
  Neighbor& neighbor = neighbors_[from.sender];
  if (is_answer && !sessions_.is_waiting(from.sender)) pairing_.answered(now, from.sender);
  neighbor.received_bytes += bytes;
  // The other end is active a moment before this one: its epoch is what counts.
  if (link.peer_epoch != message.epoch || link.peer_incarnation != from.incarnation ||
      (message.echo != 0) != is_numbered(link)) {
    if (heard == Sessions::Heard::foreign || message.echo == 0) ++neighbor.rejected["closed edge"];
    return;
  }
  measure(now, link, message, bytes);
  if (message.echo == 0) reply(now, link, message, out);
  if (message.round == 0) return;  // only says what came
  const bool is_new = !neighbor.latest || message.round > neighbor.latest->round;
  if (heard == Sessions::Heard::known || (message.echo == 0 && !is_new))
    ++neighbor.rejected["repeated"];
  if (!is_new) return;
  neighbor.last_heard = now;
  neighbor.patience.arrived(now);
  neighbor.rests = false;
  if (!PLANTED(never_waits_again)) neighbor.late = false;
  aggregate_.receive(from.sender, message.flow, message.estimate);
  neighbor.before = std::move(neighbor.latest);
  neighbor.latest = Vector{message.round, message.degree, std::move(payload)};
}

bool Exchange::lacks_vector(const Link& link, const Neighbor& neighbor) const {
  if (options_.schedule == Schedule::async) return !has_news(link, neighbor);
  const std::uint64_t slack = options_.schedule == Schedule::ssp ? options_.staleness : 0;
  if (!neighbor.latest || neighbor.latest->round + slack < offered_round_) return true;
  // Whoever has spoken in this round waits itself: nothing comes of it but what was lost.
  return is_numbered(link) && sessions_.has_gap(link.wish.peer);
}

// In this round. Whoever was not waits itself, where it is behind: its edge is younger than the
// offer.
bool Exchange::was_offered(const Link& link) const {
  const auto found = offered_to_.find(link.wish.peer);
  return found != offered_to_.end() && found->second == link.epoch;
}

// Of the neighbours that were heard none is in step. Alone this node would only train towards its
// own optimum.
bool Exchange::is_far_ahead(const Links& links) const {
  if (options_.schedule != Schedule::rounds && options_.schedule != Schedule::ssp) return false;
  std::uint64_t furthest = 0;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wish.brings || found == neighbors_.end()) continue;
    if (found->second.latest && !found->second.rests)
      furthest = std::max(furthest, found->second.latest->round);
  }
  return furthest > 0 && offered_round_ > furthest + rounds_in_step();
}

bool Exchange::waits_for(const Links& links, const Link& link, Time now) const {
  if (!link.active || !link.wish.brings || !was_offered(link)) return false;
  const Neighbor& neighbor = neighbors_.at(link.wish.peer);
  if (!lacks_vector(link, neighbor)) return false;
  const bool counts = !neighbor.late || (!neighbor.rests && is_far_ahead(links));
  return counts && now < waits_until(links, neighbor);
}

Time Exchange::waits_until(const Links& links, const Neighbor& neighbor) const {
  const Duration least = options_.timing.patience_least;
  const Duration patience = neighbor.patience.value(least, least);
  // One that catches up is heard on the way.
  const Time since = std::max(wait_since_, neighbor.last_heard);
  return since + (is_far_ahead(links) ? std::max(patience, kAlonePatience) : patience);
}

// Async: there is something to average with.
bool Exchange::has_news(const Link& link, const Neighbor& neighbor) const {
  if (is_numbered(link)) return !sessions_.is_waiting(link.wish.peer);
  return neighbor.latest && !neighbor.latest->is_taken;
}

bool Exchange::complete(Time now, const Links& links) const {
  if (options_.schedule == Schedule::pairwise) return pairing_.may_step(now, links, sessions_);
  const auto waits = [&](const auto& item) { return waits_for(links, item.second, now); };
  return is_in_quorum(links) || std::ranges::none_of(links.all(), waits);
}

// Whether enough of those that were offered to have spoken.
bool Exchange::is_in_quorum(const Links& links) const {
  const bool one_will_do = options_.schedule == Schedule::async;
  if (options_.quorum >= 1 && !one_will_do) return false;
  std::size_t asked = 0, spoke = 0;
  for (const auto& [peer, link] : links.all()) {
    if (!link.active || !link.wish.brings || !was_offered(link)) continue;
    ++asked;
    spoke += !lacks_vector(link, neighbors_.at(peer));
  }
  if (one_will_do) return spoke > 0;
  return static_cast<double>(spoke) >= options_.quorum * static_cast<double>(asked);
}

Time Exchange::deadline(const Links& links) const {
  if (options_.schedule == Schedule::pairwise) return pairing_.deadline(links, sessions_);
  Time next = kNever;
  for (const auto& [peer, link] : links.all())
    if (waits_for(links, link, wait_since_))
      next = std::min(next, waits_until(links, neighbors_.at(peer)));
  return next;
}

// The vector of this round; of a neighbour that ran ahead, the one nearest to it. Null where there
// is none, or none to be used again.
Exchange::Vector* Exchange::vector_for(Neighbor& neighbor) const {
  const bool once = options_.needs.delivery == optim::Delivery::per_edge;
  const bool by_round = options_.schedule == Schedule::rounds;
  if (neighbor.before && by_round && neighbor.before->round >= offered_round_ &&
      !(once && neighbor.before->is_taken))
    return &*neighbor.before;
  if (!neighbor.latest || (once && neighbor.latest->is_taken)) return nullptr;
  const bool is_old = by_round && neighbor.latest->round < offered_round_;
  return is_old && options_.missing == Missing::self ? nullptr : &*neighbor.latest;
}

void Exchange::measure(Time now, const Link& link, const Round& message, std::size_t bytes) {
  Neighbor& neighbor = neighbors_[link.wish.peer];
  if (message.rate > 0) neighbor.send_rate = message.rate;
  const auto transit = link.clock.since(now, message.sent);
  if (bytes == 0 || !transit) return;
  neighbor.came = now;
  neighbor.meter.came(bytes, *transit - link.clock.round_trip().value_or(Duration{}) / 2);
}

// While the vector that came last was under way, this node waited for the network.
void Exchange::account(Time now, const Links& links) {
  const Duration wait = now - wait_since_;
  waited_ += wait;
  const Neighbor* last = nullptr;
  for (const auto& [peer, neighbor] : neighbors_) {
    if (!links.active(peer) || neighbor.came < wait_since_) continue;
    if (last && last->came >= neighbor.came) continue;
    last = &neighbor;
    slowest_ = peer;
  }
  const Duration network = last ? std::min(wait, last->meter.transit()) : Duration{};
  waited_for_network_ += network;
  if (finished_at_ > Time{}) network_share_.add(now - finished_at_, network);
  finished_at_ = now;
}

std::vector<optim::MixTerm> Exchange::finish_round(Time now, const Links& links, Outbox& out) {
  account(now, links);
  for (auto& [peer, neighbor] : neighbors_)
    if (const Link* link = links.active(peer); link && link->wish.brings) neighbor.weight = 0;
  if (options_.schedule != Schedule::pairwise) mark_late(now, links);
  sessions_.go_on(now);
  std::vector<optim::MixTerm> terms = take_pairs();
  add_heard(links, terms);
  tell_first(links, out);
  round_ = next_round(links);
  return terms;
}

void Exchange::mark_late(Time now, const Links& links) {
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wish.brings || found == neighbors_.end()) continue;
    Neighbor& neighbor = found->second;
    // Where a quorum went on without it, it has still time.
    if (!lacks_vector(link, neighbor) || waits_for(links, link, now)) continue;
    neighbor.late = true;
  }
}

std::uint64_t Exchange::next_round(const Links& links) const {
  if (options_.schedule == Schedule::async || options_.schedule == Schedule::pairwise)
    return round_ + 1;
  const std::uint64_t furthest = furthest_round(links);
  return furthest > round_ + rounds_in_step() ? furthest : round_ + 1;
}

std::vector<optim::MixTerm> Exchange::take_pairs() {
  const bool is_pairwise = options_.schedule == Schedule::pairwise;
  const bool skips_mixed_rounds = options_.needs.delivery == optim::Delivery::exactly_once &&
                                  !is_pairwise && !mixes_rounds(options_);
  std::vector<optim::MixTerm> terms;
  for (Sessions::Mixable& item : sessions_.take()) {
    // Both ends see that, so both do without.
    if (skips_mixed_rounds && item.pair.own.round != item.pair.theirs.round) continue;
    const double weight = item.pair.weight(), span = item.pair.span();
    if (const auto found = neighbors_.find(item.peer); found != neighbors_.end())
      found->second.weight = weight;
    // Pairwise, another edge's offer may be the trainer's last.
    const bool is_sent = item.is_current && !is_pairwise;
    Payload own = is_sent ? Payload() : std::move(item.pair.own.payload);
    terms.push_back(
        {item.peer, weight, std::move(item.pair.theirs.payload), std::move(own), item.edge, span});
  }
  return terms;
}

// Of the edges whose vectors are not numbered.
void Exchange::add_heard(const Links& links, std::vector<optim::MixTerm>& terms) {
  struct Heard {
    NodeId peer;
    std::uint64_t edge;
    Neighbor* neighbor;
    Vector* vector;
  };
  std::vector<Heard> heard;
  for (const auto& [peer, link] : links.all()) {
    const auto found = neighbors_.find(peer);
    if (!link.active || !link.wish.brings || is_numbered(link) || found == neighbors_.end())
      continue;
    Vector* vector = vector_for(found->second);
    if (vector && !vector->payload.empty())
      heard.push_back({peer, link.life(), &found->second, vector});
  }
  // More than were wanted at the time of the offer, when edges opened since: the weights must still
  // add up to less than one.
  const auto degree = std::max(offered_degree_, static_cast<std::uint32_t>(heard.size()));
  for (const Heard& item : heard) {
    item.neighbor->weight = 1.0 / (1.0 + std::max(degree, item.vector->degree));
    item.vector->is_taken = true;
    terms.push_back({item.peer, item.neighbor->weight, item.vector->payload, {}, item.edge});
  }
}

void Exchange::tell_first(const Links& links, Outbox& out) {
  for (auto& [peer, neighbor] : neighbors_) {
    const Link* link = links.active(peer);
    if (!link || neighbor.averaged || neighbor.weight == 0) continue;
    neighbor.averaged = true;
    out.event(Event::Kind::averaged,
              fmt::format("averages with {} from round {} on", link->name, round_));
  }
}

void Exchange::close(Time now, Outbox& out) {
  is_resting_ = true;
  sessions_.close_all(now, out);
}

std::uint64_t Exchange::furthest_round(const Links& links) const {
  std::uint64_t furthest = 0;
  for (const auto& [peer, neighbor] : neighbors_)
    if (links.active(peer) && neighbor.latest)
      furthest = std::max(furthest, neighbor.latest->round);
  return furthest;
}

}  // namespace starling::gossip
