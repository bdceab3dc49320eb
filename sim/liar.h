// Liar: a node of a world that trains and speaks as all others do, but for the vectors that it
// sends; see lies.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/payload.h"
#include "optim/codec/format.h"
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
  using Vector = LieScene::Vector;
  // A vector that is sent again must be the same.
  struct Told {
    std::uint64_t index = 0;
    Payload payload;
  };

  void meet(Parcel& parcel);
  void hear(std::size_t from, const Payload& payload);
  void turn_round(std::uint64_t round);
  Payload lie(std::size_t to, const Payload& own);
  void find_split();
  Vector decoded(const Payload& payload) const;

  World* world_;
  std::size_t node_;
  const Lie* lie_;
  std::vector<Vector> last_;  // by node; empty: nothing yet
  Vector mean_, mean_before_, deviation_, split_, first_;
  std::vector<double> entries_;  // of the eigenvector, by node; empty: not known
  std::uint64_t round_ = 0;
  std::size_t sent_ = 0;
  std::map<std::size_t, Told> told_;  // by receiver
};

}  // namespace starling::sim
