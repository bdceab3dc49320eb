// Compress: what compressing costs, in GB/s of the f32 numbers that go in or come out, in the
// cache.
//   ROW DENSITY             encode and decode, one after the other
//   channel ROW DENSITY     Channel: a message made, and both of a pair taken, of 100 MB
//   average ROW DENSITY     Average: the same, and the pair mixed into a model and counted in a
//   flow
#include <algorithm>
#include <memory>

#include "base/prng.h"
#include "bench/measure.h"
#include "optim/codec/channel.h"
#include "optim/codec/compressor.h"
#include "optim/combine/average.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.4;  // seconds

const optim::Compressor& row_named(const std::string& name) {
  const auto rows = optim::compressors();
  const auto row = std::ranges::find(rows, name, &optim::Compressor::name);
  ENSURE(row != rows.end(), "a request names a row");
  return *row;
}

std::vector<float> normal(std::size_t count) {
  Prng prng(1);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(prng.normal());
  return values;
}

double blocks(const optim::Compressor& row, double density) {
  constexpr std::size_t kCount = 1 << 16;
  const std::vector<float> v = normal(kCount);
  std::vector<float> q(kCount);
  std::vector<std::byte> wire(row.bytes(row.block, density));
  const double seconds = time_each(kWindow, [&] {
    for (std::size_t first = 0; first < kCount; first += row.block) {
      row.in_single.encode(std::span(v).subspan(first, row.block), density, wire.data());
      const bool is_sound =
          row.in_single.decode(wire.data(), density, std::span(q).subspan(first, row.block));
      ENSURE(is_sound, "what was encoded can be decoded");
    }
  });
  return kCount * sizeof(float) / seconds * 1e-9;
}

double channel(const optim::Compressor& row, double density) {
  constexpr std::size_t kCount = 25'000'000;
  constexpr std::uint64_t kEdge = 1;
  const std::vector<float> s = normal(kCount);
  optim::Channel<float> channel({.format = optim::format_named("f32"),
                                 .coding = {.compressor = &row, .density = density},
                                 .segments = {{kCount}}});
  optim::BufferPool pool;
  std::uint64_t pair = 0;
  const double seconds = time_each(kWindow, [&] {
    const auto message = channel.offer({kEdge, ++pair}, s, pool);
    const auto difference = channel.take(kEdge, pair, &message.payload, message.payload);
    ENSURE(!difference.empty(), "what was offered can be taken");
  });
  return kCount * sizeof(float) / seconds * 1e-9;
}

double average(const optim::Compressor& row, double density) {
  constexpr std::size_t kCount = 25'000'000;
  constexpr std::uint64_t kEdge = 1;
  const std::vector<float> s = normal(kCount);
  std::vector<float> flow(kCount);
  const optim::WireForm form{.format = optim::format_named("f32"),
                             .coding = {.compressor = &row, .density = density},
                             .segments = {{kCount}}};
  optim::Average<float> average(s, std::make_shared<optim::BufferPool>(), form);
  std::uint64_t pair = 0;
  const double seconds = time_each(kWindow, [&] {
    const optim::EdgePlace place{.edge = kEdge, .number = ++pair};
    const Payload offered = average.offer(std::span(&place, 1)).of_edge.front().payload;
    const optim::MixTerm term{
        .peer = {}, .weight = .1, .theirs = offered, .own = offered, .edge = kEdge, .number = pair};
    const auto mixed = average.absorb(std::span(&term, 1), [&](const optim::MixTerm&) {
      return optim::FlowCount<float>{flow, .1};
    });
    ENSURE(!mixed.distances.empty(), "what was offered can be mixed");
  });
  return kCount * sizeof(float) / seconds * 1e-9;
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  serve([](const std::string& request) {
    Words words(request);
    std::string name = words.word();
    auto* measure = blocks;
    if (name == "channel") measure = channel;
    if (name == "average") measure = average;
    if (measure != blocks) name = words.word();
    const double density = std::stod(words.word());
    const auto& row = row_named(name);
    report(request, measure(row, density), "GB/s");
  });
}
