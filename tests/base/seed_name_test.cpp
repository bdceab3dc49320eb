#include "base/seed_name.h"

#include <doctest/doctest.h>

#include <string>

using namespace starling;

namespace {

constexpr char kKeyText[] = "L9blEVGmQFq-OZP56L5OfUIWRc4hWmwTrg5vlBZIZTI";

std::string refusal(const std::string& text) {
  const auto name = parse_seed_name(text);
  return name ? "" : name.error().text;
}

}  // namespace

TEST_CASE("A seed survives its text form") {
  for (const char* text :
       {"10.0.0.1:7600", "node-1.example:7600", "[::1]:7600", "dns:starling:7600",
        "dns:starling.default.svc.cluster.local:7600", "dns:nodes.example.:1",
        "dns:_control._tcp.starling.default.svc.cluster.local", "dns:_a._tcp.b", "dns:7600"}) {
    CAPTURE(text);
    const auto name = parse_seed_name(text);
    REQUIRE(name.has_value());
    CHECK(to_string(*name) == text);
  }
}

TEST_CASE("A seed says how it is looked up") {
  CHECK(parse_seed_name("dns:nodes:7600") == SeedName("nodes", 7600, SeedName::Kind::hosts));
  CHECK(parse_seed_name("dns:_x._tcp.nodes") ==
        SeedName("_x._tcp.nodes", 0, SeedName::Kind::service));
  CHECK(parse_seed_name("nodes:7600") == SeedName("nodes", 7600));
  CHECK(parse_seed_name("dns:7600") == SeedName("dns", 7600));
  CHECK(parse_seed_name("dns:nodes:7600")->is_in_dns());
  CHECK(parse_seed_name("dns:_x._tcp.nodes")->is_in_dns());
  CHECK_FALSE(parse_seed_name("nodes:7600")->is_in_dns());
  CHECK_FALSE(parse_seed_name("[::1]:7600")->is_in_dns());
}

TEST_CASE("A seed with a key survives its text form and stands for the same place") {
  for (const char* at : {"10.0.0.1:7600", "node-1.example:7600", "[::1]:7600"}) {
    CAPTURE(at);
    const std::string text = std::string(at) + "#" + kKeyText;
    const auto name = parse_seed_name(text);
    REQUIRE(name.has_value());
    REQUIRE(name->key.has_value());
    CHECK(to_string(*name->key) == kKeyText);
    CHECK(to_string(*name) == text);
    CHECK(*name == *parse_seed_name(at));
    CHECK_FALSE(parse_seed_name(at)->key.has_value());
  }
}

TEST_CASE("A seed whose key was damaged anywhere is refused or is another key") {
  const std::string text = std::string("10.0.0.1:7600#") + kKeyText;
  const std::size_t begin = text.find('#') + 1;
  for (std::size_t at = begin; at < text.size(); ++at) {
    CAPTURE(at);
    CHECK_FALSE(parse_seed_name(text.substr(0, at)).has_value());
    for (const char letter : {'A', '_', '#', ':', ' ', '\0', '\xff'}) {
      std::string damaged = text;
      damaged[at] = letter;
      const auto name = parse_seed_name(damaged);
      if (name) CHECK(to_string(*name) == damaged);
    }
  }
  CHECK_FALSE(parse_seed_name(text + "A").has_value());
  CHECK(refusal("10.0.0.1:7600#") == "\"\": expected a public key, 43 letters, digits, - and _");
  CHECK(refusal("10.0.0.1#" + text.substr(begin)).find("has no port") != std::string::npos);
  CHECK(refusal("10.0.0.1:0#" + text.substr(begin)).find("has port 0") != std::string::npos);
  CHECK(refusal("dns:nodes:7600#" + text.substr(begin)).find("any number of members") !=
        std::string::npos);
}

TEST_CASE("What names no seed is refused with the forms there are") {
  const std::string forms = "expected dns:NAME:PORT or dns:_SERVICE._tcp.NAME";
  for (const char* text :
       {"dns:", "dns::7600", "dns:nodes", "dns:a b:7600", "dns:[::1]:7600", "dns:.:7600",
        "dns:a..b:7600", "dns:.a:7600", "dns:_x._udp.nodes", "dns:_x._tcp", "dns:_x._tcp.",
        "dns:_._tcp.nodes", "dns:_x.nodes", "dns:_x._tcp.10.0.0.1"}) {
    CAPTURE(text);
    CHECK_FALSE(refusal(text).empty());
  }
  CHECK(refusal("dns:nodes") == "\"dns:nodes\" has no port; " + forms);
  CHECK(refusal("dns:_x._udp.nodes") == "\"dns:_x._udp.nodes\" is no name of a service; " + forms);
  CHECK(refusal("dns:_x._tcp.nodes:7600") ==
        "\"dns:_x._tcp.nodes:7600\" has a port; that of a service is in its records: " + forms);
  CHECK(refusal("dns:10.0.0.1:7600") ==
        "\"dns:10.0.0.1:7600\" holds an address; expected a name behind dns:, or 10.0.0.1:7600 "
        "alone");
  CHECK(refusal("dns:nodes:0").find("has port 0") != std::string::npos);
  CHECK(refusal("nodes:0").find("has port 0") != std::string::npos);
  CHECK(refusal("dns:nodes:65536").find("a port is a number") != std::string::npos);
  CHECK(refusal("dns:" + std::string(64, 'a') + ":1").find("no name") != std::string::npos);
  std::string longest;
  for (int k = 0; k < 126; ++k) longest += "a.";
  CHECK(refusal("dns:" + longest + "a:1").empty());
  CHECK(refusal("dns:" + longest + "aa:1").find("no name") != std::string::npos);
}
