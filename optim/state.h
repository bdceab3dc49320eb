// State: places in a part of the trainer, by name, that hold its memory between steps: read them to
// save, overwrite them to restore. Valid until the next call of the owner. To add what a trainer
// remembers: a place in its part's State; newcomers, checkpoints and the disk follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/payload.h"

namespace starling::optim {

// The user of a saved state: another node that joins, or this node in its next life; rested: and no
// step follows what is saved in this one; back: with the model that the others have by then.
enum class Heir { newcomer, self, rested, back };

template <class S>
struct State {
  template <class Place>
  using Named = std::vector<std::pair<std::string, Place>>;
  // One vector for each edge, by the id of its life.
  using OfEdges = std::map<std::uint64_t, std::vector<S>>;

  // For every heir. How many there are never changes. Vectors are of the model's dimension.
  Named<std::span<S>> vectors = {};
  Named<double*> numbers = {};
  // For the node itself.
  Named<std::variant<double*, std::uint64_t*, bool*>> own = {};
  Named<std::vector<std::uint32_t>*> orders = {};  // of indices, each below their number
  Named<OfEdges*> edges = {};                      // vectors of the model's dimension
  // Data that only the learner reads, and the most bytes of it at another node.
  Payload opaque = {};
  std::size_t opaque_limit = 0;

  // Adds the places of a part, with its name as a prefix.
  void add(std::string_view part, const State& other) {
    const auto append = [part](auto& to, const auto& from) {
      for (const auto& [name, place] : from) to.emplace_back(std::string(part) + "." + name, place);
    };
    append(vectors, other.vectors);
    append(numbers, other.numbers);
    append(own, other.own);
    append(orders, other.orders);
    append(edges, other.edges);
    if (!other.opaque.empty()) opaque = other.opaque;
    opaque_limit += other.opaque_limit;
  }
};

}  // namespace starling::optim
