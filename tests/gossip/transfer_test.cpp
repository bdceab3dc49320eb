#include "gossip/wire/transfer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <ranges>

#include "base/prng.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;

namespace {

constexpr std::size_t kChunk = 64;

std::vector<std::byte> numbers(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t k = 0; k < size; ++k) bytes[k] = static_cast<std::byte>(mix64(k));
  return bytes;
}

std::vector<std::byte> bytes_of(const Payload& payload) {
  std::vector<std::byte> bytes(payload.size());
  payload.copy_to(0, bytes);
  return bytes;
}

Message message_with(Payload payload, std::uint64_t sequence = 1) {
  return {{1, node_id("a"), 1, sequence},
          test::round_of({.round = 7, .share = 0.25}, 3),
          std::move(payload)};
}

std::vector<Frame> cut(const Message& message) {
  Cutter cutter;
  return cutter.cut(message, 0, kChunk).all();
}

struct Receiver {
  Receiver() { assembler.set_payload_limit(1000); }
  // The error, "more" while chunks are missing, or "whole".
  std::string add(const Frame& frame, Time now = Time{}) {
    auto header = decode_header(std::as_bytes(std::span(frame.header)));
    REQUIRE(header.has_value());
    auto result = assembler.add(now, std::move(*header), frame.payload);
    if (!result) return result.error().text;
    if (!*result) return "more";
    whole = std::move(**result);
    return "whole";
  }
  Assembler assembler;
  Message whole;
};

}  // namespace

TEST_CASE("Chunks make the payload again whatever its size") {
  for (const std::size_t size : {0, 1, 63, 64, 65, 128, 129, 1000}) {
    CAPTURE(size);
    const auto bytes = numbers(size);
    const auto frames = cut(message_with(size == 0 ? Payload() : Payload::copy_of(bytes)));
    CHECK(frames.size() == std::max<std::size_t>(1, (size + kChunk - 1) / kChunk));
    Receiver receiver;
    for (std::size_t k = 0; k < frames.size(); ++k)
      CHECK(receiver.add(frames[k]) == (k + 1 < frames.size() ? "more" : "whole"));
    CHECK(bytes_of(receiver.whole.payload) == bytes);
    CHECK(std::get<Round>(receiver.whole.body).round == 7);
  }
}

TEST_CASE("A payload of several pieces is cut like one") {
  const auto bytes = numbers(300);
  const Payload whole = Payload::copy_of(bytes);
  std::vector<Payload::Piece> pieces;
  for (const auto& [from, length] : {std::pair{0, 10}, {10, 100}, {110, 190}}) {
    const Payload piece = Payload::copy_of(std::span(bytes).subspan(from, length));
    pieces.push_back(piece.pieces().front());
  }
  const auto frames = cut(message_with(Payload(pieces)));
  const auto expected = cut(message_with(whole));
  REQUIRE(frames.size() == expected.size());
  for (std::size_t k = 0; k < frames.size(); ++k) CHECK(frames[k].header == expected[k].header);
}

TEST_CASE("A vector that was cut off goes on from its first missing chunk") {
  const auto bytes = numbers(200);
  Message message = message_with(Payload::copy_of(bytes));
  std::get<Round>(message.body).number = 5;
  Receiver receiver;
  const auto frames = cut(message);
  CHECK(receiver.add(frames[0]) == "more");
  CHECK(receiver.add(frames[1]) == "more");
  const auto part = receiver.assembler.take_part();
  REQUIRE(part.has_value());
  CHECK(part->bytes == 2 * kChunk);
  CHECK(part->transfer == transfer_of(1, 3, 5));
  CHECK_FALSE(receiver.assembler.take_part().has_value());
  message.envelope.sequence = 2;
  Cutter cutter;
  const auto rest = cutter.cut(message, part->bytes, kChunk).all();
  CHECK(rest.size() == 2);
  CHECK(receiver.add(rest[0]) == "more");
  CHECK(receiver.add(rest[1]) == "whole");
  CHECK(bytes_of(receiver.whole.payload) == bytes);
}

