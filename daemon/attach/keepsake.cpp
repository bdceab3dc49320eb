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

// Null without bytes, and without memory for them.
std::shared_ptr<const TrainerState> state_in(const Payload& bytes) {
  if (bytes.size() == 0) return nullptr;
  auto state = TrainerState::copy_of(bytes);
  if (state) return *std::move(state);
  log::warning("the state of a trainer: {}", state.error().text);
  return nullptr;
}

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
  if (!trainer->hello.saves) return true;
  // What the donor shares is of a later round than what this node saved in an earlier life.
  for (const auto& [state, is_own] : {std::pair(own_, true), std::pair(donors_, false)}) {
    if (!state) continue;
    const auto answer = port_->ask(*trainer, LoadRequest{state, is_own});
    if (answer && !answer->refusal.empty())
      log::warning("the trainer did not take the state that was kept for it: {}", answer->refusal);
  }
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
    own_ = answer->state;
    donors_ = nullptr;
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
  const auto& state = own_ ? own_ : donors_;
  if ((plan_.is_shared || heir != optim::Heir::newcomer) && state)
    std::ranges::copy(TrainerState::bytes_of(state).pieces(), std::back_inserter(pieces));
  return Payload(std::move(pieces));
}

std::size_t Keepsake::share_limit(const Attached& trainer) {
  return sizeof(std::uint64_t) + trainer.table.donated_bytes() + state_limit(trainer);
}

void Keepsake::adopt(const Payload& shared, optim::Heir heir) {
  const auto parts = parts_of(shared);
  if (!parts) return;
  if (heir == optim::Heir::back) return recall(parts->state);
  known_.reset();
  tensors_.resize(parts->tensors.size());
  parts->tensors.copy_to(0, tensors_);
  own_ = donors_ = nullptr;
  if (heir == optim::Heir::self)
    own_ = state_in(parts->state);
  else if (plan_.is_shared)
    donors_ = state_in(parts->state);
}

void Keepsake::recall(const Payload& state) {
  own_ = state_in(state);
  if (own_)
    log::info("the trainer gets back what it saved before: its optimizer, and what it keeps");
  else
    log::warning(
        "no state of a trainer is in the checkpoint (trainer.save-every): its optimizer and what "
        "it keeps begin anew");
}

std::optional<Keepsake::Parts> Keepsake::parts_of(const Payload& shared) {
  std::uint64_t size = 0;
  if (shared.size() < sizeof(size)) return std::nullopt;
  shared.copy_to(0, std::as_writable_bytes(std::span(&size, 1)));
  const std::size_t begin = sizeof(size) + size;
  if (size > shared.size() - sizeof(size)) return std::nullopt;
  return Parts{shared.slice(sizeof(size), size), shared.slice(begin, shared.size() - begin)};
}

}  // namespace starling::daemon
