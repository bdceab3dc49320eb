#include "gossip/wire/wire.h"

#define MSGPACK_NO_BOOST
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <msgpack.hpp>

#include "gossip/wire/chunk_hash.h"

namespace starling::gossip {
namespace {

// The kinds of message on the wire: the index in Body.
constexpr std::uint64_t kKinds = std::variant_size_v<Body>;
constexpr std::uint32_t kEnvelopeFields = 11;

// ---------------------------------------------------------------- encoding

class Writer {
 public:
  void array(std::size_t fields) { packer_.pack_array(static_cast<std::uint32_t>(fields)); }
  void number(std::uint64_t value) { packer_.pack(value); }
  // As FLOAT64 whatever the value: pack(double) would write a whole number as an integer.
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    std::array<char, 9> bytes{'\xcb'};
    for (std::size_t i = 0; i < 8; ++i) bytes[i + 1] = static_cast<char>(bits >> (56 - 8 * i));
    buffer_.write(bytes.data(), bytes.size());
  }
  void text(std::string_view value) { packer_.pack(value); }
  void bytes(const void* data, std::size_t size) {
    packer_.pack_bin(static_cast<std::uint32_t>(size));
    packer_.pack_bin_body(static_cast<const char*>(data), static_cast<std::uint32_t>(size));
  }
  void floats(const std::vector<float>& values) {
    bytes(values.data(), values.size() * sizeof(float));
  }
  void endpoint(const Endpoint& value) {
    text(value.host);
    number(value.port);
  }
  std::string take() { return std::move(buffer_.bytes); }

 private:
  // What msgpack asks of a buffer; most messages are small, and none is copied at the end.
  struct Buffer {
    std::string bytes;
    void write(const char* data, std::size_t size) { bytes.append(data, size); }
  };
  Buffer buffer_;
  msgpack::packer<Buffer> packer_{buffer_};
};

void write(Writer& out, const Member& member) {
  out.array(14);
  out.number(member.id.value);
  out.text(member.name);
  out.endpoint(member.control);
  out.endpoint(member.bulk);
  out.endpoint(member.http);
  out.number(member.incarnation);
  out.number(member.version);
  out.number(static_cast<std::uint64_t>(member.phase));
  out.number(member.round);
  out.real(member.loss);
  out.number(member.agreement);
}

void write(Writer& out, const std::vector<Rumor>& rumors) {
  out.array(rumors.size());
  for (const Rumor& rumor : rumors) {
    out.array(3);
    write(out, rumor.member);
    out.number(static_cast<std::uint64_t>(rumor.liveness));
    out.number(rumor.accuser.value);
  }
}

struct BodyWriter {
  Writer& out;

  void operator()(const Join& join) {
    out.array(1);
    write(out, join.self);
  }
  void operator()(const Gossip& gossip) {
    out.array(1);
    write(out, gossip.rumors);
  }
  void operator()(const Table& table) {
    out.array(2);
    out.number(table.asks ? 1 : 0);
    write(out, table.rumors);
  }
  void operator()(const Probe& probe) {
    out.array(6);
    out.number(static_cast<std::uint64_t>(probe.kind));
    out.number(probe.number);
    out.number(probe.subject.value);
    out.endpoint(probe.subject_control);
    write(out, probe.rumors);
  }
  void operator()(const Hello& hello) {
    out.array(7);
    out.number(hello.epoch);
    out.number(hello.echo);
    out.number(hello.schema);
    out.number(hello.view);
    out.number(hello.stamps.sent);
    out.number(hello.stamps.echo);
    out.number(hello.stamps.held);
  }
  void operator()(const Bye& bye) {
    out.array(2);
    out.text(bye.reason);
    out.number(bye.epoch);
  }
  void operator()(const Surveys& message) {
    out.array(1 + message.surveys.size());
    out.array(message.held.size());
    for (const NodeId id : message.held) out.number(id.value);
    for (const auto& [id, survey] : message.surveys) {
      out.array(2);
      out.number(id.value);
      out.bytes(survey.data(), survey.size());
    }
  }
  void operator()(const SnapshotRequest& request) {
    out.array(1);
    write(out, request.self);
  }
  void operator()(const Snapshot& snapshot) {
    out.array(2);
    out.number(snapshot.round);
    out.bytes(snapshot.foundation.data(), snapshot.foundation.size());
  }
  void operator()(const Round& round) {
    out.array(18);
    out.number(round.epoch);
    out.number(round.echo);
    out.number(round.round);
    out.real(round.share);
    out.number(round.index);
    out.real(round.span);
    out.number(round.received);
    out.number(round.beyond);
    out.number(round.partial);
    out.number(round.offered);
    out.number(round.closes ? 1 : 0);
    out.number(round.order);
    out.number(round.seen);
    out.number(round.asks ? 1 : 0);
    out.number(round.sent);
    out.real(round.rate);
    out.floats(round.flow);
    out.floats(round.estimate);
  }
  void operator()(const Misdirected& word) {
    out.array(7);
    out.number(static_cast<std::uint64_t>(word.why));
    out.number(word.asks ? 1 : 0);
    out.endpoint(word.control);
    out.endpoint(word.bulk);
    out.text(std::string_view(word.cluster).substr(0, kNameBytesLimit));
  }
  void operator()(const Terms& message) {
    out.array(1 + message.terms.size());
    out.number(message.asks ? 1 : 0);
    for (const auto& [key, value] : message.terms) {
      out.array(2);
      out.text(std::string_view(key).substr(0, kNameBytesLimit));
      out.text(std::string_view(value).substr(0, kNameBytesLimit));
    }
  }
};

// ---------------------------------------------------------------- decoding

// Reads the fields of one array in order. The first thing that does not fit makes it bad for good,
// and everything read after that is empty: callers check once, at the end.
class Fields {
 public:
  Fields(const msgpack::object& object, bool& sound) : sound_(sound) {
    if (object.type == msgpack::type::ARRAY)
      array_ = object.via.array;
    else
      sound_ = false;
  }

