#include "daemon/cli/ask/event_file.h"

#include <doctest/doctest.h>

#include <string>

using namespace starling::daemon;
using namespace std::string_literals;

TEST_CASE("The checksum is CRC-32C with its published check value") {
  CHECK(crc32c("123456789") == 0xE3069283);
  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43);
  CHECK(crc32c("") == 0);
}

TEST_CASE("A file of events holds its version and then the numbers") {
  EventFile file(0.5);
  const std::string head =
      "\x18\0\0\0\0\0\0\0"s  // the length; the checksums are looked at from outside
      "\xa3\x7f\x4b\x22"s
      "\x09\0\0\0\0\0\0\xe0\x3f"s  // wall_time 0.5
      "\x1a\x0d"
      "brain.Event:2"s;  // file_version
  REQUIRE(file.bytes().size() == head.size() + 4);
  CHECK(file.bytes().substr(0, head.size()) == head);
  const std::size_t before = file.bytes().size();
  file.add(1, 300, "loss", 0.25);
  const std::string event =
      "\x09\0\0\0\0\0\0\xf0\x3f"s       // wall_time 1
      "\x10\xac\x02"s                   // step 300
      "\x2a\x0d\x0a\x0b"s               // summary, value
      "\x0a\x04loss\x15\0\0\x80\x3e"s;  // tag, simple_value
  CHECK(file.bytes().substr(before + 12, event.size()) == event);
  CHECK(file.bytes().size() == before + 12 + event.size() + 4);
}
