#include "gossip/members/seeds.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "gossip/options.h"

namespace starling::gossip {
namespace {

// The longest pause between two joins, and between two look-ups of a node that is alone. Longer: a
// cluster that comes back is found later.
constexpr Duration kSearchPauseLimit = std::chrono::seconds(5);
// The status reports a named seed that is silent for this long.
constexpr Duration kPatience = std::chrono::seconds(2);
constexpr std::size_t kSeedsLimit = 1024;
// Between two look-ups of a name while other members are known. Longer: parts of a cluster that do
// not know of each other find each other later. Shorter: more load on the name servers.
constexpr Duration kLookAgain = std::chrono::seconds(30);
// Places that are sent joins after such a look-up. Larger: members that are known by other
// addresses than those of the DNS send more tables in vain.
constexpr std::size_t kAskedInTurn = 4;
// After this time an unanswered look-up is repeated.
constexpr Duration kLookUpPatience = std::chrono::seconds(60);

}  // namespace

bool Seeds::is_own(const Endpoint& at) const {
  return at == own_ || std::ranges::find(aliases_, at) != aliases_.end();
}

void Seeds::add(const SeedName& name, bool is_named, Time now) {
  if (!name.is_in_dns() && is_own(name.at)) return;
  const auto known = std::ranges::find(seeds_, name, &Seed::name);
  if (known != seeds_.end()) {
    known->is_named |= is_named;
    return;
  }
  const auto names =
      std::ranges::count_if(seeds_, [](const Seed& seed) { return seed.name.is_in_dns(); });
  const bool is_full = name.is_in_dns() && static_cast<std::size_t>(names) >= kSeedNamesLimit;
  if (is_full || seeds_.size() >= kSeedsLimit) return;
  Seed& seed = seeds_.emplace_back(Seed{.name = name, .is_named = is_named, .since = now});
  seed.search.pause = pause_;
  if (!name.is_in_dns())
    seed.places.push_back({.endpoint = name.at, .address = name.at, .next = now, .pause = pause_});
}

bool Seeds::name_others() const {
  return std::ranges::any_of(seeds_, [](const Seed& seed) {
    return seed.is_named && !(seed.places.empty() && seed.search.has_own);
  });
}

// ---------------------------------------------------------------- asking

void Seeds::look_up(Time now, bool is_alone, Seed& seed, Outbox& out) {
  Search& search = seed.search;
  if (search.asked && now - *search.asked < kLookUpPatience) return;
  if (search.found && now - *search.found < (is_alone ? search.pause : kLookAgain)) return;
  search.pause = is_alone ? std::min(search.pause * 2, kSearchPauseLimit) : pause_;
  search.asked = now;
  out.put(LookUp{seed.name});
}

void Seeds::hang_up(const Known& is_known, Seed& seed, Outbox& out) {
  for (const Endpoint& at : std::exchange(seed.search.gone, {}))
    if (!is_known(at)) out.put(Abandon{at});
}

bool Seeds::note_met(const Known& is_known, Place& place) {
  if (!is_known(place.address) && !is_known(place.endpoint)) return false;
  place.is_met = true;
  place.finding.clear();
  return true;
}

// Sends joins to a few places at which no member is known, to other places after each look-up.
void Seeds::ask_in_turn(const View& view, const Member& self, Seed& seed, Outbox& out) {
  Search& search = seed.search;
  for (std::size_t k = seed.places.size(); k > 0 && search.left > 0; --k) {
    Place& place = seed.places[search.turn++ % seed.places.size()];
    if (note_met(view.is_known, place)) continue;
    --search.left;
    out.introduce(place.endpoint, Join{self});
  }
  search.left = 0;
}

void Seeds::ask(Time now, const View& view, const Member& self, Outbox& out) {
  for (Seed& seed : seeds_) {
    if (seed.name.is_in_dns()) {
      hang_up(view.is_known, seed, out);
      look_up(now, view.is_alone, seed, out);
      if (!view.is_alone) {
        ask_in_turn(view, self, seed, out);
        continue;
      }
    }
    for (Place& place : seed.places) {
      if (note_met(view.is_known, place) || now < place.next) continue;
      place.pause = std::min(place.pause * 2, kSearchPauseLimit);
      place.next = now + place.pause;
      out.introduce(place.endpoint, Join{self});
      if (seed.is_named && !place.is_met) out.put(ConnectProbe{{}, place.endpoint});
    }
  }
}

bool Seeds::is_awaited(const Known& is_known) const {
  const auto is_settled = [&](const Place& place) {
    return place.has_told || !place.finding.empty() || is_known(place.address) ||
           is_known(place.endpoint);
  };
  return std::ranges::any_of(seeds_, [&](const Seed& seed) {
    const bool is_sought = seed.name.is_in_dns() && !seed.search.found;
    return seed.is_named && (is_sought || !std::ranges::all_of(seed.places, is_settled));
  });
}

void Seeds::hurry(Time now) {
  for (Seed& seed : seeds_)
    for (Place& place : seed.places) place.next = now;
}

// ---------------------------------------------------------------- findings

template <class Change>
void Seeds::change(const Endpoint& at, Change change) {
  for (Seed& seed : seeds_)
    for (Place& place : seed.places)
      if (place.endpoint == at || place.address == at) change(place);
}

void Seeds::refused(const Endpoint& at) {
  change(at, [](Place& place) {
    place.finding = "nobody listens there";
    place.has_told = false;
  });
}

void Seeds::unanswered(const Endpoint& at) {
  change(at, [](Place& place) {
    place.finding =
        place.tells_key.value_or(false)
            ? fmt::format("a node answers there by UDP and not by TCP: open TCP port {}",
                          place.endpoint.port)
            : "the host does not answer";
  });
}

void Seeds::asked_for_key(const Endpoint& at, bool is_answered) {
  change(at, [is_answered](Place& place) { place.tells_key = is_answered; });
}

// Places that remain keep their state.
bool Seeds::take_addresses(Time now, Seed& seed, const std::vector<Endpoint>& addresses) {
  std::vector<Place> places;
  seed.search.has_own = false;
  for (const Endpoint& at : addresses) {
    seed.search.has_own |= is_own(at);
    const bool is_twice = std::ranges::find(places, at, &Place::endpoint) != places.end();
    if (is_own(at) || is_twice || at.port == 0 || places.size() >= kSeedAddressesLimit) continue;
    const auto known = std::ranges::find(seed.places, at, &Place::endpoint);
    places.push_back(known != seed.places.end()
                         ? std::exchange(*known, Place{})
                         : Place{.endpoint = at, .address = at, .next = now, .pause = pause_});
  }
  // Entries that were moved from have no endpoint.
  seed.search.gone.clear();
  for (Place& place : seed.places)
    if (!place.endpoint.host.empty()) seed.search.gone.push_back(std::move(place.endpoint));
  seed.places = std::move(places);
  seed.search.left = kAskedInTurn;
  return !seed.places.empty();
}

bool Seeds::resolved(Time now, const SeedName& at, const std::vector<Endpoint>& addresses) {
  if (at.is_in_dns()) {
    const auto seed = std::ranges::find(seeds_, at, &Seed::name);
    if (seed == seeds_.end()) return false;
    seed->search.asked.reset();
    seed->search.found = now;
    seed->search.problem.clear();
    return take_addresses(now, *seed, addresses);
  }
  bool is_new = false;
  if (addresses.empty()) return false;
  change(at.at, [&](Place& place) {
    if (place.endpoint != at.at || place.address == addresses.front()) return;
    place.address = addresses.front();
    place.finding.clear();
    place.next = now;
    is_new = true;
  });
  return is_new;
}

void Seeds::unresolved(Time now, const SeedName& at, const std::string& problem) {
  if (!at.is_in_dns()) return change(at.at, [&](Place& place) { place.finding = problem; });
  const auto seed = std::ranges::find(seeds_, at, &Seed::name);
  if (seed == seeds_.end()) return;
  seed->search.asked.reset();
  seed->search.found = now;
  seed->search.problem = problem;
}

void Seeds::has_told(const Endpoint& at) {
  change(at, [](Place& place) { place.has_told = true; });
}

// ---------------------------------------------------------------- reasons

// The sentence about a silent place whose host accepts connections.
std::string Seeds::silence(const Place& place) const {
  if (!is_numeric(place.address)) return "the host is looked up, and no name server answers";
  if (place.tells_key == false)
    return fmt::format(
        "no answer by UDP to the question for its key: open UDP port {} there, or name the key, "
        "{}#KEY",
        place.endpoint.port, to_string(place.endpoint));
  if (own_.port == 0)
    return "no answer; what listens there is no node, hangs, or knows another node of this name";
  if (is_loopback(own_) && !is_loopback(place.address))
    return fmt::format(
        "no answer; other machines cannot reach this node at {}: set listen.control, or "
        "listen.advertise, to an address that they reach",
        to_string(own_));
  return fmt::format(
      "no answer; what listens there is no node, hangs, or cannot reach this node at {}",
      to_string(own_));
}

// Empty: no problem.
std::string Seeds::reason(Time now, const Seed& seed, bool is_connected) const {
  const Place& place = seed.places.front();
  if (place.is_met || place.has_told) return {};
  const bool is_silent = place.finding.empty();
  if (is_silent && (is_connected || now - seed.since < kPatience)) return {};
  return is_silent ? silence(place) : place.finding;
}

// Members may be known by other addresses than those of the DNS: if some are known, only a name
// without addresses is reported.
std::string Seeds::reason_of_name(Time now, const Seed& seed, bool is_connected) const {
  const auto is_fine = [](const Place& place) { return place.is_met || place.has_told; };
  if (std::ranges::any_of(seed.places, is_fine)) return {};
  if (seed.places.empty() && !seed.search.problem.empty()) return seed.search.problem;
  const bool is_early = now - seed.since < kPatience;
  if (seed.places.empty()) {
    if (is_early || seed.search.has_own) return {};
    return seed.search.found ? "the name stands for no address"
                             : "the name is looked up, and no name server answers";
  }
  if (is_connected || is_early) return {};
  const Place& place = seed.places.front();
  const std::string what = place.finding.empty() ? silence(place) : place.finding;
  return fmt::format("no member at its {} address{}; {}: {}", seed.places.size(),
                     seed.places.size() == 1 ? "" : "es", to_string(place.endpoint), what);
}

std::vector<std::string> Seeds::reasons(Time now, bool is_connected) const {
  std::vector<std::string> reasons;
  for (const Seed& seed : seeds_) {
    if (!seed.is_named) continue;
    const std::string text = seed.name.is_in_dns() ? reason_of_name(now, seed, is_connected)
                                                   : reason(now, seed, is_connected);
    if (!text.empty())
      reasons.push_back(fmt::format("cluster.join = \"{}\": {}", to_string(seed.name), text));
  }
  return reasons;
}

}  // namespace starling::gossip
