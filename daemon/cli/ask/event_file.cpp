#include "daemon/cli/ask/event_file.h"

#include <bit>
#include <boost/crc.hpp>
#include <type_traits>

// A record is: u64 length, u32 masked checksum of it, the data, u32 masked checksum of them; all
// little endian. The data are a message of Protocol Buffers:
//   Event   { 1: double wall_time  2: int64 step  3: string file_version  5: Summary summary }
//   Summary { 1: Value value }
//   Value   { 1: string tag  2: float simple_value }

namespace starling::daemon {
namespace {

constexpr std::string_view kFormatVersion = "brain.Event:2";

// How a field is written, by Protocol Buffers.
enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

template <class Unsigned>
void put_little_endian(std::string& out, Unsigned number) {
  static_assert(std::is_unsigned_v<Unsigned>);
  for (std::size_t i = 0; i < sizeof number; ++i)
    out.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
}

// Seven bits a byte, the lowest first; the top bit says that more follow.
void put_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) out.push_back(static_cast<char>((number & 0x7f) | 0x80));
  out.push_back(static_cast<char>(number));
}

void put_key(std::string& out, std::uint8_t field, WireType wire) {
  put_varint(out, static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint8_t>(wire));
}

void put_bytes(std::string& out, std::uint8_t field, std::string_view bytes) {
  put_key(out, field, WireType::bytes);
  put_varint(out, bytes.size());
  out.append(bytes);
}

std::string event_at(double wall_time) {
  std::string event;
  put_key(event, 1, WireType::fixed64);
  put_little_endian(event, std::bit_cast<std::uint64_t>(wall_time));
  return event;
}

// The checksum of data that hold checksums would be of little use: so it is rotated and moved.
std::uint32_t masked(std::uint32_t sum) {
  return std::rotr(sum, 15) + 0xa282ead8U;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> sum;
  sum.process_bytes(bytes.data(), bytes.size());
  return sum.checksum();
}

EventFile::EventFile(double wall_time) {
  std::string event = event_at(wall_time);
  put_bytes(event, 3, kFormatVersion);
  put_record(event);
}

void EventFile::add(double wall_time, std::int64_t step, std::string_view tag, double value) {
  std::string number;
  put_bytes(number, 1, tag);
  put_key(number, 2, WireType::fixed32);
  put_little_endian(number, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  std::string summary;
  put_bytes(summary, 1, number);
  std::string event = event_at(wall_time);
  put_key(event, 2, WireType::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
  put_bytes(event, 5, summary);
  put_record(event);
}

void EventFile::put_record(std::string_view data) {
  std::string length;
  put_little_endian(length, static_cast<std::uint64_t>(data.size()));
  bytes_.append(length);
  put_little_endian(bytes_, masked(crc32c(length)));
  bytes_.append(data);
  put_little_endian(bytes_, masked(crc32c(data)));
}

}  // namespace starling::daemon
