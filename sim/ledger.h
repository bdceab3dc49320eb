// Ledger: laws about the numbers that pass between nodes. It knows of every vector who offered it
// in which round, by where its bytes lie and who owns them: payloads travel by handle in a world.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/world.h"

namespace starling::sim {

// A law that did not hold, and where and when that was seen.
struct Violation {
  std::string law;  // its short name, the same for every breach of it
  Time at{};
  std::size_t node = 0;
  std::string what = {};
};

// Whoever finds one hands it on by this.
using Report = std::function<void(std::string law, std::size_t node, std::string what)>;

inline std::string to_text(const Violation& violation, std::uint64_t seed) {
  return fmt::format("seed {} fails: {}, at {:.6f} s, node-{}: {}", seed, violation.law,
                     seconds(violation.at), violation.node, violation.what);
}

// Where its first byte lies, which tells vectors apart; null for none.
const std::byte* address_of(const Payload& payload);

class Ledger {
 public:
  // REQUIRES a world that outlives it and a learning rate that is not below 0.
  Ledger(World& world, Report report)
      : world_(&world), report_(std::move(report)), books_(world.options().nodes) {}

  void see(std::size_t node, const gossip::Send& send);
  void see(std::size_t node, const gossip::Train& train);
  void see(std::size_t node, const gossip::Progress& progress);
  // Whatever one end of an edge averaged with, the other did too, if both still live and it is not
  // of the last rounds.
  void expect_settled();

 private:
  // One direction of one opening of an edge.
  struct Direction {
    std::size_t from = 0;
    NodeId to;
    std::uint64_t epoch = 0, echo = 0;

    auto operator<=>(const Direction&) const = default;
  };
  using Vector = std::vector<double>;
  struct Book {
    std::uint64_t life = 0;
    std::uint64_t offered_round = 0;
    std::optional<bool> in_slices = {};   // since other settings hold
    bool is_of_start = true;              // its vectors mean what they meant at first
    std::uint64_t abandoned = 0;          // edges that were given up by renewals,
    std::uint64_t abandoned_until = 0;    // the last of which began in this round
    std::optional<Vector> expected = {};  // the model after the job under way if nothing is learned
  };
  struct Offer {
    std::size_t node = 0;
    std::uint64_t life = 0, round = 0;
    bool is_of_means = false;  // in slices: the second vector of its round

    auto operator<=>(const Offer&) const = default;
  };
  // Two vectors that are averaged with each other, the lesser first, by their first offers.
  struct Pair {
    std::pair<Offer, Offer> vectors;
    std::uint64_t number = 0;  // on the edge: rounds without a step offer the same vectors again

    auto operator<=>(const Pair&) const = default;
  };
  struct Entry {
    double weight = 0;
    std::array<bool, 2> is_mixed{};  // by the node of the first, of the second
  };

  // A vector that was offered. Its bytes may be freed, and another vector may lie there later.
  // Rounds between which the model does not change have one vector: the first and the last of
  // these rounds in which it was offered. Each may be sent again after a loss.
  struct Offered {
    std::weak_ptr<const void> owner;
    Offer first, last;
  };

  Book& book_of(std::size_t node);
  // Null for what no node has offered, such as a false vector.
  const Offered* find(const Payload& vector) const;
  void count_bytes(std::size_t node, const gossip::Send& send);
  void enter(std::size_t node, const optim::MixTerm& term);
  std::optional<Vector> mixed(std::size_t node, const optim::Job& job) const;

  World* world_;
  Report report_;
  std::vector<Book> books_;
  std::unordered_map<const std::byte*, Offered> offers_;  // never iterated
  std::map<Pair, Entry> pairs_;
  std::map<Direction, std::uint64_t> numbered_;  // the highest number that was sent
  double first_bytes_ = 0, again_bytes_ = 0;     // of numbered vectors
};

}  // namespace starling::sim
