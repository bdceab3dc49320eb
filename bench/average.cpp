// Average: the bandwidth of averaging, beside that of copying.
//   mix BYTES       own + 2 neighbours, that came in chunks, by optim::mix: 3 reads and 1 write
//   memcpy BYTES    into memory already touched: 1 read and 1 write.  GB/s of both kinds of traffic
#include <cmath>
#include <cstring>

#include "bench/measure.h"
#include "gossip/wire/transfer.h"
#include "optim/codec/codec.h"
#include "optim/combine/mixer.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.4;  // seconds

// A vector in pieces that do not lie at multiples of 64, as chunks come out of ZeroMQ.
Payload chunks_of(std::size_t bytes, float value) {
  std::vector<Payload::Piece> pieces;
  for (std::size_t at = 0; at < bytes; at += gossip::kChunkBytes) {
    const std::size_t length = std::min(gossip::kChunkBytes, bytes - at);
    const auto owner = std::make_shared<std::vector<float>>(length / sizeof(float) + 4, value);
    pieces.push_back({owner, std::as_bytes(std::span(*owner).subspan(4, length / sizeof(float)))});
  }
  return Payload(std::move(pieces));
}

double mix(std::size_t bytes) {
  constexpr float kOwn = 3, kLeft = 6, kRight = 9;
  optim::SharedVector<float> x(std::vector<float>(bytes / sizeof(float), kOwn),
                               std::make_shared<optim::BufferPool>());
  std::vector<optim::MixTerm> terms{{NodeId{1}, 1.0 / 3, chunks_of(bytes, kLeft)},
                                    {NodeId{2}, 1.0 / 3, chunks_of(bytes, kRight)}};
  const auto round = [&] {
    const Payload sent = x.share();
    for (optim::MixTerm& term : terms) term.own = sent;
    optim::mix(x, sent, terms, *optim::format_named("f32"));
    for (optim::MixTerm& term : terms) term.own = {};  // the pool takes its buffer back
  };
  round();
  for (float value : x.values()) ENSURE(std::abs(value - 6) < 1e-5F, "the average is right");
  // What x holds does not change how long it takes.
  const double seconds = time_each(kWindow, round);
  return 4 * static_cast<double>(bytes) / seconds * 1e-9;
}

double copy(std::size_t bytes) {
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, 'y');
  const double seconds = time_each(kWindow, [&] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
  ENSURE(to == from, "a copy is equal");
  return 2 * static_cast<double>(bytes) / seconds * 1e-9;
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  serve([](const std::string& request) {
    Words words(request);
    const bool mixes = words.word() == "mix";
    const std::size_t bytes = words.number();
    report(request, mixes ? mix(bytes) : copy(bytes), "GB/s");
  });
}
