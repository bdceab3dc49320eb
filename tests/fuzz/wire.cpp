// What nodes send each other: headers and messages, chunks, the gate, greetings.
#include <set>

#include "base/content_hash.h"
#include "gossip/node/gate.h"
#include "gossip/transport/greeting.h"
#include "gossip/trust/certificate.h"
#include "gossip/wire/transfer.h"
#include "tests/fuzz/field_changer.h"
#include "tests/fuzz/input.h"
#include "tests/gossip/samples.h"

namespace starling::fuzz {
namespace {

using namespace gossip;

const Envelope kEnvelope{1, node_id("node-1"), 3, 5};

// One of each kind at least: a kind without a sample would not be fuzzed.
const std::vector<Body>& bodies() {
  static const auto kAll = [] {
    std::vector<Body> all = test::sample_bodies();
    std::set<std::size_t> kinds;
    for (const Body& body : all) kinds.insert(body.index());
    ENSURE(kinds.size() == std::variant_size_v<Body>, "tests/gossip/samples.h has every kind");
    return all;
  }();
  return kAll;
}

// Without the checksum, which the target adds.
std::vector<std::string> header_seeds() {
  std::vector<std::string> seeds;
  for (const Body& body : bodies()) {
    std::string bytes = encode_header(kEnvelope, body, {7, 1 << 20, 5'000'000'000, ~0ULL});
    bytes.resize(bytes.size() - kHeaderSumBytes);
    seeds.push_back(std::move(bytes));
  }
  return seeds;
}

void expect_known_reason(const Error& error) {
  const std::string& text = error.text;
  ENSURE(text == "checksum" || text == "malformed" || text == "protocol" || text == "size",
         "a header is refused for a reason of wire.h");
}

// What was read is within limits, and its own encoding is read as the same.
void expect_round_trip(const Header& header) {
  ENSURE(is_within_limits(header.body), "what is read is within limits");
  const std::string once = encode_header(header.envelope, header.body, header.chunk);
  const auto again = decode_header(bytes_of(once));
  ENSURE(again.has_value(), "what was read can be sent on");
  ENSURE(encode_header(again->envelope, again->body, again->chunk) == once,
         "a message that is sent on stays as it is");
}

void run_header(Bytes input) {
  if (const auto header = decode_header(input); !header) expect_known_reason(header.error());
  const std::string sealed = seal_header(std::string(text_of(input)));
  RecordCache records(16);
  const auto header = decode_header(bytes_of(sealed));
  const auto cached = decode_header(bytes_of(sealed), &records);
  const auto known = decode_header(bytes_of(sealed), &records);
  ENSURE(header.has_value() == cached.has_value() && header.has_value() == known.has_value(),
         "known records change nothing");
  if (header) return expect_round_trip(*header);
  expect_known_reason(header.error());
  if (const auto other = read_other_version(bytes_of(sealed)))
    ENSURE(other->name.size() <= kNameBytesLimit && is_host(other->control.host),
           "another version has a name and an address");
}

// A sample, and which of its fields become what.
void run_fields(Bytes input) {
  Input in(input);
  Body body = bodies()[in.below(bodies().size())];
  for (std::size_t k = 1 + in.below(3); k > 0; --k) change_a_field(body, in);
  const std::string bytes = encode_header(kEnvelope, body, {});
  const auto header = decode_header(bytes_of(bytes));
  // Several surveys within their limit can be too much for one header.
  const bool fits = bytes.size() <= kHeaderBytesLimit;
  ENSURE(header.has_value() == (fits && is_within_limits(body)),
         "a receiver reads exactly what the sender finds within limits");
  if (header) expect_round_trip(*header);
}

std::vector<std::string> field_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < bodies().size(); ++k)
    for (char field = 0; field < 4; ++field)
      seeds.push_back({static_cast<char>(k), 0, field, 3, 1, 2, 3, 4, 5, 6, 7, 8});
  return seeds;
}

// ---------------------------------------------------------------- chunks

constexpr std::size_t kPayloadLimit = 2048, kSenders = 3;

// Each transfer has bytes of its own, so that a chunk in a wrong place shows.
std::byte byte_of(std::uint64_t transfer, std::size_t at) {
  return static_cast<std::byte>(transfer * 31 + at * 7 + at / 256);
}

Payload chunk_of(std::uint64_t transfer, std::size_t offset, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t k = 0; k < size; ++k) bytes[k] = byte_of(transfer, offset + k);
  return Payload::copy_of(bytes);
}

void expect_whole(const Message& message, std::uint64_t transfer) {
  const std::string bytes = all_bytes(message.payload);
  for (std::size_t k = 0; k < bytes.size(); ++k)
    ENSURE(static_cast<std::byte>(bytes[k]) == byte_of(transfer, k),
           "a message has the bytes of its chunks in their order");
}

// Eight bytes a chunk: who, which transfer, where, how long, how much in all, when, how wrong.
void run_chunks(Bytes input) {
  Input in(input);
  Assembler assembler;
  assembler.set_payload_limit(kPayloadLimit);
  assembler.set_senders(kSenders);
  if (in.flag())
    assembler.set_buffers(1024, [](std::size_t bytes) {
      return std::shared_ptr<std::byte>(new std::byte[bytes], std::default_delete<std::byte[]>());
    });
  Time now{};
  while (!in.empty()) {
    Header header;
    header.envelope.sender = NodeId{in.byte() % 16};
    Round round;
    round.received = 3;
    header.body = in.byte() % 16 == 0 ? Body(Gossip{}) : Body(round);
    header.chunk.transfer = in.byte() % 8;
    header.chunk.offset = 64 * in.byte();
    const std::size_t size = 64 * (in.byte() % 32);
    header.chunk.total = 64 * in.byte();
    const std::size_t wrong = in.byte();
    if (wrong == 1) header.chunk.offset = ~0ULL - 63;
    if (wrong == 2) header.chunk.total = ~0ULL;
    now += std::chrono::milliseconds(in.byte());
    const std::uint64_t transfer = header.chunk.transfer;
    Payload body = chunk_of(transfer, header.chunk.offset, size);
    header.chunk.hash = content_hash(body) ^ (wrong == 3);
    const auto message = assembler.add(now, std::move(header), std::move(body));
    if (!message) expect_reason(message.error());
    if (message && *message && !(*message)->payload.empty()) expect_whole(**message, transfer);
    if (wrong == 4) assembler.expire(now, std::chrono::milliseconds(200));
    ENSURE(assembler.kept_bytes() <= (2 * kSenders + 8 + 1) * kPayloadLimit,
           "unfinished transfers are bounded");
  }
}

std::vector<std::string> chunk_seeds() {
  // Transfer 1 of 128 bytes in two chunks; transfer 2 of 1024 in two, of which one comes twice.
  return {std::string("\0"
                      "\1\1\1\0\1\2\0\1"
                      "\1\1\1\1\1\2\0\1",
                      17),
          std::string("\1"
                      "\2\1\2\0\x08\x10\0\1"
                      "\2\1\2\0\x08\x10\0\1"
                      "\2\1\2\x08\x08\x10\4\1",
                      25),
          std::string("\0"
                      "\3\0\0\0\0\0\0\0"
                      "\3\1\0\0\1\1\3\0"
                      "\3\1\0\0\1\1\1\0",
                      25)};
}

// ---------------------------------------------------------------- the gate

// Messages of several senders, sound ones and others; what becomes of each is counted once.
void run_gate(Bytes input) {
  Input in(input);
  Gate gate(1, node_id("node-0"));
  gate.set_payload_limit(kPayloadLimit);
  gate.set_senders(kSenders);
  const auto known = [](NodeId id) {
    return id == node_id("node-1") ? std::optional<std::uint64_t>(3) : std::nullopt;
  };
  Time now{};
  for (std::size_t count = 0; !in.empty() && count < 64; ++count) {
    Body body = bodies()[in.below(bodies().size())];
    if (in.flag()) change_a_field(body, in);
    Envelope envelope = kEnvelope;
    envelope.cluster = 1 + in.byte() % 8 / 7;
    envelope.sender = node_id(std::string("node-") + static_cast<char>('0' + in.byte() % 3));
    envelope.incarnation = in.byte() % 8;
    envelope.sequence = in.number(in.byte() % 8 == 0 ? 8 : 1);
    const std::size_t size = 64 * (in.byte() % 4);
    Payload payload = chunk_of(1, 0, size);
    const Chunk chunk{1, 0, size, content_hash(payload)};
    const std::string bytes = encode_header(envelope, body, chunk);
    const NodeId from = in.byte() % 8 == 0 ? node_id("node-9") : envelope.sender;
    const auto message =
        gate.admit(now, {kind_of(body).plane, from, bytes_of(bytes), std::move(payload)}, known);
    if (message) {
      ENSURE(message->envelope.sender == from, "a message comes from its sender");
      ENSURE(message->envelope.cluster == 1 || std::holds_alternative<Misdirected>(message->body),
             "a message is of this cluster");
    }
    gate.take_stray(), gate.take_other_version(), gate.take_oversized(), gate.take_part();
    now += std::chrono::seconds(in.byte() % 16);
    gate.tick(now);
    ENSURE(gate.rejected().size() <= 64, "the reasons are bounded");
  }
}

std::vector<std::string> gate_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t k = 0; k < bodies().size(); ++k) {
    std::string one{static_cast<char>(k), 0, 0, 1, 3, 1, 1, 0, 1, 0};
    seeds.push_back(one + one);
  }
  return seeds;
}

