// ReceiveWindow: which of the peer's numbered vectors have arrived, in any order, and which the
// peer has offered.
#pragma once

#include <cstdint>
#include <set>

namespace starling::gossip {

class ReceiveWindow {
 public:
  // Numbers further ahead than this are refused: an honest peer waits for its pairs long before.
  static constexpr std::uint64_t kSize = 64;

  bool takes(std::uint64_t number) const {
    return number > 0 && number <= received_ + kSize && !has(number);
  }
  // REQUIRES takes(number).
  void receive(std::uint64_t number);
  bool has(std::uint64_t number) const { return number <= received_ || beyond_.contains(number); }
  // The peer has offered all vectors up to `number`.
  void announced(std::uint64_t number);
  std::uint64_t announced() const { return announced_; }
  // Whether a vector has arrived before an earlier one.
  bool has_gap() const { return newest_ > received_; }
  // The highest number that has arrived.
  std::uint64_t newest() const { return newest_; }
  // All numbers up to this one have arrived.
  std::uint64_t up_to() const { return received_; }
  // The numbers above up_to() that have arrived, encoded as Round::beyond.
  std::uint64_t beyond() const;

 private:
  std::uint64_t received_ = 0;
  std::set<std::uint64_t> beyond_;
  std::uint64_t newest_ = 0;
  std::uint64_t announced_ = 0;
};

}  // namespace starling::gossip
