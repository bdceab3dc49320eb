// Geography: the regions where the machines of a world stand, and what lies between them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/time.h"

namespace starling::sim {

struct Geography {
  // Rates are bytes per second; 0: infinite.
  struct Place {
    std::size_t region = 0;
    double up = 0, down = 0;  // of the machine's own link
  };
  // One way from a region to another.
  struct Way {
    Duration delay{};
    double each = 0;    // of a connection
    double shared = 0;  // of all connections together
  };

  std::vector<std::string> regions;
  std::vector<Place> places;  // by node
  std::vector<Way> ways;      // from region a to b at a * regions.size() + b

  std::size_t way_index(std::size_t from, std::size_t to) const {
    return places[from].region * regions.size() + places[to].region;
  }
  const Way& way(std::size_t from, std::size_t to) const { return ways[way_index(from, to)]; }
  const std::string& region_of(std::size_t node) const { return regions[places[node].region]; }
};

}  // namespace starling::sim