// ---------------------------------------------------------------- greetings

void run_greeting(Bytes input) {
  const auto greeting = gossip::read_greeting(input);
  const auto refusal = gossip::read_refusal(input);
  ENSURE(!greeting || !refusal, "a greeting is no refusal");
  ENSURE(!greeting || !decode_header(input), "a greeting is no message");
  if (!greeting) return;
  ENSURE(gossip::greeting_of(greeting->node, greeting->plane, text_of(greeting->certificate)) ==
             text_of(input),
         "a greeting is what is written for its parts");
  if (const auto certificate = decode_certificate(greeting->certificate))
    ENSURE(encode(*certificate) == text_of(greeting->certificate), "a certificate stays as it is");
}

std::vector<std::string> greeting_seeds() {
  return {gossip::greeting_of(node_id("node-1"), Plane::control, ""),
          gossip::greeting_of(node_id("node-2"), Plane::bulk, std::string(200, '\1')),
          gossip::refusal_of("expired")};
}

}  // namespace

std::vector<Target> wire_targets() {
  return {{"wire-header", run_header, header_seeds, 4096, 3000},
          {"wire-fields", run_fields, field_seeds, 512, 3000},
          {"wire-chunks", run_chunks, chunk_seeds, 512, 1000},
          {"gate", run_gate, gate_seeds, 1024, 1000},
          {"greeting", run_greeting, greeting_seeds, 1024}};
}

}  // namespace starling::fuzz
