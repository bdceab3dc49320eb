#include "gossip/wire/wire.h"

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
  const std::string longer = bytes.substr(0, bytes.size() - kHeaderSumBytes) + '\0';
  CHECK(decode_header(bytes_of(seal_header(longer))).error().text == "malformed");
  CHECK(decode_header(bytes_of(bytes + '\0')).error().text == "checksum");
  std::string version = bytes;
  version[1] = 1;  // behind the array's head
  CHECK(decode_header(bytes_of(version)).error().text == "protocol");
  CHECK(decode_header({}).error().text == "size");
  CHECK(decode_header(bytes_of(std::string(kHeaderBytesLimit + 1, 'x'))).error().text == "size");
}

TEST_CASE("A header with one bit changed is refused") {
  for (const Body& body : sample_bodies()) {
    const Envelope envelope{1, node_id("a"), 2, 3};
    std::string bytes = encode_header(envelope, body, kChunk);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const char flip = static_cast<char>(1 << (bit % 8));
      bytes[bit / 8] ^= flip;
      CHECK_FALSE(decode_header(bytes_of(bytes)).has_value());
      bytes[bit / 8] ^= flip;
    }
    CHECK(decode_header(bytes_of(bytes)).has_value());
  }
}

TEST_CASE("Incarnations and versions that leave no room above them are refused") {
  Member member = sample_member("node-1");
  member.incarnation = kIncarnationLimit - 1;
  member.version = kVersionLimit - 1;
  const auto is_read = [](const Envelope& envelope, const Member& read) {
    return decode_header(bytes_of(encode_header(envelope, Join{read}, {}))).has_value();
  };
  CHECK(is_read({.sender = {}, .incarnation = kIncarnationLimit - 1}, member));
  CHECK_FALSE(is_read({.sender = {}, .incarnation = kIncarnationLimit}, member));
  ++member.incarnation;
  CHECK_FALSE(is_read({}, member));
  --member.incarnation;
  ++member.version;
  CHECK_FALSE(is_read({}, member));
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