  std::size_t size() const { return array_.size; }
  std::size_t size_up_to(std::size_t limit) {
    if (array_.size > limit) sound_ = false;
    return sound_ ? array_.size : 0;
  }
  void expect(std::size_t fields) { sound_ = sound_ && array_.size == fields; }

  std::uint64_t number(std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
    const msgpack::object* field = next(msgpack::type::POSITIVE_INTEGER);
    if (field && field->via.u64 > limit) sound_ = false;
    return field && sound_ ? field->via.u64 : 0;
  }
  double real() {
    const msgpack::object* field = next(msgpack::type::FLOAT64);
    return field ? field->via.f64 : 0;
  }
  // Finite and not below 0.
  double amount(double limit = std::numeric_limits<double>::max()) {
    const double value = real();
    sound_ = sound_ && value >= 0 && value <= limit;
    return sound_ ? value : 0;
  }
  std::string text(std::size_t limit) {
    const msgpack::object* field = next(msgpack::type::STR);
    if (field && field->via.str.size > limit) sound_ = false;
    if (!field || !sound_) return {};
    for (std::uint32_t i = 0; i < field->via.str.size; ++i) {
      const unsigned char c = static_cast<unsigned char>(field->via.str.ptr[i]);
      if (c < 0x20 || c == 0x7f) sound_ = false;  // nothing that could forge a log line
    }
    return {field->via.str.ptr, field->via.str.size};
  }
  std::string bytes(std::size_t limit) {
    const msgpack::object* field = next(msgpack::type::BIN);
    if (field && field->via.bin.size > limit) sound_ = false;
    return field && sound_ ? std::string(field->via.bin.ptr, field->via.bin.size) : std::string();
  }
  std::vector<float> floats(std::size_t limit) {
    const std::string raw = bytes(limit * sizeof(float));
    if (raw.size() % sizeof(float) != 0) sound_ = false;
    std::vector<float> values(raw.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), raw.data(), values.size() * sizeof(float));
    for (float value : values)
      if (!std::isfinite(value)) sound_ = false;
    return values;
  }
  Endpoint endpoint() {
    std::string host = text(kHostBytesLimit);
    const auto port = static_cast<std::uint16_t>(number(0xffff));
    // The gate for addresses: only what a user could have written is ever dialled.
    sound_ = sound_ && is_host(host);
    return {std::move(host), port};
  }
  Fields array() {
    static const msgpack::object kNothing;
    const msgpack::object* field = next(msgpack::type::ARRAY);
    return {field ? *field : kNothing, sound_};
  }

 private:
  const msgpack::object* next(msgpack::type::object_type type) {
    if (!sound_ || index_ >= array_.size || array_.ptr[index_].type != type) {
      sound_ = false;
      return nullptr;
    }
    return &array_.ptr[index_++];
  }

