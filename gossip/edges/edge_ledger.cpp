#include "gossip/edges/edge_ledger.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/planted.h"

namespace starling::gossip {

double EdgeLedger::Pair::weight() const {
  if (PLANTED(weight_one_sided)) return own.share * theta();
  return std::min(own.share, theirs.share) * theta();
}

double EdgeLedger::Pair::span() const {
  return theta() > 0 ? std::max(own.span, theirs.span) / theta() : 0;
}

double EdgeLedger::Pair::theta() const {
  const std::uint64_t damping =
      PLANTED(step_one_sided) ? own.damping : std::max(own.damping, theirs.damping);
  return 1 - static_cast<double>(damping) / static_cast<double>(kDampingOne);
}

double EdgeLedger::Pair::reach() const {
  if (own.reach == 0 || theirs.reach == 0) return amount_of(std::max(own.reach, theirs.reach));
  return amount_of(std::min(own.reach, theirs.reach));
}

std::size_t EdgeLedger::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(sent_.kept(), [](const auto& item) { return !item.second.is_mixed; }));
}

bool EdgeLedger::takes_part() const {
  return !closed_ && waiting() <= kLateLimit + (owes_mean() ? 1 : 0) &&
         sent_.last() < received_.up_to() + ReceiveWindow::kSize;
}

std::uint64_t EdgeLedger::round_of_next() const {
  const std::uint64_t last = sent_.last(), newest = received_.newest();
  return last < newest ? 0 : newest_round_ + (last + order_.a_round - newest) / order_.a_round;
}

std::uint64_t EdgeLedger::round_of_mean() const {
  const bool is_awaited =
      order_.a_round == 2 && !owes_mean() && received_.newest() + 1 == sent_.last();
  return is_awaited ? newest_round_ : 0;
}

std::uint64_t EdgeLedger::offer(EdgeVector own) {
  ENSURE(!closed_, "a closed edge takes no more vectors");
  return sent_.offer(std::move(own));
}

bool EdgeLedger::acknowledge(std::uint64_t up_to, std::uint64_t beyond) {
  const bool is_news = sent_.acknowledge(up_to, beyond);
  if (is_news) forget_done();
  return is_news;
}

bool EdgeLedger::receive(std::uint64_t number, EdgeVector theirs) {
  const bool makes_pair =
      (!closed_ || number <= sent_.last()) && (!their_last_ || number <= *their_last_);
  if (!makes_pair || !received_.takes(number)) return false;
  if (number > received_.newest()) newest_round_ = theirs.round;
  received_.receive(number);
  theirs_[number] = std::move(theirs);
  return true;
}

bool EdgeLedger::lacks() const {
  const std::uint64_t announced = received_.announced();
  return (closed_ ? std::min(announced, sent_.last()) : announced) > received_.up_to();
}

std::vector<EdgeLedger::Pair> EdgeLedger::take() {
  std::vector<Pair> pairs;
  auto& kept = sent_.kept();
  for (auto item = theirs_.begin(); item != theirs_.end();) {
    const auto own = kept.find(item->first);
    if (own == kept.end() || (order_.is_kept && item->first > mixed_ + 1)) {
      ++item;
      continue;
    }
    mixed_ = std::max(mixed_, item->first);
    pairs.push_back({item->first, own->second.vector, std::move(item->second)});
    own->second.is_mixed = true;
    if (PLANTED(pair_mixed_twice)) pairs.push_back(pairs.back());
    item = theirs_.erase(item);
  }
  forget_done();
  return pairs;
}

bool EdgeLedger::is_whole(std::uint64_t number) const {
  return theirs_.contains(number) && sent_.kept().contains(number);
}

bool EdgeLedger::has_pairs() const {
  if (order_.is_kept) return is_whole(mixed_ + 1);
  return std::ranges::any_of(theirs_, [&](const auto& item) { return is_whole(item.first); });
}

bool EdgeLedger::is_waiting() const {
  return std::ranges::any_of(sent_.kept(),
                             [&](const auto& item) { return !received_.has(item.first); });
}

bool EdgeLedger::is_late() const {
  return !sent_.kept().empty() && sent_.kept().begin()->first < sent_.last();
}

bool EdgeLedger::is_open_question() const {
  if (!closed_) return sent_.acknowledged() < sent_.last();
  if (!their_last_) return true;
  const std::uint64_t pairs = std::min(sent_.last(), *their_last_);
  return sent_.acknowledged() < pairs || received_.up_to() < pairs;
}

void EdgeLedger::close() {
  closed_ = true;
  // The peer's vectors after this end's last one will never make a pair.
  std::erase_if(theirs_, [&](const auto& item) { return item.first > sent_.last(); });
  forget_done();
}

void EdgeLedger::closed_at(std::uint64_t last) {
  if (!their_last_) their_last_ = last;
  close();
}

void EdgeLedger::forget_done() {
  sent_.forget_done(their_last_.value_or(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace starling::gossip
