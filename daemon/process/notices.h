// Notices: finds new warnings, so that each is reported once.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace starling::daemon {

// The text without its measured numbers: a key under which texts that differ in them are one.
std::string without_measures(std::string_view text);

class Notices {
 public:
  // Returns warnings not seen in the last minute. A warning that differs only in numbers is not
  // new.
  std::vector<std::string> take_new(Time now, std::span<const std::string> warnings);
  // The warning has been reported already.
  void said(Time now, std::string_view warning);

 private:
  // A warning that was absent for longer is new again. Longer: a returning one is reported later.
  static constexpr Duration kMemory = std::chrono::seconds(60);
  static constexpr std::size_t kLimit = 1024;

  std::map<std::string, Time> seen_;
};

}  // namespace starling::daemon