  msgpack::object_array array_{0, nullptr};
  std::uint32_t index_ = 0;
  bool& sound_;
};

Member read_member(Fields in) {
  in.expect(14);
  Member member;
  member.id = NodeId{in.number()};
  member.name = in.text(kNameBytesLimit);
  member.control = in.endpoint();
  member.bulk = in.endpoint();
  member.http = in.endpoint();
  member.incarnation = in.number(kIncarnationLimit - 1);
  member.version = in.number(kVersionLimit - 1);
  member.phase = static_cast<Phase>(in.number(static_cast<std::uint64_t>(Phase::left)));
  member.round = in.number(kRoundLimit);
  member.loss = in.real();
  member.agreement = in.number();
  return member;
}

std::vector<Rumor> read_rumors(Fields in) {
  std::vector<Rumor> rumors;
  rumors.reserve(in.size_up_to(kMembersLimit));
  for (std::size_t i = in.size_up_to(kMembersLimit); i > 0; --i) {
    Fields rumor = in.array();
    rumor.expect(3);
    Rumor read{read_member(rumor.array())};
    read.liveness = static_cast<Liveness>(rumor.number(static_cast<std::uint64_t>(Liveness::left)));
    read.accuser = NodeId{rumor.number()};
    rumors.push_back(std::move(read));
  }
  return rumors;
}

Probe read_probe(Fields in) {
  in.expect(6);
  Probe probe;
  probe.kind = static_cast<Probe::Kind>(in.number(static_cast<std::uint64_t>(Probe::Kind::nack)));
  probe.number = in.number();
  probe.subject = NodeId{in.number()};
  probe.subject_control = in.endpoint();
  probe.rumors = read_rumors(in.array());
  return probe;
}

Misdirected read_misdirected(Fields in) {
  in.expect(7);
  Misdirected word;
  word.why = static_cast<Misdirected::Why>(
      in.number(static_cast<std::uint64_t>(Misdirected::Why::bulk_port)));
  word.asks = in.number(1) == 1;
  word.control = in.endpoint();
  word.bulk = in.endpoint();
  word.cluster = in.text(kNameBytesLimit);
  return word;
}

Terms read_terms(Fields in) {
  Terms message;
  const std::size_t fields = in.size_up_to(kTermsLimit + 1);
  message.asks = in.number(1) == 1;
  for (std::size_t i = 1; i < fields; ++i) {
    Fields term = in.array();
    term.expect(2);
    std::string key = term.text(kNameBytesLimit);
    message.terms.emplace_back(std::move(key), term.text(kNameBytesLimit));
  }
  return message;
}

Body read_body(std::uint64_t kind, Fields in) {
  switch (kind) {
    case 0:
      in.expect(1);
      return Join{read_member(in.array())};
    case 1:
      in.expect(1);
      return Gossip{read_rumors(in.array())};
    case 2: {
      in.expect(7);
      Hello hello;
      hello.epoch = in.number();
      hello.echo = in.number();
      hello.schema = in.number();
      hello.view = in.number();
      hello.stamps.sent = in.number(kRoundLimit);
      hello.stamps.echo = in.number(kRoundLimit);
      hello.stamps.held = in.number(kRoundLimit);
      return hello;
    }
    case 3: {
      in.expect(2);
      std::string reason = in.text(kReasonBytesLimit);
      return Bye{std::move(reason), in.number()};
    }
    case 4: {
      Surveys message;
      const std::size_t fields = in.size_up_to(kMembersLimit + 1);
      Fields held = in.array();
      for (std::size_t i = held.size_up_to(kMembersLimit); i > 0; --i)
        message.held.push_back(NodeId{held.number()});
      for (std::size_t i = 1; i < fields; ++i) {
        Fields pair = in.array();
        pair.expect(2);
        const NodeId id{pair.number()};
        message.surveys.emplace_back(id, pair.bytes(kSurveyBytesLimit));
      }
      return message;
    }
    case 5:
      in.expect(1);
      return SnapshotRequest{read_member(in.array())};
    case 6: {
      in.expect(2);
      const std::uint64_t round = in.number(kRoundLimit);
      return Snapshot{round, in.bytes(kSurveyBytesLimit)};
    }
    case 8:
      in.expect(2);
      return Table{in.number(1) == 1, read_rumors(in.array())};
    case 9:
      return read_probe(in);
    case 10:
      return read_misdirected(in);
    case 11:
      return read_terms(in);
    default: {
      in.expect(18);
      Round round;
      round.epoch = in.number();
      round.echo = in.number();
      round.round = in.number(kRoundLimit);
      round.share = in.amount(kShareLimit);
      round.index = in.number(kRoundLimit);
      round.span = in.amount();
      round.received = in.number(kRoundLimit);
      round.beyond = in.number();
      round.partial = in.number();
      round.offered = in.number(kRoundLimit);
      round.closes = in.number(1) == 1;
      round.order = in.number(kRoundLimit);
      round.seen = in.number(kRoundLimit);
      round.asks = in.number(1) == 1;
      round.sent = in.number(kRoundLimit);
      round.rate = in.amount();
      round.flow = in.floats(kEstimateLimit);
      round.estimate = in.floats(kEstimateLimit);
      return round;
    }
  }
}

