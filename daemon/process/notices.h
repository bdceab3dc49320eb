// Notices: which warnings are new, so that each is said once, however often it is looked at.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace starling::daemon {

class Notices {
 public:
  // Those that were not there lately. One whose measured numbers alone have changed is not new.
  std::vector<std::string> take_new(Time now, std::span<const std::string> warnings);
  // Somebody has said this already.
  void said(Time now, std::string_view warning);

 private:
  // A warning that was away for longer is new again. Longer: one that comes back is said later.
  static constexpr Duration kMemory = std::chrono::seconds(60);
  static constexpr std::size_t kLimit = 1024;

  std::map<std::string, Time> seen_;
};

}  // namespace starling::daemon
