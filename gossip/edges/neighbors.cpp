#include "gossip/edges/neighbors.h"

#include <fmt/core.h>

#include <cstddef>

#include "base/planted.h"

namespace starling::gossip {
namespace {

// Rounds in a row in which a neighbour's vectors equal this node's, before people are warned.
// Fewer: a coincidence of the first rounds is reported.
constexpr std::uint64_t kEqualRounds = 5;
// Hellos without an answer, and how long a vector of a new edge may take, before people are warned.
// Fewer, shorter: a lost message, or the first vector over a slow link, is reported.
constexpr int kHellosEnough = 6;
constexpr Duration kFirstVector = std::chrono::seconds(10);
// Accepted estimates that end the warning about a refused one.
constexpr int kDoubtNews = 16;

// A neighbour is late only after its patience, even if a quorum went on without it, and never in a
// round whose vector was not sent to it.
bool is_overdue(Time now, const Wait& wait, const EdgeView& edge) {
  return edge.in && edge.was_offered && wait.scheduler.lacks(edge, wait.current.round) &&
         now >= wait.until(edge);
}

}  // namespace

void Neighbor::hear(Time now, std::uint64_t newer) {
  round = newer;
  heard = now;
  rests = false;
  if (!PLANTED(never_waits_again)) late = false;
}

void Neighbor::measure(Time now, const Link& link, const Round& message, std::size_t bytes,
                       Outbox& out) {
  if (message.rate > 0) status.send_rate = static_cast<double>(message.rate);
  const auto transit = link.clock.since(now, message.sent);
  if (bytes == 0 || !transit) return;
  came = now;
  under_way = *transit;
  meter.came(bytes, *transit - link.clock.round_trip().value_or(Duration{}) / 2);
  // A false stamp may claim that the vector left before this node's clock began.
  const Time left = now - std::min(*transit, now - Time{});
  out.put(Span{Span::Kind::receive, left, now, link.name, message.round, bytes});
}

void Neighbor::begin_anew(double path) {
  newest = {};
  rates = {};
  offered_path = path;
  span = 0;
  late = false;
}

// ---------------------------------------------------------------- peers

bool Neighbors::follow(const Links& links, const Roster& members) {
  const std::pair versions{links.version(), members.version()};
  if (std::exchange(versions_, versions) == versions) return false;
  std::erase_if(all_, [&](const auto& item) { return !links.all().contains(item.first); });
  resting_.clear();
  for (const auto& [peer, link] : links.all())
    if (const Member* member = members.find(peer);
        member && (member->phase == Phase::paused || has_ended(*member)))
      resting_.insert({peer, {member->phase, member->round}});
  for (auto& [peer, neighbor] : all_)
    if (!links.active(peer)) neighbor.offered_edge = 0;
  return true;
}

Neighbor& Neighbors::meet(NodeId peer, double path) {
  const auto [item, is_new] = all_.try_emplace(peer);
  if (is_new) item->second.offered_path = path;
  return item->second;
}

Neighbor* Neighbors::find(NodeId peer) {
  const auto found = all_.find(peer);
  return found == all_.end() ? nullptr : &found->second;
}

// For a peer that was not met: the state of a neighbour that never sent.
const Neighbor& Neighbors::known(NodeId peer) const {
  static const Neighbor kNobody;
  const auto found = all_.find(peer);
  return found == all_.end() ? kNobody : found->second;
}

void Neighbor::hear_estimate(bool is_believed) {
  doubtful = is_believed ? std::max(doubtful - 1, 0) : kDoubtNews;
  if (!is_believed) ++status.rejected["estimate"];
}

void Neighbors::refused(NodeId peer) {
  if (Neighbor* neighbor = find(peer)) neighbor->late = neighbor->rests = true;
}

Duration Neighbors::pace(const Recent& own) const {
  std::vector<Duration> usual;
  for (const auto& [id, neighbor] : all_)
    if (neighbor.patience.usual() > Duration{}) usual.push_back(neighbor.patience.usual());
  std::ranges::sort(usual);
  const Duration least = own.is_measured() ? own.least() : Duration{};
  return usual.empty() ? least : std::min(least, usual[std::min<std::size_t>(1, usual.size() - 1)]);
}

// ---------------------------------------------------------------- a round

// The last vector of a peer that has finished may still be in transit.
std::optional<Phase> Neighbors::resting(NodeId peer) const {
  const auto found = resting_.find(peer);
  if (found == resting_.end()) return std::nullopt;
  const auto [phase, last] = found->second;
  const bool takes_part = phase != Phase::paused && round_ <= last;
  return takes_part ? std::nullopt : std::optional(phase);
}

void Neighbors::begin_round(Time now, std::uint64_t round, RoundTurns turns, Duration unmeasured) {
  round_ = round;
  turns_ = std::move(turns);
  unmeasured_ = unmeasured;
  next_doubt_ = now + timing_.doubt_least;
  for (auto& [peer, neighbor] : all_) neighbor.is_doubted = false, neighbor.offered_edge = 0;
}

Duration Neighbors::patience(const Neighbor& neighbor) const {
  return neighbor.patience.value(timing_.patience_least, unmeasured_);
}

EdgeView Neighbors::view(const Link& link, const Sessions& sessions) const {
  const NodeId peer = link.wanted.peer;
  const Neighbor& neighbor = known(peer);
  // A peer whose edge was closed for refusals went on alone. This node does not follow its round
  // before its vectors are averaged again.
  const std::uint64_t heard_round =
      neighbor.refusals.is_on_probation() ? std::min(neighbor.round, round_) : neighbor.round;
  EdgeView view{.peer = peer,
                .in = link.wanted.in,
                .out = link.wanted.out,
                .was_offered = link.active && neighbor.offered_edge == link.edge_id() &&
                               (neighbor.offered_out || !link.wanted.out),
                .round = heard_round,
                .has_news = neighbor.newest.has_news(),
                .is_late = neighbor.late || resting(peer).has_value(),
                .rests = neighbor.rests || resting(peer).has_value(),
                .heard = std::max(neighbor.heard, neighbor.progress),
                .offered = neighbor.offered,
                .patience = patience(neighbor)};
  take_turn(view, turns_);
  if (!link.is_paired) return view;
  view.pairs = sessions.pairs(peer);
  view.has_news = !view.pairs.is_waiting;
  return view;
}

std::vector<EdgeView> Neighbors::views(const Links& links, const Sessions& sessions) const {
  std::vector<EdgeView> views;
  for (const auto& [peer, link] : links.all())
    if (link.active) views.push_back(view(link, sessions));
  return views;
}

void Neighbors::expect(Time now, const Link& link, Neighbor& neighbor) {
  neighbor.newest.wait(now, link, neighbor.patience.usual());
  next_ask_ = std::min(next_ask_, neighbor.newest.ask_at());
}

std::vector<NodeId> Neighbors::tick(Time now, const Wait& wait, const Links& links, Outbox& out) {
  std::vector<NodeId> doubted;
  if (now >= next_doubt_) doubted = doubt(now, wait);
  if (now >= next_ask_) ask(now, wait, links, out);
  return doubted;
}

// Requests the vectors that the round waits for, because they may be lost.
void Neighbors::ask(Time now, const Wait& wait, const Links& links, Outbox& out) {
  next_ask_ = kNever;
  for (const EdgeView& edge : wait.edges) {
    const Link& link = *links.active(edge.peer);
    Neighbor* neighbor = find(edge.peer);
    if (link.is_paired || !neighbor) continue;
    NewestStream& newest = neighbor->newest;
    if (now >= wait.until(edge) && wait.hears_any(now))
      newest.stop_asking();
    else if (now >= newest.ask_at())
      newest.ask(now, link, out);
    next_ask_ = std::min(next_ask_, newest.ask_at());
  }
}

std::vector<NodeId> Neighbors::doubt(Time now, const Wait& wait) {
  std::vector<NodeId> doubted;
  next_doubt_ = kNever;
  for (const EdgeView& edge : wait.edges) {
    if (now >= wait.until(edge)) continue;
    Neighbor& neighbor = all_.at(edge.peer);
    if (neighbor.is_doubted) continue;
    const Time at =
        wait.current.since + neighbor.patience.doubt(timing_.doubt_least, timing_.doubt_least);
    if (now < at) {
      next_doubt_ = std::min(next_doubt_, at);
      continue;
    }
    neighbor.is_doubted = true;
    doubted.push_back(edge.peer);
  }
  return doubted;
}

WaitMeter::Last Neighbors::last_come(Time since, const Links& links) const {
  WaitMeter::Last last;
  const Neighbor* latest = nullptr;
  for (const auto& [peer, neighbor] : all_) {
    if (!links.active(peer) || neighbor.came < since) continue;
    if (latest && latest->came >= neighbor.came) continue;
    latest = &neighbor;
    last = {peer, neighbor.under_way, neighbor.meter.transit()};
  }
  return last;
}

std::optional<NodeId> Neighbors::end_round(Time now, const Wait& wait, const Links& links) {
  for (auto& [peer, neighbor] : all_)
    if (const Link* link = links.active(peer); link && link->wanted.in) neighbor.status.weight = 0;
  const EdgeView* given_up = nullptr;
  if (!wait.scheduler.marks_late()) return std::nullopt;
  for (const EdgeView& edge : wait.edges) {
    Neighbor* neighbor = find(edge.peer);
    if (!neighbor || !is_overdue(now, wait, edge)) continue;
    neighbor->late = true;
    if (!edge.is_late && (!given_up || edge.heard < given_up->heard)) given_up = &edge;
  }
  return given_up ? std::optional(given_up->peer) : std::nullopt;
}

// ---------------------------------------------------------------- for people

namespace {

// The text for a reason of optim::Rejection; empty if the fault is not the neighbour's.
std::string_view refusal_text(std::string_view reason) {
  constexpr std::pair<std::string_view, std::string_view> kTexts[] = {
      {"not finite", "they hold a number that is not finite"},
      {"size", "they have another size than this node's"},
      {"encoding", "they cannot be decoded"},
      {"far", "they lie far beyond this node's and all others"}};
  const auto found = std::ranges::find(kTexts, reason, [](const auto& text) { return text.first; });
  return found == std::end(kTexts) ? std::string_view() : found->second;
}

}  // namespace

void Neighbors::note(const optim::Done& done) {
  for (const optim::NeighborDistance& item : done.stats.distances) {
    Neighbor* neighbor = find(item.peer);
    if (!neighbor) continue;
    EdgeStatus& status = neighbor->status;
    status.distance = item.distance;
    status.equal_rounds = item.distance == 0 && loop_moved_ ? status.equal_rounds + 1 : 0;
  }
  if (done.stats.steps > 0) loop_moved_ = done.stats.loop_moved;
  for (const optim::Rejection& item : done.rejections) {
    Neighbor* neighbor = find(item.peer);
    if (!neighbor) continue;
    ++neighbor->status.rejected[item.reason];
    if (!refusal_text(item.reason).empty()) neighbor->refusals.refuse(item.reason);
  }
}

std::vector<Neighbors::Barred> Neighbors::take_barred() {
  std::vector<Barred> all;
  for (auto& [peer, neighbor] : all_)
    if (const auto pause = neighbor.refusals.take_pause())
      all.push_back({peer, *pause,
                     fmt::format("its vectors are not averaged: {}; tried again after {:.0f} s",
                                 refusal_text(neighbor.refusals.reason()), seconds(*pause))});
  return all;
}

std::vector<std::string> Neighbors::warnings(const Links& links) const {
  std::vector<std::string> all;
  for (const auto& [peer, link] : links.all())
    if (const std::string& reason = known(peer).refusals.reason(); !reason.empty())
      all.push_back(
          fmt::format("vectors of {} are not averaged: {}", link.name, refusal_text(reason)));
  for (const auto& [peer, link] : links.all())
    if (known(peer).doubtful > 0)
      all.push_back(fmt::format(
          "estimates of {} do not count: some number is far beyond those of others", link.name));
  std::ranges::sort(all, natural_less);
  std::ranges::move(equal_trainers(links), std::back_inserter(all));
  std::ranges::move(unequal_rates(links), std::back_inserter(all));
  return all;
}

std::vector<std::string> Neighbors::mute(Time now, const Links& links,
                                         const Roster& members) const {
  std::vector<std::string> all;
  for (const auto& [peer, link] : links.all()) {
    const Neighbor& neighbor = known(peer);
    const bool is_shut = !link.active && link.refusal.empty() && link.unanswered >= kHellosEnough;
    const bool is_silent = link.active && link.wanted.in && neighbor.status.received_bytes == 0 &&
                           neighbor.first_offered > Time{} && !resting(peer) &&
                           now - neighbor.first_offered >= kFirstVector;
    if (!is_shut && !is_silent) continue;
    const std::string cause = members.obstacle(peer);
    all.push_back(fmt::format("{} {}{}{}",
                              is_shut ? "no edge opens to" : "no vector comes over the edge to",
                              link.name, cause.empty() ? "" : ": ", cause));
  }
  std::ranges::sort(all, natural_less);
  return all;
}

std::vector<std::string> Neighbors::equal_trainers(const Links& links) const {
  std::vector<std::string> names;
  for (const auto& [peer, link] : links.all())
    if (const auto found = all_.find(peer);
        found != all_.end() && found->second.status.equal_rounds >= kEqualRounds)
      names.push_back(link.name);
  if (names.empty()) return {};
  return {fmt::format(
      "{}'s trainer takes the same steps as this node's, to the last bit: both draw the same "
      "batches. Use swarm.batches(loader), or give each node its own seed",
      *std::ranges::min_element(names, natural_less))};
}

// One warning, which names the first such neighbour.
std::vector<std::string> Neighbors::unequal_rates(const Links& links) const {
  std::vector<std::pair<std::string, double>> unequal;
  for (const auto& [peer, link] : links.all())
    if (const double ratio = known(peer).rates.lasting(); ratio != 1)
      unequal.emplace_back(link.name, ratio);
  if (unequal.empty()) return {};
  const auto& [name, ratio] =
      *std::ranges::min_element(unequal, natural_less, &std::pair<std::string, double>::first);
  return {fmt::format(
      "its learning rate is {:.2g} times that of {}{}: a schedule that counts the steps of its own "
      "trainer begins anew at a newcomer (in Python swarm.schedule counts the network's rounds), "
      "or "
      "optim.pace differs",
      ratio, name, unequal.size() > 1 ? fmt::format(" and {} more", unequal.size() - 1) : "")};
}

void Neighbors::tell_first(std::uint64_t round, const Links& links, Outbox& out) {
  for (auto& [peer, neighbor] : all_) {
    const Link* link = links.active(peer);
    if (!link || neighbor.averaged || neighbor.status.weight == 0) continue;
    neighbor.averaged = has_averaged_ = true;
    out.event(Event::Kind::averaged,
              fmt::format("averages with {} from round {} on", link->name, round));
  }
}

std::vector<EdgeStatus> Neighbors::statuses(std::uint64_t round, const Links& links,
                                            const Sessions& sessions) const {
  std::vector<EdgeStatus> edges;
  for (const auto& [peer, link] : links.all()) {
    const Neighbor& neighbor = known(peer);
    EdgeStatus edge = neighbor.status;
    edge.id = peer;
    edge.name = link.name;
    edge.state = !link.refusal.empty()                        ? EdgeState::refused
                 : !link.active                               ? EdgeState::opening
                 : neighbor.late || resting(peer).has_value() ? EdgeState::late
                                                              : EdgeState::active;
    edge.refusal = link.refusal;
    if (!link.active) edge.weight = 0;
    edge.round = neighbor.round;
    edge.heard = neighbor.heard;
    edge.staleness = round > edge.round ? round - edge.round : 0;
    edge.rtt_s = link.rtt_s;
    edge.patience_s = seconds(patience(neighbor));
    edge.receive_rate = neighbor.meter.rate();
    edge.queued_bytes = sessions.unconfirmed_bytes(peer);
    edge.repeated_bytes = sessions.repeated_bytes(peer);
    edges.push_back(std::move(edge));
  }
  std::ranges::sort(edges, [](auto& a, auto& b) { return natural_less(a.name, b.name); });
  return edges;
}

std::vector<ExchangeBudget::Edge> loads_of(const Neighbors& neighbors) {
  std::vector<ExchangeBudget::Edge> edges;
  for (const auto& [peer, neighbor] : neighbors.all()) {
    const double rate = neighbor.status.send_rate;
    const auto bytes = static_cast<double>(neighbor.unshortened);
    edges.push_back({peer, rate > 0 ? bytes / rate : 0});
  }
  return edges;
}

}  // namespace starling::gossip
