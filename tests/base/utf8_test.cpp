#include "base/utf8.h"

#include <doctest/doctest.h>

using namespace starling;

TEST_CASE("A text from outside cannot steer what shows it") {
  CHECK(printable("a\x1b[2Jb\nc\x7f") == "a?[2Jb?c?");
  CHECK(printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(printable("x\xc2\x9b") == "x??");
  CHECK(printable("gnp\u202eexe.\u200bx") == "gnp???exe.???x");
  CHECK(printable("\xff\xe2\x80x") == "???x");
}
