// What partial views (sim/partial_views.h) take and how soon they are right, for the table of
// docs/many-members.md.
//   bench_views 100000
// Half of the nodes die at once, after the views have found their rings.
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "sim/partial_views.h"

using starling::sim::PartialViews;

namespace {

constexpr int kCyclesMost = 120;

template <class Claim>
int cycles_until(PartialViews& views, Claim claim) {
  int cycles = 0;
  while (cycles < kCyclesMost && !claim()) views.run_cycle(), ++cycles;
  return cycles;
}

void tell(PartialViews& views, const char* when) {
  const std::size_t nodes = views.alive().size();
  const int joined = cycles_until(views, [&] { return views.largest_part() == nodes; });
  const int nearly = joined + cycles_until(views, [&] { return views.right_neighbors() > 0.999; });
  const int right = nearly + cycles_until(views, [&] { return views.right_neighbors() == 1; });
  const int counted = right + cycles_until(views, [&] { return views.count_error() < 0.15; });
  views.take_traffic();
  views.run_cycle();
  const auto traffic = views.take_traffic();
  fmt::print(
      "{}: {} nodes; cycles until one part {}, .999 of the neighbours right {}, all {}, counted to "
      ".15 {}; a node and cycle {:.1f} messages, {:.0f} bytes; remembers {} bytes; largest share "
      "{:.1f}\n",
      when, nodes, joined, nearly, right, counted, traffic.messages, traffic.bytes,
      views.memory_bytes(), views.largest_share());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** values) {
  const std::size_t nodes = count > 1 ? std::strtoull(values[1], nullptr, 10) : 10'000;
  PartialViews views(1);
  for (std::size_t k = 1; k < nodes; ++k) {
    views.join();
    if ((k & (k + 1)) == 0) views.run_cycle();  // as many join in a cycle as are there
  }
  tell(views, "joined");
  starling::Prng prng(1);
  std::vector<PartialViews::Id> all = views.alive();
  prng.shuffle(std::span(all));
  for (std::size_t k = 0; k < all.size() / 2; ++k) views.crash(all[k]);
  tell(views, "half died");
}
