#include "gossip/wire/wire.h"

#include "base/content_hash.h"
#include "base/planted.h"
#include "gossip/wire/archives.h"

namespace starling::gossip {
namespace {

// The version, 4 fields of the envelope, 4 of the chunk, the kind, the body.
constexpr std::uint32_t kHeaderFields = 11;

// Calls `act` with an empty body of the kind with this number. Returns whether the kind exists.
template <class Act, class... Bodies>
bool with_kind(std::uint64_t number, const Act& act, std::type_identity<std::variant<Bodies...>>) {
  const auto act_if = [&]<class B>(std::type_identity<B>) {
    if (B::kKind.number != number) return false;
    act(B{});
    return true;
  };
  return (act_if(std::type_identity<Bodies>{}) || ...);
}

Body read_body(Reader& in, bool& sound) {
  Body read;
  std::uint64_t kind = 0;
  in.number(kind, kAnyNumber);
  const auto read_as = [&](auto body) {
    in.record(body);
    read = std::move(body);
  };
  sound = with_kind(kind, read_as, std::type_identity<Body>{}) && sound;
  return read;
}

Result<Header> read_header(Reader::Source source) {
  Reader in(source);
  std::uint64_t version = 0;
  in.number(version, kAnyNumber);
  if (source.sound && version != kProtocolVersion) return fail("protocol");
  Header header;
  fields(in, header.envelope);
  fields(in, header.chunk);
  header.body = read_body(in, source.sound);
  in.end();
  if (!source.sound || !source.bytes.empty()) return fail("malformed");
  return header;
}

std::uint64_t read_sum(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kHeaderSumBytes; ++i)
    sum |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return sum;
}

// Tells a header of another version from a damaged one. Headers of earlier versions have no
// checksum, so this test comes before that of the checksum.
bool is_of_another_version(std::span<const std::byte> bytes) {
  constexpr std::byte kArray{0x90 | kHeaderFields};
  return bytes.size() > 1 && bytes[0] == kArray && bytes[1] < std::byte{0x80} &&
         bytes[1] != std::byte{kProtocolVersion};
}

}  // namespace

std::string seal_header(std::string fields) {
  const std::uint64_t sum = content_hash(std::as_bytes(std::span(fields)));
  for (std::size_t i = 0; i < kHeaderSumBytes; ++i)
    fields.push_back(static_cast<char>(sum >> (8 * i)));
  return fields;
}

std::string encode_header(const Envelope& envelope, const Body& body, const Chunk& chunk) {
  Writer out;
  out.array(kHeaderFields);
  out.number(kProtocolVersion);
  fields(out, envelope);
  fields(out, chunk);
  out.number(kind_of(body).number);
  std::visit([&out](const auto& x) { out.record(x); }, body);
  return seal_header(out.take());
}

bool is_within_limits(const Body& body) {
  Checker checker;
  std::visit([&checker](const auto& x) { checker.record(x); }, body);
  return checker.sound();
}

std::optional<OtherVersion> read_other_version(std::span<const std::byte> bytes) {
  if (bytes.size() > kHeaderBytesLimit || !is_of_another_version(bytes)) return std::nullopt;
  OtherVersion other;
  std::uint64_t ignored = 0, kind = 0;
  Reader::Source source{bytes};
  Reader header(source);
  header.number(other.version, kAnyNumber);
  for (std::uint32_t field = 2; field < kHeaderFields - 1; ++field)
    header.number(ignored, kAnyNumber);
  header.number(kind, kAnyNumber);
  Reader member = header.array().array();
  member.number(ignored, kAnyNumber);
  member.text(other.name, kNameBytesLimit);
  member.endpoint(other.control);
  if (!source.sound || kind != Join::kKind.number) return std::nullopt;
  return other;
}

Result<Header> decode_header(std::span<const std::byte> bytes, RecordCache* records) {
  if (bytes.size() <= kHeaderSumBytes || bytes.size() > kHeaderBytesLimit) return fail("size");
  if (is_of_another_version(bytes)) return fail("protocol");
  const std::uint64_t sum = read_sum(bytes.last(kHeaderSumBytes));
  bytes = bytes.first(bytes.size() - kHeaderSumBytes);
  if (content_hash(bytes) != sum && !PLANTED(flips_unseen)) return fail("checksum");
  return read_header({bytes, records});
}

}  // namespace starling::gossip
