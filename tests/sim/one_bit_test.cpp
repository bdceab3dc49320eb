// How a compressor is added: three functions and a row. One bit a number, its sign, times the mean
// size, which is the least squares fit. It is exact, and slow: the program offers i2 in its place.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/lengths.h"
#include "tests/sim/lockstep.h"

using namespace starling;
using namespace starling::test;

namespace {

std::size_t bytes(std::size_t count, double) {
  return sizeof(float) + (count + 7) / 8;
}

void encode(std::span<const double> v, double, std::byte* wire) {
  double sum = 0;
  for (const double number : v) sum += std::abs(number);
  const auto scale = static_cast<float>(sum / static_cast<double>(v.size()));
  std::memset(wire, 0, bytes(v.size(), 0));
  std::memcpy(wire, &scale, sizeof scale);
  for (std::size_t k = 0; k < v.size(); ++k)
    if (v[k] > 0) wire[sizeof scale + k / 8] |= std::byte{1} << k % 8;
}

bool decode(const std::byte* wire, double, std::span<double> q) {
  float scale;
  std::memcpy(&scale, wire, sizeof scale);
  for (std::size_t k = 0; k < q.size(); ++k) {
    const bool is_positive = (wire[sizeof scale + k / 8] >> k % 8 & std::byte{1}) != std::byte{0};
    q[k] = static_cast<double>(is_positive ? scale : -scale);
  }
  return std::isfinite(scale);
}

const optim::Compressor kOneBit{
    .name = "i1", .help = "", .block = 256, .bytes = bytes, .in_double = {encode, decode}};

}  // namespace

TEST_CASE("A row of one bit a number goes to the optimum and takes its time") {
  optim::Options training = reference_training(0.1);
  training.algorithm = optim::algorithm_named("ed");
  training.codec = {.format = optim::format_named("f32"), .coding = {.compressor = &kOneBit}};
  Lockstep lockstep(topology::Kind::ring, training);
  if (!tries_full()) return lockstep.run(20);
  std::uint64_t rounds = 0;
  for (; rounds < 2000 && lockstep.error() > 1e-6; ++rounds) lockstep.run(1);
  CHECK(rounds > 2 * 450);  // i2 takes 522, and one bit 976 in another program
  CHECK(rounds < 1200);
}
