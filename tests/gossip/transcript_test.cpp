// Conversations of two and three nodes as people read them. Each file of tests/gossip/transcripts
// holds paragraphs: commands (conversation.h), a line of dashes, and what happened. A change that
// is meant to keep behaviour keeps them; one that is meant to change it writes them anew, with
// TEST_REWRITE=1, and its author reads the difference.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/gossip/conversation.h"

using namespace starling;
using namespace starling::test;

namespace {

constexpr std::string_view kDashes = "----";

std::vector<std::filesystem::path> transcripts() {
  std::vector<std::filesystem::path> paths;
  for (const auto& file :
       std::filesystem::directory_iterator(STARLING_ROOT "/tests/gossip/transcripts"))
    if (file.path().extension() == ".txt") paths.push_back(file.path());
  std::ranges::sort(paths);
  return paths;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The same file with what happens now. What follows the dashes is left out up to an empty line.
std::string replay(const std::string& transcript) {
  Conversation conversation;
  std::istringstream lines(transcript);
  std::string text, happened;
  bool is_told = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) is_told = false;
    if (is_told) continue;
    if (line == kDashes) {
      is_told = true;
      line += "\n" + std::exchange(happened, {});
      line.pop_back();
    } else if (!line.empty() && line.front() != '#') {
      happened += conversation.play(line);
    }
    text += line + "\n";
  }
  CHECK_MESSAGE(happened.empty(), "the last commands have no line of dashes behind them");
  return text;
}

// The first line that differs, and the three before it.
std::string difference(const std::string& before, const std::string& now) {
  std::istringstream old_lines(before), new_lines(now);
  std::vector<std::string> same;
  for (std::string was, is; true; same.push_back(was)) {
    const bool has_old = !std::getline(old_lines, was).fail();
    const bool has_new = !std::getline(new_lines, is).fail();
    if (has_old && has_new && was == is) continue;
    std::string text;
    for (std::size_t k = same.size() < 3 ? 0 : same.size() - 3; k < same.size(); ++k)
      text += "\n  " + same[k];
    return text + "\n- " + (has_old ? was : "(end)") + "\n+ " + (has_new ? is : "(end)");
  }
}

}  // namespace

TEST_CASE("Every conversation goes as its transcript says") {
  const bool rewrites = std::getenv("TEST_REWRITE") != nullptr;
  CHECK(transcripts().size() >= 12);
  for (const std::filesystem::path& path : transcripts()) {
    const std::string before = read(path), now = replay(before);
    if (rewrites) std::ofstream(path) << now;
    if (!rewrites && now != before) FAIL_CHECK(path.filename().string(), difference(before, now));
  }
}

TEST_CASE("A conversation is the same every time") {
  for (const std::filesystem::path& path : transcripts()) {
    CAPTURE(path.filename().string());
    const std::string transcript = read(path);
    CHECK(replay(transcript) == replay(transcript));
  }
}

TEST_CASE("A command that is not known is named") {
  Conversation conversation;
  for (const std::string line : {"dance node-1", "run 5", "start node-1 colour=red", "kill node-7"})
    CHECK_THROWS_WITH_AS(conversation.play(line), doctest::Contains(line.c_str()),
                         std::runtime_error);
}
