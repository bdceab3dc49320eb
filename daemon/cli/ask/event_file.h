// EventFile: numbers over steps in the file format of TensorBoard: records of a length and a
// message of type Event, each with a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace starling::daemon {

// CRC-32C (Castagnoli), as in RFC 3720.
std::uint32_t crc32c(std::string_view bytes);

// The bytes of one file; they are kept in memory until they are taken.
class EventFile {
 public:
  // The first record says the version of the format. `wall_time` is in seconds since 1970.
  explicit EventFile(double wall_time);

  // One number of the curve `tag`. It is kept in single precision, as the format has it.
  void add(double wall_time, std::int64_t step, std::string_view tag, double value);

  const std::string& bytes() const { return bytes_; }

 private:
  void put_record(std::string_view data);

  std::string bytes_;
};

}  // namespace starling::daemon
