#include "daemon/process/board.h"

#include <chrono>
#include <utility>

namespace starling::daemon {
namespace {

using namespace std::chrono_literals;

// A snapshot takes time of the thread that passes jobs to the trainer: frequent requests get old
// ones.
constexpr OnDemand<Snapshot>::Ages kAges{.fresh = 50ms, .often = 100ms, .usable = 200ms};
constexpr auto kPatience = 250ms;

}  // namespace

void Board::set_wake(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

std::function<void()> Board::wake() const {
  const std::lock_guard lock(mutex_);
  return wake_;
}

OnDemand<Snapshot>::Asked Board::ask() {
  if (!snapshot_.last()) return OnDemand<Snapshot>::Asked(nullptr);
  return snapshot_.ask(wake(), kAges, kPatience);
}

OnDemand<Model>::Asked Board::ask_model() {
  return model_.ask(wake(), {0ms, 0ms, 0ms}, kModelPatience);
}

void Board::add(const gossip::Progress& point, const gossip::FleetStatus& fleet) {
  const std::lock_guard lock(mutex_);
  fleet_.add(point, fleet);
  series_.add(point.round, point.is_evaluated(), [&](gossip::Progress& kept) { kept = point; });
}

std::vector<gossip::Progress> Board::series_from(std::uint64_t round) const {
  const std::lock_guard lock(mutex_);
  return series_.points(round);
}

std::vector<FleetPoint> Board::fleet_from(std::uint64_t round) const {
  const std::lock_guard lock(mutex_);
  return fleet_.points(round);
}

void Board::add(Time now, const gossip::Event& event) {
  const std::lock_guard lock(mutex_);
  events_.add(now, event);
}

std::vector<LoggedEvent> Board::events_since(std::uint64_t sequence, std::size_t limit) const {
  const std::lock_guard lock(mutex_);
  return events_.since(sequence, limit);
}

EventCounts Board::event_counts() const {
  const std::lock_guard lock(mutex_);
  return events_.counts();
}

bool Board::leave_command(Command command) {
  std::unique_lock lock(mutex_);
  const bool pauses = std::holds_alternative<gossip::PauseCommand>(command);
  if (pauses || std::holds_alternative<gossip::ResumeCommand>(command)) {
    rest_.people = pauses;
    rest_.is_new = true;
  } else if (commands_.size() >= kCommandsLimit) {
    return false;
  } else {
    commands_.push_back(std::move(command));
  }
  lock.unlock();
  if (const auto wake = this->wake()) wake();
  return true;
}

void Board::set_trainer_here(bool is_here) {
  std::unique_lock lock(mutex_);
  rest_.trainer = !is_here;
  rest_.is_new = true;
  lock.unlock();
  if (const auto wake = this->wake()) wake();
}

std::vector<Command> Board::take_commands() {
  const std::lock_guard lock(mutex_);
  std::vector<Command> commands = std::exchange(commands_, {});
  if (!std::exchange(rest_.is_new, false)) return commands;
  if (rest_.people || rest_.trainer)
    commands.emplace_back(gossip::PauseCommand{});
  else
    commands.emplace_back(gossip::ResumeCommand{});
  return commands;
}

void Board::set_describer(Describer describer) {
  const std::lock_guard lock(mutex_);
  describer_ = std::move(describer);
}

void Board::set_foundation(std::string foundation) {
  const std::lock_guard lock(mutex_);
  foundation_ = std::move(foundation);
}

Result<models::ModelCard> Board::card() const {
  std::unique_lock lock(mutex_);
  const Describer describer = describer_;
  const std::string foundation = foundation_;
  lock.unlock();
  if (!describer) return fail("the data are not loaded yet");
  return describer(foundation);
}

}  // namespace starling::daemon
