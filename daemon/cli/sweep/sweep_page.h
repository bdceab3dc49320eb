// SweepPage: the losses of a sweep over time and over bytes, as one HTML file that needs no other.
#pragma once

#include <span>
#include <string>

#include "daemon/cli/sweep/sweep_table.h"

namespace starling::daemon {

std::string sweep_page(const SweepTable& table, std::span<const GridPoint> points);

}  // namespace starling::daemon
