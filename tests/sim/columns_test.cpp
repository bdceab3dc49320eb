// Columns apart: sites with other columns of the same rows come to the optimum of the joined table,
// whatever the network does, and to that of the columns that are left where a site is lost.
#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "sim/simulation.h"
#include "tests/lengths.h"
#include "tests/sim/cluster.h"
#include "tests/sim/columns_world.h"
#include "tests/sim/legal_ways.h"

using namespace starling;
using namespace starling::test;
using models::Loss, topology::Kind;

namespace {

constexpr double kExact = 1e-6;  // of all weights, relative

class Apart : public Cluster {
 public:
  Apart(const ColumnsTable& table, const sim::Options& options)
      : Cluster(options, columns_trainers(table)), table_(table), judge_(table) {
    start_all();
  }
  Apart(const ColumnsTable& table, Kind kind, double loss = 0, double straggler = 1)
      : Apart(table, options_of(table.sites, kind, loss, straggler)) {}

  double error() { return judge_.error(world); }
  double error_of_all() { return judge_.error(world, true); }
  bool becomes_exact(Duration limit) {
    for (const Time end = world.now() + limit; world.now() < end;) {
      if (error() <= kExact) return true;
      world.run_until(world.now() + 10ms);
    }
    MESSAGE("error ", error(), " in round ", round(0));
    return false;
  }
  std::uint64_t rounds_to_exact() {
    CHECK(becomes_exact(60s));
    return round(holder_of(table_));
  }
  void expect_sound() const {
    for (const sim::Violation& violation : checker.violations())
      FAIL_CHECK(sim::to_text(violation, world.options().seed));
  }

 private:
  static sim::Options options_of(std::size_t sites, Kind kind, double loss, double straggler) {
    sim::Options options = reference_world(sites, kind, columns_training());
    options.base.expect = sites;
    options.network.loss = loss;
    options.straggler = straggler;
    return options;
  }

  ColumnsTable table_;
  ColumnsJudge judge_;
};

ColumnsTable table_of(Loss loss, std::size_t sites = 3, double l2 = 1e-2) {
  return {.loss = loss, .sites = sites, .rows = full_or<std::size_t>(400, 60), .l2 = l2};
}

const std::vector<Loss> kLosses{Loss::squared, Loss::logistic, Loss::cross_entropy};

struct Rounds {
  Loss loss;
  double l2;
  std::size_t sites;
  Kind kind;
  std::uint64_t known;  // of consensus ADMM with the best penalty of a few, in one place
};

// Of each loss: all are exact, the site ends, the others are looked at, and it comes back.
void lose_for_a_while(std::size_t site, const std::function<void(Apart&)>& look) {
  for (const Loss loss : kLosses) {
    Apart apart(table_of(loss), Kind::complete);
    CHECK(apart.becomes_exact(60s));
    apart.world.crash(site);
    look(apart);
    apart.world.start(site);
    CHECK(apart.becomes_exact(60s));
    apart.expect_sound();
  }
}

}  // namespace

// The rounds of an oracle of three sites, of two with ridge and of five with logistic loss.
TEST_CASE("Columns of two three and five sites come to the joined optimum in as many rounds") {
  const std::vector<Rounds> known{{Loss::squared, 1e-2, 3, Kind::complete, 63},
                                  {Loss::squared, 1e-2, 3, Kind::path, 123},
                                  {Loss::squared, 1e-1, 2, Kind::path, 37},
                                  {Loss::logistic, 1e-2, 3, Kind::complete, 165},
                                  {Loss::logistic, 1e-2, 3, Kind::path, 237},
                                  {Loss::logistic, 1e-2, 5, Kind::path, 459},
                                  {Loss::squared, 1e-3, 3, Kind::complete, 63},
                                  {Loss::squared, 1e-3, 3, Kind::path, 123},
                                  {Loss::squared, 1e-4, 3, Kind::complete, 63},
                                  {Loss::squared, 1e-4, 3, Kind::path, 123},
                                  {Loss::logistic, 1e-3, 3, Kind::complete, 171},
                                  {Loss::logistic, 1e-3, 3, Kind::path, 275},
                                  {Loss::logistic, 1e-4, 3, Kind::complete, 214},
                                  {Loss::logistic, 1e-4, 3, Kind::path, 293}};
  for (const Rounds& one : all_or_first(6, known)) {
    Apart apart(table_of(one.loss, one.sites, one.l2), one.kind);
    const std::uint64_t rounds = apart.rounds_to_exact();
    CAPTURE(one.sites);
    CAPTURE(one.l2);
    MESSAGE("rounds ", rounds, " of ", one.known);
    CHECK(static_cast<double>(rounds) <= 1.5 * static_cast<double>(one.known));
    apart.expect_sound();
  }
}

TEST_CASE("Columns come to the joined optimum over a network that loses messages") {
  for (const Loss loss : kLosses)
    for (const double lost : all_or_first(1, {.3, .5})) {
      Apart apart(table_of(loss), Kind::complete, lost);
      CHECK(apart.becomes_exact(120s));
      apart.expect_sound();
    }
}

TEST_CASE("Columns come to the joined optimum where one site takes ten times as long") {
  for (const Loss loss : kLosses) {
    Apart apart(table_of(loss), Kind::complete, 0, 10);
    CHECK(apart.becomes_exact(240s));
    apart.expect_sound();
  }
}

// The sites that are left come to the optimum of their columns, and back to that of all.
TEST_CASE("Columns are learned on without a site that is lost and with it once it is back") {
  lose_for_a_while(2, [](Apart& apart) { CHECK(apart.becomes_exact(60s)); });
}

// Without the target the other sites keep the weights that they have.
TEST_CASE("Columns wait for the site with the target") {
  lose_for_a_while(holder_of(table_of(Loss::squared)), [](Apart& apart) {
    apart.world.run_until(apart.world.now() + 20s);
    CHECK(apart.error_of_all() <= 10 * kExact);
  });
}

// By every schedule and sequence of graphs that admm allows; in the short form each with one loss.
TEST_CASE("Columns come to the joined optimum by every legal way") {
  std::size_t turn = 0;
  for (const LegalWay& way : legal_ways()) {
    if (way.algorithm != columns_training().algorithm) continue;
    ++turn;
    for (std::size_t k = 0; k < kLosses.size(); ++k) {
      if (!tries_full() && k != turn % kLosses.size()) continue;
      CAPTURE(way.name);
      const optim::Options training = training_by(way, columns_training());
      Apart apart(table_of(kLosses[k]), world_by(way, training, 3, 0.1));
      CHECK(apart.becomes_exact(240s));
      apart.expect_sound();
    }
  }
}
