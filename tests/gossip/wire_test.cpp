#include "gossip/wire/wire.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/prng.h"
#include "tests/fuzz/field_changer.h"
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

void change_a_field(Prng& prng, Body& body) {
  std::vector<std::byte> bytes(64);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.below(256));
  fuzz::Input in(bytes);
  fuzz::change_a_field(body, in);
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

TEST_CASE("A name that is no UTF-8 or steers what shows it does not pass the wire") {
  for (const char* name : {"caf\xc3\xa9", "\xe8\x9c\x82-1", "a b"})
    expect_round_trip(Join{sample_member(name)});
  for (const char* name : {"caf\xe9", "gnp\u202eexe", "a\u200bb", "../a", "a ", "..", "a\xc2\x85",
                           "a\nb", "\xed\xa0\x80", "\xc0\xaf"}) {
    CAPTURE(name);
    const Member member = sample_member(name);
    CHECK_FALSE(is_within_limits(Join{member}));
    CHECK_FALSE(decode_header(bytes_of(encode_header({}, Join{member}, {}))).has_value());
  }
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

TEST_CASE("Text that a user could not type is refused") {
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

TEST_CASE("A receiver reads exactly the messages that the sender finds within limits") {
  Prng prng(14);
  std::size_t within = 0, beyond = 0;
  for (int k = 0; k < 200; ++k) {
    for (Body body : sample_bodies()) {
      change_a_field(prng, body);
      const bool is_read = decode_header(bytes_of(encode_header({}, body, {}))).has_value();
      CAPTURE(kind_of(body).name);
      CHECK(is_within_limits(body) == is_read);
      ++(is_read ? within : beyond);
    }
  }
  CHECK(within > 1000);
  CHECK(beyond > 100);
}

TEST_CASE("Lists and texts beyond their limits are known before they are sent") {
  const Rumor rumor{sample_member("node-1")};
  CHECK(is_within_limits(Table{false, std::vector<Rumor>(kMembersLimit, rumor)}));
  CHECK_FALSE(is_within_limits(Table{false, std::vector<Rumor>(kMembersLimit + 1, rumor)}));
  CHECK(is_within_limits(Bye{std::string(kReasonBytesLimit, 'x')}));
  CHECK_FALSE(is_within_limits(Bye{std::string(kReasonBytesLimit + 1, 'x')}));
  CHECK_FALSE(is_within_limits(Bye{"two\nlines"}));
  CHECK_FALSE(
      is_within_limits(Surveys{{}, {{NodeId{1}, 0, std::string(kSurveyBytesLimit + 1, 'x')}}}));
  Round round;
  round.estimate.assign(kEstimateLimit + 1, 0);
  CHECK_FALSE(is_within_limits(round));
  round.estimate = {std::numeric_limits<float>::infinity()};
  CHECK_FALSE(is_within_limits(round));
}

TEST_CASE("Every kind of message has a number of its own") {
  std::set<std::uint64_t> numbers;
  std::set<std::string_view> names;
  for (const Body& body : sample_bodies()) {
    numbers.insert(kind_of(body).number);
    names.insert(kind_of(body).name);
  }
  CHECK(numbers.size() == std::variant_size_v<Body>);
  CHECK(names.size() == std::variant_size_v<Body>);
}

TEST_CASE("The bytes of all kinds are those of this version of the protocol") {
  std::string all;
  for (const Body& body : sample_bodies()) all += encode_header({1, NodeId{2}, 3, 4}, body, kChunk);
  INFO("other bytes of a kind that other versions know need another kProtocolVersion");
  CHECK(kProtocolVersion == 17);
  CHECK(fmt::format("{:016x}", stable_hash(all)) == "1f6c18707da74724");
}
