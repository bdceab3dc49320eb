#include "daemon/process/json_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace starling::daemon;

namespace {

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("A document is read up to a depth of nesting and not beyond") {
  CHECK(parse_json(nested(kJsonNestingLimit)).is_array());
  CHECK(parse_json(nested(kJsonNestingLimit + 1)).is_discarded());
  CHECK(parse_json(nested(1'000'000)).is_discarded());
  CHECK(parse_json("[1").is_discarded());
}

TEST_CASE("Brackets in texts and one after another are no nesting") {
  const std::string text = "\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"";
  CHECK(parse_json(text).is_string());
  std::string list = "[";
  for (int k = 0; k < 1000; ++k) list += "[{}],";
  CHECK(parse_json(list + "1]").size() == 1001);
}
