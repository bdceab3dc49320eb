#include "daemon/process/overheard.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>

using namespace starling::daemon;

TEST_CASE("The last line is the last one with a visible character") {
  LastLine line;
  CHECK(line.text().empty());
  line.add("Traceback (most recent call last):\n  Value");
  CHECK(line.text() == "Value");
  line.add("Error: no such column\n\n  \n");
  CHECK(line.text() == "ValueError: no such column");
  line.add("10 %\r20 %\r");
  CHECK(line.text() == "20 %");
}

TEST_CASE("The last line is printable and has a limit") {
  LastLine line;
  line.add("\033[31mred\xff\n");
  CHECK(line.text() == "?[31mred?");
  line.add(std::string(10 * LastLine::kBytesLimit, 'x'));
  CHECK(line.text().size() == LastLine::kBytesLimit);
}

TEST_CASE("What was written is heard when its writer has ended and only once") {
  Overheard errors;
  REQUIRE(errors.open());
  const std::string text = "ModuleNotFoundError: No module named 'x'\n";
  REQUIRE(::write(errors.descriptor(), text.data(), text.size()) > 0);
  CHECK(errors.take_last_line() == "ModuleNotFoundError: No module named 'x'");
  CHECK(errors.take_last_line().empty());
}
