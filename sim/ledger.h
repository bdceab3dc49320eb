// Ledger: laws about the numbers that pass between nodes. It knows of every vector who offered it
// in which round, by where its bytes lie: payloads travel by handle in a world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/violation.h"
#include "sim/world.h"

namespace starling::sim {

// Laws that hold only under conditions.
struct Laws {
  // Where both ends averaged with each other's vector of one round, their weights are the same.
  // Needs degrees that do not change between the offer and the end of a round.
  bool weights_symmetric = false;
  // The mean of all parameters stays while no rate of learning is above 0. Needs rounds that both
  // ends of an edge apply exactly once.
  bool mean_stays = false;
};

class Ledger {
 public:
  // REQUIRES a world that outlives it and a learning rate that is not below 0.
  Ledger(World& world, Laws laws, Report report)
      : world_(&world), laws_(laws), report_(std::move(report)), books_(world.size()) {}

  void see(std::size_t node, const gossip::Send& send);
  void see(std::size_t node, const gossip::Train& train);
  void see(std::size_t node, const gossip::Progress& progress);

 private:
  using Vector = std::vector<double>;
  struct Book {
    std::uint64_t life = 0;
    std::uint64_t offered_round = 0;
    std::optional<Vector> expected;  // the model after the job under way if nothing is learned
  };
  struct Offer {
    std::size_t node = 0;
    std::uint64_t life = 0, round = 0;
  };
  // Two nodes and their lives, the smaller first, and a round.
  using Edge = std::tuple<std::uint64_t, std::size_t, std::size_t, std::uint64_t, std::uint64_t>;
  struct Side {
    std::size_t node = 0;
    double weight = 0;
  };
  struct Sum {
    std::size_t nodes = 0;
    Vector total;
  };

  Book& book_of(std::size_t node);
  void compare_weights(std::size_t node, const Book& book, const optim::MixTerm& term);
  std::optional<Vector> mixed(std::size_t node, const optim::Job& job) const;
  void compare_model(std::size_t node, const Vector& expected, const Vector& model);
  void compare_mean(std::size_t node, std::uint64_t round, const Vector& model);

  World* world_;
  Laws laws_;
  Report report_;
  std::vector<Book> books_;
  std::unordered_map<const std::byte*, Offer> offers_;  // never iterated
  std::map<Edge, Side> weights_;                        // heard from one end so far
  std::map<std::uint64_t, Sum> sums_;                   // by round
  std::uint64_t lives_ = 0;                             // when the reference was taken
  std::optional<Vector> mean_;                          // the reference
};

}  // namespace starling::sim