TEST_CASE("A transfer of an earlier incarnation does not complete a vector of this one") {
  Message message = message_with(Payload::copy_of(numbers(200)));
  std::get<Round>(message.body).number = 5;
  Receiver receiver;
  CHECK(receiver.add(cut(message)[0]) == "more");
  message.envelope.incarnation = 2;
  CHECK(receiver.add(cut(message)[1]) == "incomplete");
}

TEST_CASE("A missing chunk makes the rest useless and the next transfer is fine") {
  const auto bytes = numbers(200);
  const auto frames = cut(message_with(Payload::copy_of(bytes), 1));
  Receiver receiver;
  CHECK(receiver.add(frames[0]) == "more");
  CHECK(receiver.add(frames[2]) == "incomplete");
  CHECK(receiver.add(frames[3]) == "incomplete");
  for (const Frame& frame : cut(message_with(Payload::copy_of(bytes), 2))) receiver.add(frame);
  CHECK(receiver.whole.envelope.sequence == 2);
  CHECK(bytes_of(receiver.whole.payload) == bytes);
}

TEST_CASE("A repeated chunk is refused and does no harm") {
  const auto bytes = numbers(200);
  const auto frames = cut(message_with(Payload::copy_of(bytes)));
  Receiver receiver;
  CHECK(receiver.add(frames[0]) == "more");
  CHECK(receiver.add(frames[1]) == "more");
  CHECK(receiver.add(frames[1]) == "repeated");
  CHECK(receiver.add(frames[2]) == "more");
  CHECK(receiver.add(frames[3]) == "whole");
  CHECK(bytes_of(receiver.whole.payload) == bytes);
}

TEST_CASE("A damaged chunk is refused") {
  auto frames = cut(message_with(Payload::copy_of(numbers(200))));
  auto bytes = bytes_of(frames[1].payload);
  bytes[5] ^= std::byte{1};
  frames[1].payload = Payload::copy_of(bytes);
  Receiver receiver;
  CHECK(receiver.add(frames[0]) == "more");
  CHECK(receiver.add(frames[1]) == "checksum");
  bytes.pop_back();
  frames[1].payload = Payload::copy_of(bytes);
  CHECK(receiver.add(frames[1]) == "checksum");
  frames[1].payload = {};
  CHECK(receiver.add(frames[1]) == "malformed");
}

TEST_CASE("A payload beyond the limit or on the control plane is refused") {
  Receiver receiver;
  CHECK(receiver.add(cut(message_with(Payload::copy_of(numbers(1001)))).front()) == "size");
  Message bye = message_with(Payload::copy_of(numbers(10)));
  bye.body = Bye{"x"};
  CHECK(receiver.add(cut(bye).front()) == "size");
  Frame stray = cut(message_with({})).front();
  stray.payload = Payload::copy_of(numbers(10));
  CHECK(receiver.add(stray) == "malformed");
}

TEST_CASE("Cutting in another size after a first does not keep the old hashes") {
  const Message message = message_with(Payload::copy_of(numbers(200)));
  Cutter cutter;
  cutter.cut(message, 0, 64).all();
  const auto again = cutter.cut(message, 0, 50).all();
  REQUIRE(again.size() == 4);
  Receiver receiver;
  for (const Frame& frame : again) receiver.add(frame);
  CHECK(receiver.whole.payload.size() == 200);
}

TEST_CASE("Two slices of one buffer are not taken for each other") {
  const Payload both = Payload::copy_of(numbers(200));
  Cutter cutter;
  cutter.cut(message_with(both.slice(0, 100)), 0, kChunk).all();
  Receiver receiver;
  for (const Frame& frame : cutter.cut(message_with(both.slice(100, 100)), 0, kChunk).all())
    receiver.add(frame);
  CHECK(bytes_of(receiver.whole.payload) == bytes_of(both.slice(100, 100)));
}

TEST_CASE("A transfer that gets no more chunks is forgotten") {
  const auto frames = cut(message_with(Payload::copy_of(numbers(200))));
  Receiver receiver;
  receiver.add(frames[0], Time{});
  CHECK(receiver.assembler.expire(Time(std::chrono::seconds(10)), std::chrono::seconds(30)) == 0);
  CHECK(receiver.assembler.expire(Time(std::chrono::seconds(40)), std::chrono::seconds(30)) == 1);
  CHECK(receiver.add(frames[1]) == "incomplete");
}

