// Encode: what it costs to make a vector message of a few numbers, beyond the copy.
//   COUNT    encode COUNT floats, hash, cut, header; less a memcpy of as many. Microseconds
#include <cstring>

#include "bench/measure.h"
#include "gossip/wire/transfer.h"
#include "optim/codec/codec.h"

namespace starling::bench {
namespace {

constexpr double kWindow = 0.2;  // seconds

double copy_seconds(const std::vector<float>& x) {
  std::vector<float> to(x.size());
  return time_each(kWindow, [&] {
    std::memcpy(to.data(), x.data(), x.size() * sizeof(float));
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

double message_seconds(const std::vector<float>& x) {
  optim::BufferPool pool;
  gossip::Cutter cutter;
  gossip::Round round;
  round.epoch = 4, round.share = 0.25;
  std::vector<gossip::Frame> frames;
  const double seconds = time_each(kWindow, [&] {
    ++round.round;
    frames.clear();
    const gossip::Message message{{1, NodeId{2}, 3, round.round},
                                  round,
                                  optim::encode<float>(*optim::format_named("f32"), x, pool)};
    frames = cutter.cut(message).all();
  });
  gossip::Assembler assembler;
  assembler.set_payload_limit(x.size() * sizeof(float));
  std::optional<gossip::Message> whole;
  for (const gossip::Frame& frame : frames) {
    auto header = gossip::decode_header(std::as_bytes(std::span(frame.header)));
    ENSURE(header, "a header is sound");
    auto message = assembler.add(Time{}, *std::move(header), frame.payload);
    ENSURE(message, "a chunk is the next one");
    whole = *std::move(message);
  }
  ENSURE(whole, "the message comes together again");
  std::vector<float> numbers(x.size());
  optim::decode<float>(*optim::format_named("f32"), whole->payload, std::span(numbers));
  ENSURE(numbers == x, "the numbers are the same");
  return seconds;
}

}  // namespace
}  // namespace starling::bench

int main() {
  using namespace starling::bench;
  serve([](const std::string& request) {
    std::vector<float> x(Words(request).number());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    report(request, (message_seconds(x) - copy_seconds(x)) * 1e6, "us");
  });
}
