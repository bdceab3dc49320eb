// Liar: a node of a world that trains and speaks as all others do, but for the vectors that it
// sends; see lies.h.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/falsifier.h"
#include "sim/lies.h"
#include "sim/world.h"

namespace starling::sim {

class Liar {
 public:
  // From the first vector on. REQUIRES a world that is outlived by the liar, whose vectors have a
  // format (Options::format), and that `node` is one of its nodes.
  Liar(World& world, std::size_t node, const Lie& lie);
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;

 private:
  void meet(Parcel& parcel);
  std::vector<double> entries() const;

  World* world_;
  std::size_t node_;
  Falsifier falsifier_;
};

}  // namespace starling::sim
