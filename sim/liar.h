// Liar: a node of a world that trains and speaks as all others do, but for one lie; see lies.h.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "sim/falsifier.h"
#include "sim/lies.h"
#include "sim/world.h"

namespace starling::sim {

class Liar {
 public:
  // From the first message on. REQUIRES a world that is outlived by the liar, that `node` is one of
  // its nodes, and for a lie in vectors that these have a format (Options::format).
  Liar(World& world, std::size_t node, const Lie& lie);
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;

 private:
  void meet(Parcel& parcel);
  void meet_vector(const Hop& hop, gossip::Round& round, Payload& vector);
  void tell_record(gossip::Body& body) const;
  std::vector<double> entries() const;

  World* world_;
  std::size_t node_;
  const Lie* lie_;
  std::optional<Falsifier> falsifier_;
};

// Those of the options of the world.
std::deque<Liar> liars_of(World& world);

}  // namespace starling::sim
