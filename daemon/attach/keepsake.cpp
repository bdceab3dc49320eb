#include "daemon/attach/keepsake.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "daemon/process/log.h"

namespace starling::daemon {
namespace {

// Saving takes at most one part in so many of a trainer's time.
constexpr int kSavingShare = 50;

}  // namespace

bool Keepsake::greet(const std::shared_ptr<const Attached>& trainer) {
  if (known_.lock() == trainer) return false;
  known_ = trainer;
  std::span<const std::byte> left(tensors_);
  // The types of another trainer's tensors may be others.
  if (left.size() == trainer->table.donated_bytes())
    for_each_donated(*trainer, [&](std::span<std::byte> tensor) {
      std::ranges::copy(left.first(tensor.size()), tensor.begin());
      left = left.subspan(tensor.size());
    });
  if (!state_ || !trainer->hello.saves) return true;
  const auto answer = port_->ask(*trainer, LoadRequest{state_, is_own_});
  if (answer && !answer->refusal.empty())
    log::warning("the trainer did not take the state that was kept for it: {}", answer->refusal);
  return true;
}

void Keepsake::keep(const Attached& trainer) {
  if (const auto donated = port_->donated()) tensors_ = *donated;
  if (trainer.hello.saves && is_due(clock_())) save(trainer);
}

void Keepsake::refresh(const std::shared_ptr<const Attached>& trainer) {
  const bool saves = trainer && trainer->hello.saves && plan_.every > Duration{};
  if (saves && known_.lock() == trainer) save(*trainer);
}

bool Keepsake::is_due(Time now) const {
  if (plan_.every <= Duration{}) return false;
  return !has_tried_ || now - saved_at_ >= std::max(plan_.every, kSavingShare * cost_);
}

void Keepsake::save(const Attached& trainer) {
  const Time begun = clock_();
  const auto answer = port_->ask(trainer, SaveRequest{});
  saved_at_ = clock_();
  cost_ = saved_at_ - begun;
  const bool is_first = !std::exchange(has_tried_, true);
  if (!answer) return;
  if (answer->state) {
    state_ = answer->state;
    is_own_ = true;
  } else if (is_first) {
    log::warning("the trainer saves no state: {}",
                 answer->refusal.empty() ? "it gave no reason" : answer->refusal);
  }
}

Payload Keepsake::share(optim::Heir heir) const {
  std::vector<std::byte> head(sizeof(std::uint64_t));
  const std::uint64_t size = tensors_.size();
  std::memcpy(head.data(), &size, sizeof(size));
  head.insert(head.end(), tensors_.begin(), tensors_.end());
  std::vector<Payload::Piece> pieces = Payload::copy_of(head).pieces();
  if ((plan_.is_shared || heir != optim::Heir::newcomer) && state_)
    std::ranges::copy(TrainerState::bytes_of(state_).pieces(), std::back_inserter(pieces));
  return Payload(std::move(pieces));
}

std::size_t Keepsake::share_limit(const Attached& trainer) {
  return sizeof(std::uint64_t) + trainer.table.donated_bytes() + state_limit(trainer);
}

void Keepsake::adopt(const Payload& shared, optim::Heir heir) {
  std::uint64_t size = 0;
  if (shared.size() < sizeof(size)) return;
  shared.copy_to(0, std::as_writable_bytes(std::span(&size, 1)));
  if (size > shared.size() - sizeof(size)) return;
  known_.reset();
  tensors_.resize(size);
  shared.copy_to(sizeof(size), tensors_);
  const std::size_t begin = sizeof(size) + size;
  const bool is_own = heir == optim::Heir::self;
  if (!(plan_.is_shared || is_own) || begin == shared.size()) return;
  auto state = TrainerState::copy_of(shared.slice(begin, shared.size() - begin));
  if (!state) return log::warning("the state of a trainer: {}", state.error().text);
  state_ = *std::move(state);
  is_own_ = is_own;
}

}  // namespace starling::daemon
