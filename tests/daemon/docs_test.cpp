// The keys that the documentation names are keys of the program.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "daemon/setup/config.h"

using namespace starling;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::filesystem::path> pages() {
  const std::filesystem::path root = STARLING_ROOT;
  std::vector<std::filesystem::path> pages = {root / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

std::set<std::string> sections() {
  std::set<std::string> sections;
  for (const Key& key : daemon::schema().keys())
    sections.insert(key.name.substr(0, key.name.find('.')));
  return sections;
}

// `data.reference.*` names a group.
bool is_key_or_group(const std::string& name) {
  return std::ranges::any_of(daemon::schema().keys(), [&](const Key& key) {
    return key.name == name || key.name.starts_with(name + ".");
  });
}

}  // namespace

TEST_CASE("The table of presets says what the presets are") {
  const std::string text = text_of(std::filesystem::path(STARLING_ROOT) / "docs" / "wire.md");
  for (const char* preset : {"local", "lan", "wan"}) {
    const gossip::Timing timing = gossip::timing_of(preset);
    std::string row = fmt::format("| {} |", preset);
    for (const Duration duration :
         {timing.period, timing.answer, timing.suspicion, timing.unreachable, timing.refused,
          timing.news, timing.exchange, timing.retry, timing.doubt_least, timing.patience_least}) {
      const bool is_short = duration < std::chrono::milliseconds(200);
      const bool is_tenths = duration % std::chrono::milliseconds(100) == Duration{};
      row += is_short && !is_tenths ? fmt::format(" {:g} ms |", 1000 * seconds(duration))
                                    : fmt::format(" {:g} s |", seconds(duration));
    }
    CAPTURE(row);
    CHECK(text.find(row) != std::string::npos);
  }
}

TEST_CASE("Every key that the documentation names is a key of the program") {
  const std::set<std::string> known = sections();
  const std::set<std::string> files = {"h", "cpp", "ini", "md", "py", "json"};
  const std::regex pattern("`(?:--)?([a-z]+)\\.([a-z][a-z0-9-]*(?:\\.[a-z][a-z-]*)*)");
  std::size_t count = 0;
  for (const std::filesystem::path& page : pages()) {
    const std::string text = text_of(page);
    for (std::sregex_iterator item(text.begin(), text.end(), pattern), end; item != end; ++item) {
      const std::string section = (*item)[1], name = (*item)[2];
      if (!known.contains(section) || files.contains(name)) continue;
      ++count;
      const std::string place = page.filename().string() + ": " + section + "." + name;
      CAPTURE(place);
      CHECK(is_key_or_group(section + "." + name));
    }
  }
  CHECK(count > 100);  // a pattern that finds nothing checks nothing
}
