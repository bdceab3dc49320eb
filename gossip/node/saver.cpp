#include "gossip/node/saver.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gossip/node/coming_round.h"

namespace starling::gossip {
namespace {

// The longest pause after a failure. Longer: the node notices later that the disk has room again.
// Shorter: a broken disk costs more copies.
constexpr Duration kRetryPause = std::chrono::seconds(10);
// How long to wait for an agreed round. Longer: a false round blocks the next agreement for longer.
// Shorter: nodes whose rounds take minutes do not save together.
constexpr Duration kWishPatience = std::chrono::minutes(10);

}  // namespace

void Saver::agree(Time now, std::uint64_t round) {
  if (!plan_.is_kept || round <= agreed_round() || round == given_up_) return;
  status_.fleet_round = round;
  is_agreed_ = true;
  agreed_at_ = now;
}

void Saver::hear(Time now, const Roster& members, std::uint64_t own) {
  const std::uint64_t last = believable_round(members, own);
  for (const Member* member : members.ready())
    if (member->save_at <= last) agree(now, member->save_at);
}

void Saver::tick(Time now, Outbox& out) {
  if (!is_agreed_ || is_busy() || now < agreed_at_ + kWishPatience) return;
  given_up_ = agreed_round();
  is_agreed_ = false;
  status_.fleet_round.reset();
  out.event(Event::Kind::problem,
            fmt::format("gave up saving after round {}: it was not reached in {:.0f} s", given_up_,
                        seconds(kWishPatience)));
}

bool Saver::is_due(Time now, std::uint64_t round, bool rests) const {
  if (!plan_.is_kept || is_busy()) return false;
  if (is_wanted_ || rests || (is_agreed_ && round >= agreed_round())) return true;
  if (!status_.problem.empty()) return is_time_to_retry(now);
  if (plan_.every > Duration{} && now - begun_at_ >= plan_.every) return true;
  return plan_.rounds > 0 && round / plan_.rounds > begun_round_ / plan_.rounds;
}

bool Saver::is_due_at_rest(Time now, std::uint64_t round) const {
  if (!plan_.is_kept || is_busy()) return false;
  if (is_wanted_ || begun_round_ != round) return true;
  return !status_.problem.empty() && is_time_to_retry(now);
}

bool Saver::is_time_to_retry(Time now) const {
  const Duration pause = plan_.every > Duration{} ? plan_.every : kRetryPause;
  return now - begun_at_ >= std::min(pause, kRetryPause);
}

void Saver::begin(Time now, Checkpoint checkpoint) {
  is_wanted_ = false;
  if (checkpoint.round >= agreed_round()) is_agreed_ = false;
  begun_at_ = now;
  begun_round_ = checkpoint.round;
  pending_ = std::move(checkpoint);
  pending_->foundation = foundation_;
  pending_->members = members_;
  status_.is_writing = true;
}

void Saver::made(std::shared_ptr<const optim::SavedState> state, Outbox& out) {
  if (!pending_ || pending_->state) return;
  pending_->state = state;
  Checkpoint checkpoint = *pending_;
  out.put(Save{std::move(checkpoint)});
}

void Saver::saved(Time now, const Saved& result, Outbox& out) {
  if (!pending_ || !pending_->state) return;
  const Checkpoint checkpoint = *std::exchange(pending_, std::nullopt);
  status_.is_writing = false;
  status_.problem = result.problem;
  if (!result.problem.empty()) return;
  status_.round = checkpoint.round;
  status_.generation = result.generation;
  status_.bytes = result.bytes;
  status_.saved_at = now;
  status_.took = now - begun_at_;
  out.event(Event::Kind::saved,
            fmt::format("saved round {} as generation {}", checkpoint.round, result.generation));
}

}  // namespace starling::gossip