Result<Header> read_header(const msgpack::object& object) {
  bool sound = true;
  Fields in(object, sound);
  const std::uint64_t version = in.number();
  if (sound && version != kProtocolVersion) return fail("protocol");
  in.expect(kEnvelopeFields);
  Header header;
  header.envelope.cluster = in.number();
  header.envelope.sender = NodeId{in.number()};
  header.envelope.incarnation = in.number(kIncarnationLimit - 1);
  header.envelope.sequence = in.number();
  header.chunk.transfer = in.number();
  header.chunk.offset = in.number();
  header.chunk.total = in.number();
  header.chunk.hash = in.number();
  const std::uint64_t kind = in.number(kKinds - 1);
  header.body = read_body(kind, in.array());
  if (!sound) return fail("malformed");
  return header;
}

// A header is flat: nothing in it is long, deep or a map.
const msgpack::unpack_limit kLimits(/*array*/ 16 * kMembersLimit, /*map*/ 0,
                                    /*str*/ kHeaderBytesLimit, /*bin*/ kHeaderBytesLimit,
                                    /*ext*/ 0, /*depth*/ 8);

std::uint64_t read_sum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kHeaderSumBytes; ++i)
    sum |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return sum;
}

// So that nodes of an earlier version, whose headers have no checksum, are told apart from damage.
bool is_of_another_version(std::span<const std::byte> bytes) {
  constexpr std::byte kArray{0x90 | kEnvelopeFields};
  return bytes.size() > 1 && bytes[0] == kArray && bytes[1] < std::byte{0x80} &&
         bytes[1] != std::byte{kProtocolVersion};
}

}  // namespace

std::string seal_header(std::string fields) {
  const std::uint64_t sum = header_hash(std::as_bytes(std::span(fields)));
  for (std::size_t i = 0; i < kHeaderSumBytes; ++i)
    fields.push_back(static_cast<char>(sum >> (8 * i)));
  return fields;
}

std::string encode_header(const Envelope& envelope, const Body& body, const Chunk& chunk) {
  Writer out;
  out.array(kEnvelopeFields);
  out.number(kProtocolVersion);
  out.number(envelope.cluster);
  out.number(envelope.sender.value);
  out.number(envelope.incarnation);
  out.number(envelope.sequence);
  out.number(chunk.transfer);
  out.number(chunk.offset);
  out.number(chunk.total);
  out.number(chunk.hash);
  out.number(body.index());
  std::visit(BodyWriter{out}, body);
  return seal_header(out.take());
}

Result<Header> decode_header(std::span<const std::byte> bytes) {
  if (bytes.size() <= kHeaderSumBytes || bytes.size() > kHeaderBytesLimit) return fail("size");
  if (is_of_another_version(bytes)) return fail("protocol");
  const std::uint64_t sum = read_sum(bytes.last(kHeaderSumBytes));
  bytes = bytes.first(bytes.size() - kHeaderSumBytes);
  if (header_hash(bytes) != sum) return fail("checksum");
  try {
    std::size_t offset = 0;
    bool referenced = false;
    const msgpack::object_handle handle = msgpack::unpack(
        reinterpret_cast<const char*>(bytes.data()), bytes.size(), offset, referenced,
        [](msgpack::type::object_type, std::size_t, void*) { return true; }, nullptr, kLimits);
    if (offset != bytes.size()) return fail("malformed");
    return read_header(handle.get());
  } catch (const std::exception&) {  // msgpack::unpack_error and its relatives, bad_alloc
    return fail("malformed");
  }
}

}  // namespace starling::gossip