TEST_CASE("Frames are made in turn and a chunk is hashed once for all neighbours") {
  auto bytes = std::make_shared<std::vector<std::byte>>(numbers(200));
  const Payload payload(bytes, *bytes);
  Cutter cutter;
  Frames first = cutter.cut(message_with(payload), 0, kChunk);
  Frames second = cutter.cut(message_with(payload), 0, kChunk);
  CHECK(first.next().header == second.next().header);
  const std::string expected = first.next().header;
  (*bytes)[70] ^= std::byte{1};  // not allowed, and so it shows that nobody looks again
  CHECK(second.next().header == expected);
  CHECK(first.all().size() == 2);
  CHECK(first.done());
  CHECK_FALSE(second.done());
}

TEST_CASE("Transfers that many senders begin hold a limited number of bytes") {
  Receiver receiver;
  receiver.assembler.set_senders(1);
  Message honest = message_with(Payload::copy_of(numbers(1000)));
  const std::vector<Frame> frames = cut(honest);
  std::uint64_t sender = 100;
  for (std::size_t k = 0; k < frames.size(); ++k) {
    const Time now{std::chrono::seconds(k)};
    receiver.add(frames[k], now);
    for (int n = 0; n < 200; ++n) {
      Message invented = honest;
      invented.envelope.sender = NodeId{++sender};
      receiver.add(cut(invented).front(), now);
      CHECK(receiver.assembler.kept_bytes() <= 10 * 1000 + kChunk);
    }
  }
  CHECK(receiver.whole.payload.size() == 1000);
  receiver.assembler.expire(Time(std::chrono::hours(1)), std::chrono::seconds(30));
  CHECK(receiver.assembler.kept_bytes() == 0);
}

TEST_CASE("Chunks of a vector come together in a buffer and those of other payloads stay apart") {
  Receiver receiver;
  std::size_t made = 0;
  receiver.assembler.set_buffers(300, [&made](std::size_t bytes) {
    ++made;
    return std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
  });
  std::uint64_t sequence = 0;
  for (const std::size_t size : {300, 299, 64, 300}) {
    CAPTURE(size);
    const auto bytes = numbers(size);
    for (const Frame& frame : cut(message_with(Payload::copy_of(bytes), ++sequence)))
      receiver.add(frame);
    CHECK(bytes_of(receiver.whole.payload) == bytes);
    CHECK(receiver.whole.payload.pieces().size() == (size == 299 ? 5 : 1));
  }
  CHECK(made == 2);
}

TEST_CASE("Transfers that many senders begin take a limited number of buffers") {
  Receiver receiver;
  std::size_t held = 0;
  receiver.assembler.set_buffers(1000, [&held](std::size_t bytes) {
    ++held;
    return std::shared_ptr<std::byte>(new std::byte[bytes], [&held](const std::byte* freed) {
      --held;
      delete[] freed;
    });
  });
  receiver.assembler.set_senders(1);
  const Message honest = message_with(Payload::copy_of(numbers(1000)));
  for (std::uint64_t sender = 100; sender < 300; ++sender) {
    Message invented = honest;
    invented.envelope.sender = NodeId{sender};
    for (const Frame& frame : cut(invented) | std::views::take(2)) receiver.add(frame);
    CHECK(held <= 10);
  }
}

TEST_CASE("A chunk that claims another size of its payload than the first is refused") {
  for (const bool has_buffer : {false, true}) {
    CAPTURE(has_buffer);
    Receiver receiver;
    if (has_buffer)
      receiver.assembler.set_buffers(300, [](std::size_t bytes) {
        return std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
      });
    const auto honest = cut(message_with(Payload::copy_of(numbers(300))));
    const auto larger = cut(message_with(Payload::copy_of(numbers(1000))));
    CHECK(receiver.add(honest[0]) == "more");
    CHECK(receiver.add(honest[1]) == "more");
    for (std::size_t k = 2; k < larger.size(); ++k) CHECK(receiver.add(larger[k]) != "more");
    CHECK(receiver.add(larger[2]) == "malformed");
    for (std::size_t k = 2; k < honest.size(); ++k) receiver.add(honest[k]);
    CHECK(bytes_of(receiver.whole.payload) == numbers(300));
  }
}
