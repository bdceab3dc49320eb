// UTC: a moment of the calendar as text. The moment is an argument: nothing here reads a clock.
#pragma once

#include <cstdint>
#include <string>

namespace starling {

inline constexpr std::uint64_t kLatestMoment = 253'402'300'799;  // the last second of the year 9999

// Seconds since 1970 -> "2026-11-23 22:08 UTC". A moment after kLatestMoment is shown as that one.
std::string utc_text(std::uint64_t seconds);

}  // namespace starling
