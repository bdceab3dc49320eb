#include "gossip/node/life.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/check.h"

namespace starling::gossip {
namespace {

// Of a type among those of a variant.
template <class P, class... All>
constexpr std::size_t place_in(const std::variant<All...>*) {
  constexpr std::array kIs = {std::is_same_v<P, All>...};
  return static_cast<std::size_t>(std::ranges::find(kIs, true) - kIs.begin());
}

template <class... P>
constexpr std::array<std::size_t, sizeof...(P)> kPlaces = {
    place_in<P>(static_cast<const LifePhase*>(nullptr))...};

using namespace phases;

constexpr std::array<PhaseRow, std::variant_size_v<LifePhase>> kPhaseRows = {{
    {"gathering", Phase::joining, State::joining, false, kPlaces<Assigning>},
    {"assigning", Phase::joining, State::joining, false, kPlaces<Surveying, Fetching, Adopting>},
    {"surveying", Phase::joining, State::joining, false, kPlaces<Founding, Fetching>},
    {"founding", Phase::joining, State::joining, false, kPlaces<Surveying, Fetching>},
    {"fetching", Phase::joining, State::joining, false,
     kPlaces<Surveying, Adopting, Resuming, Ready>},
    {"adopting", Phase::joining, State::joining, false, kPlaces<Fetching, Ready>},
    {"resuming", Phase::joining, State::joining, false, kPlaces<Ready>},
    {"ready", Phase::training, State::training, true, kPlaces<Fetching, Computing>},
    {"computing", Phase::training, State::training, false,
     kPlaces<Waiting, Renewing, Paused, Ending>},
    {"waiting", Phase::training, State::training, true, kPlaces<Computing>},
    {"renewing", Phase::training, State::training, true, kPlaces<Computing>},
    {"paused", Phase::paused, State::paused, true, kPlaces<Computing, Ending>},
    {"ending", Phase::ending, State::ending, true, kPlaces<Settling>},
    {"settling", Phase::ending, State::settling, true, kPlaces<Sealing>},
    {"sealing", Phase::ending, State::sealing, true, kPlaces<Finished>},
    {"finished", Phase::finished, State::finished, true, {}},
}};

}  // namespace

std::span<const PhaseRow> phase_rows() {
  return kPhaseRows;
}

bool Life::may_enter(const LifePhase& next) const {
  return errand_ == Errand::none && std::ranges::count(row().after, next.index()) == 1;
}

void Life::enter(Time now, LifePhase next) {
  ENSURE(may_enter(next), "a phase follows as the table says, after the errands of the last");
  phase_ = std::move(next);
  since_ = now;
}

void Life::run(Errand errand) {
  ENSURE(is_free(), "one errand at a time is run, while the training rests");
  errand_ = errand;
}

}  // namespace starling::gossip
