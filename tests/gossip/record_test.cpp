#include "gossip/wire/record.h"

#include <doctest/doctest.h>

#include "base/prng.h"
#include "gossip/wire/record_cache.h"
#include "gossip/wire/wire.h"
#include "tests/gossip/samples.h"

using namespace starling;
using namespace starling::gossip;
using test::sample_member;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

TEST_CASE("A record is shared by all that hold it until it is changed") {
  const Record record(sample_member("node-1"));
  Record other = record;
  CHECK(other.is(record));
  other.change([](Member& member) { ++member.version; });
  CHECK_FALSE(other.is(record));
  CHECK(other->version == record->version + 1);
  CHECK(other.encoding() != record.encoding());
  CHECK(Record()->name.empty());
}

TEST_CASE("Equal bytes give one record and other bytes another") {
  RecordCache cache(1);
  const Record record(sample_member("node-1")), other(sample_member("node-2"));
  const auto first = cache.get(bytes_of(record.encoding()));
  REQUIRE(first);
  CHECK((*first)->name == "node-1");
  CHECK(first->encoding() == record.encoding());
  CHECK(cache.get(bytes_of(record.encoding()))->is(*first));
  CHECK(cache.get(bytes_of(other.encoding()))->encoding() == other.encoding());
  CHECK_FALSE(cache.get(bytes_of("\x91\x01")));
}

TEST_CASE("The cache holds few records of a member however often that changes") {
  RecordCache cache(1 << 20);  // so that no two share a slot by chance
  Record changing(sample_member("node-1"));
  const Record other(sample_member("node-2"));
  const auto kept = cache.get(bytes_of(other.encoding()));
  std::optional<Record> last;
  for (int k = 0; k < 1000; ++k) {
    changing.change([](Member& member) { ++member.version; });
    last = cache.get(bytes_of(changing.encoding()));
  }
  CHECK(cache.size() <= 1 + RecordCache::kKeptOfMember);
  CHECK(cache.get(bytes_of(changing.encoding()))->is(*last));
  CHECK(cache.get(bytes_of(other.encoding()))->is(*kept));
}

TEST_CASE("Whatever bytes a header with a right checksum holds it is read or refused") {
  Prng prng(3);
  RecordCache cache;
  std::size_t read = 0, refused = 0;
  for (const Body& body : test::sample_bodies())
    for (int k = 0; k < 300; ++k) {
      std::string bytes = encode_header({1, node_id("a"), 2, 3}, body, {});
      bytes.resize(bytes.size() - kHeaderSumBytes);
      for (std::size_t changes = 1 + prng.below(3); changes > 0; --changes)
        bytes[prng.below(bytes.size())] = static_cast<char>(prng.below(256));
      if (prng.chance(0.2)) bytes.resize(prng.below(bytes.size()));
      const std::string sealed = seal_header(bytes);
      const auto header = decode_header(bytes_of(sealed), &cache);
      ++(header ? read : refused);
      // A number may have a longer form than it needs.
      if (header) CHECK(is_within_limits(header->body));
    }
  CHECK(read > 500);
  CHECK(refused > 500);
}
