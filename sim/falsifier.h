// Falsifier: what a liar tells each of its neighbours in place of its vector, by one lie and by all
// vectors that it has heard; see lies.h. Nodes are numbers here, those of its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "base/payload.h"
#include "gossip/wire/message.h"
#include "optim/codec/format.h"
#include "sim/lies.h"

namespace starling::sim {

class Falsifier {
 public:
  // By node, the entries of LieScene::split's eigenvector; empty: not known. Asked for in each
  // round until it is known.
  using Entries = std::function<std::vector<double>()>;

  // REQUIRES that `format` and `lie` are rows of their tables.
  Falsifier(const optim::Format& format, const Lie& lie, Entries entries)
      : format_(&format), lie_(&lie), ask_entries_(std::move(entries)) {}

  void hear(std::size_t from, const Payload& payload);
  // Falsifies the liar's vector `payload` to that node, of that round. A vector that is told again
  // is the same.
  void falsify(std::size_t to, gossip::Round& round, Payload& payload);

 private:
  using Vector = LieScene::Vector;
  struct Told {
    std::uint64_t number = 0;
    Payload payload;
  };

  void turn_round(std::uint64_t round);
  void find_split();
  double entry_of(std::size_t node) const;
  Payload lie(std::size_t to, const Payload& own);
  Vector decoded(const Payload& payload) const;

  const optim::Format* format_;
  const Lie* lie_;
  Entries ask_entries_;
  std::map<std::size_t, Vector> last_;  // by node
  Vector mean_, mean_before_, deviation_, split_, first_;
  std::vector<double> entries_;  // empty: not known
  std::uint64_t round_ = 0;
  std::size_t sent_ = 0;
  std::map<std::size_t, Told> told_;  // by receiver
};

}  // namespace starling::sim
