#include "gossip/members/wishes.h"

#include <algorithm>
#include <cstddef>

namespace starling::gossip {
namespace {

constexpr std::size_t kEnough = 3;

// The second largest of the numbers that are added, without zeros.
class Second {
 public:
  void add(std::uint64_t number) {
    count_ += number > 0;
    second_ = std::max(second_, std::min(largest_, number));
    largest_ = std::max(largest_, number);
  }
  // The largest if they are fewer than kEnough.
  std::uint64_t value() const { return count_ < kEnough ? largest_ : second_; }

 private:
  std::size_t count_ = 0;
  std::uint64_t largest_ = 0, second_ = 0;
};

}  // namespace

std::uint64_t wished_steps(const Roster& members) {
  Second steps;
  for (const Member* member : members.present()) {
    if (member->phase != Phase::training || !members.agrees(*member)) continue;
    steps.add(member->wished_steps);
  }
  return steps.value();
}

}  // namespace starling::gossip
