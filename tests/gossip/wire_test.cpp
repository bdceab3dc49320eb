#include "gossip/wire.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/prng.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using namespace starling::test;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

constexpr Chunk kChunk{.transfer = 7, .offset = 1 << 20, .total = 5'000'000'000, .hash = ~0ULL};

// What was decoded is what was encoded when encoding it again gives the same bytes.
void expect_round_trip(const Body& body) {
  const Envelope envelope{1, node_id("a"), 2, std::numeric_limits<std::uint64_t>::max()};
  const std::string bytes = encode_header(envelope, body, kChunk);
  const auto header = decode_header(bytes_of(bytes));
  REQUIRE(header.has_value());
  CHECK(header->body.index() == body.index());
  CHECK(header->envelope.sender == envelope.sender);
  CHECK(header->chunk.total == kChunk.total);
  CHECK(encode_header(header->envelope, header->body, header->chunk) == bytes);
}

}  // namespace

TEST_CASE("Every kind of message survives the wire") {
  for (const Body& body : sample_bodies()) expect_round_trip(body);
}

TEST_CASE("A real number survives the wire whatever its value") {
  for (const double loss : {0.0, -0.0, 1.0, -3.0, 0.1, 1e300, 1e-310, std::ldexp(1.0, 63)}) {
    CAPTURE(loss);
    Member member = sample_member("node-1");
    member.loss = loss;
    expect_round_trip(Join{member});
  }
  Member member = sample_member("node-1");
  member.loss = std::nan("");
  expect_round_trip(Join{member});
}

TEST_CASE("A header of another version or with anything behind is refused") {
  const std::string bytes = encode_header({}, Bye{"x"}, {});
  CHECK(decode_header(bytes_of(bytes)).has_value());
  CHECK(decode_header(bytes_of(bytes + '\0')).error().text == "malformed");
  std::string version = bytes;
  version[1] = 2;  // behind the array's head
  CHECK(decode_header(bytes_of(version)).error().text == "protocol");
  CHECK(decode_header({}).error().text == "size");
  CHECK(decode_header(bytes_of(std::string(kHeaderBytesLimit + 1, 'x'))).error().text == "size");
}

TEST_CASE("What could not be typed by a user is refused") {
  const auto refused = [](const Body& body) {
    return !decode_header(bytes_of(encode_header({}, body, {}))).has_value();
  };
  Member member = sample_member("node-1");
  member.name = "node\n1";
  CHECK(refused(Join{member}));
  member = sample_member(std::string(kNameBytesLimit + 1, 'n'));
  CHECK(refused(Join{member}));
  member = sample_member("node-1");
  member.control.host = "a b";
  CHECK(refused(Join{member}));
  member = sample_member("node-1");
  member.round = kRoundLimit + 1;
  CHECK(refused(Join{member}));
  CHECK(refused(Bye{std::string(kReasonBytesLimit + 1, 'r')}));
  Round round;
  round.flow = {std::numeric_limits<float>::infinity()};
  CHECK(refused(round));
  round.flow = std::vector<float>(kEstimateLimit + 1);
  CHECK(refused(round));
}
