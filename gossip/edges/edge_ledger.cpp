#include "gossip/edges/edge_ledger.h"

#include <algorithm>

#include "base/check.h"
#include "base/planted.h"

namespace starling::gossip {
namespace {

// Numbers further ahead than this are refused: an honest end waits for its pairs long before.
constexpr std::uint64_t kWindow = 64;

}  // namespace

double EdgeLedger::Pair::weight() const {
  if (PLANTED(weight_one_sided)) return own.share;
  return std::min(own.share, theirs.share);
}

double EdgeLedger::Pair::span() const {
  return std::max(own.span, theirs.span);
}

std::size_t EdgeLedger::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(own_, [](const auto& item) { return !item.second.is_mixed; }));
}

bool EdgeLedger::takes_part() const {
  return !closed_ && waiting() <= kLateLimit && last_ < received_ + kWindow;
}

std::uint64_t EdgeLedger::round_of_next() const {
  return last_ < newest_ ? 0 : newest_round_ + (last_ + 1 - newest_);
}

std::uint64_t EdgeLedger::offer(Vector own) {
  ENSURE(!closed_, "a closed edge takes no more vectors");
  own_[++last_].vector = std::move(own);
  return last_;
}

bool EdgeLedger::acknowledge(std::uint64_t index, std::uint64_t beyond) {
  index = std::min(index, last_);
  for (auto& [number, own] : own_) {
    const bool is_beyond =
        number > index && number - index <= 64 && (beyond >> (number - index - 1) & 1) != 0;
    if (number > index && !is_beyond) continue;
    own.has_come = true;
    seen(own.order);
  }
  if (index <= acknowledged_) return false;
  acknowledged_ = index;
  forget_done();
  return true;
}

std::vector<std::uint64_t> EdgeLedger::lost() const {
  std::vector<std::uint64_t> lost;
  for (const auto& [number, own] : own_)
    if (!own.has_come && own.order > 0 && own.order < seen_) lost.push_back(number);
  return lost;
}

std::uint64_t EdgeLedger::newest_unconfirmed() const {
  std::uint64_t newest = 0;
  for (const auto& [number, own] : own_)
    if (!own.has_come) newest = std::max(newest, own.order);
  return newest;
}

std::uint64_t EdgeLedger::unconfirmed_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [number, own] : own_) bytes += own.has_come ? 0 : own.vector.payload.size();
  return bytes;
}

std::uint64_t EdgeLedger::beyond() const {
  std::uint64_t bits = 0;
  for (const std::uint64_t number : beyond_)
    if (number - received_ <= 64) bits |= std::uint64_t{1} << (number - received_ - 1);
  return bits;
}

bool EdgeLedger::receive(std::uint64_t index, Vector theirs) {
  const bool is_expected = index > 0 && index <= received_ + kWindow &&
                           (!closed_ || index <= last_) && (!their_last_ || index <= *their_last_);
  if (!is_expected || has(index)) return false;
  if (index > newest_) newest_ = index, newest_round_ = theirs.round;
  announced(index);
  theirs_[index] = std::move(theirs);
  beyond_.insert(index);
  while (beyond_.erase(received_ + 1) > 0) ++received_;
  return true;
}

void EdgeLedger::announced(std::uint64_t index) {
  if (index <= received_ + kWindow) announced_ = std::max(announced_, index);
}

std::vector<EdgeLedger::Pair> EdgeLedger::take() {
  std::vector<Pair> pairs;
  for (auto item = theirs_.begin(); item != theirs_.end();) {
    const auto own = own_.find(item->first);
    if (own == own_.end()) {
      ++item;
      continue;
    }
    pairs.push_back({item->first, own->second.vector, std::move(item->second)});
    own->second.is_mixed = true;
    if (PLANTED(pair_mixed_twice)) pairs.push_back(pairs.back());
    item = theirs_.erase(item);
  }
  forget_done();
  return pairs;
}

bool EdgeLedger::has_pairs() const {
  return std::ranges::any_of(theirs_, [&](const auto& item) { return own_.contains(item.first); });
}

bool EdgeLedger::is_waiting() const {
  return std::ranges::any_of(own_, [&](const auto& item) { return !has(item.first); });
}

bool EdgeLedger::is_open_question() const {
  if (!closed_) return acknowledged_ < last_;
  if (!their_last_) return true;
  const std::uint64_t pairs = std::min(last_, *their_last_);
  return acknowledged_ < pairs || received_ < pairs;
}

void EdgeLedger::close() {
  closed_ = true;
  // Of what it offered beyond, no pair will ever be whole.
  std::erase_if(theirs_, [&](const auto& item) { return item.first > last_; });
  forget_done();
}

void EdgeLedger::closed_at(std::uint64_t last) {
  if (!their_last_) their_last_ = last;
  close();
}

void EdgeLedger::forget_done() {
  std::erase_if(own_, [&](const auto& item) {
    const bool is_paired = !their_last_ || item.first <= *their_last_;
    return !is_paired || (item.second.is_mixed && item.first <= acknowledged_);
  });
}

}  // namespace starling::gossip
