// Masks: the processor time that exchange.masks takes, for a model of 1,000,000 numbers in f32.
//   give N     the parts of a round for N - 1 others. Milliseconds
//   plain N    the same without masks. Milliseconds
//   stream     one number of a stream. Nanoseconds
//   sum N      the sum of the parts of N - 1 others, of 250,000 numbers each. Milliseconds
#include "base/masks.h"

#include <memory>
#include <vector>

#include "bench/measure.h"
#include "optim/combine/masked_parts.h"
#include "optim/combine/slices.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.2;  // seconds
constexpr std::size_t kNumbers = 1'000'000, kSlice = 250'000;

KeyPair key_of(std::size_t member) {
  Secret seed(kKeyBytes);
  seed.bytes()[0] = static_cast<std::byte>(member + 1);
  return KeyPair(seed);
}

std::shared_ptr<const MaskGroup> group_of(std::size_t count) {
  std::vector<MaskMember> members;
  for (std::size_t k = 0; k < count; ++k)
    members.push_back({NodeId{k}, 1, *curve_key(key_of(k).public_key())});
  return std::make_shared<const MaskGroup>(7, NodeId{0}, std::move(members));
}

double give(std::size_t nodes, bool is_masked) {
  optim::Slicing slicing{.is_masked = is_masked};
  if (is_masked) slicing.masks = std::make_shared<Masks>(key_of(0).curve_secret());
  optim::Slices<float> slices(*optim::format_named("f32"), slicing, kNumbers);
  const std::vector<float> s(kNumbers, 0.5F);
  optim::BufferPool pool;
  std::vector<std::uint64_t> edges;
  for (std::size_t k = 1; k < nodes; ++k) edges.push_back(k);
  const auto group = is_masked ? group_of(nodes) : nullptr;
  std::uint64_t round = 0;
  return 1e3 * time_each(kWindow, [&] {
           ++round;
           slices.keep({.open = {}});  // forgets the rounds before
           slices.keep({.open = edges, .mask_group = group});
           std::vector<optim::EdgePlace> to;
           for (const std::uint64_t edge : edges)
             to.push_back(
                 {.edge = edge, .number = 1, .slot = {round, nodes, nodes, 0, edge, NodeId{edge}}});
           slices.messages(to, std::span<const float>(s), pool);
         });
}

double stream() {
  Masks masks(key_of(0).curve_secret());
  ENSURE(masks.begin(group_of(4), 1), "three others take part");
  std::vector<std::uint64_t> numbers(kSlice);
  return 1e9 / kSlice *
         time_each(kWindow, [&] { masks.add_stream(NodeId{1}, NodeId{2}, numbers); });
}

double sum(std::size_t nodes) {
  const std::vector<std::uint64_t> numbers(kSlice + 2);
  const std::vector<Payload> parts(nodes - 1, Payload::copy_of(std::as_bytes(std::span(numbers))));
  std::vector<const Payload*> all;
  for (const Payload& part : parts) all.push_back(&part);
  return 1e3 * time_each(kWindow, [&] {
           ENSURE(optim::sum_of_parts(all, 0, kSlice), "the last numbers are 0");
         });
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  serve([](const std::string& request) {
    Words words(request);
    const std::string name = words.word();
    if (name == "stream") return report(request, stream(), "ns");
    const std::size_t nodes = words.number();
    if (name == "sum") return report(request, sum(nodes), "ms");
    report(request, give(nodes, name == "give"), "ms");
  });
}
