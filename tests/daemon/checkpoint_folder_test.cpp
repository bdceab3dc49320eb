#include "daemon/process/checkpoint_folder.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/content_hash.h"
#include "base/prng.h"

using namespace starling;
using namespace starling::daemon;
namespace fs = std::filesystem;

namespace {

Payload payload_of(const std::string& text) {
  return Payload::copy_of(std::as_bytes(std::span(text)));
}

std::string text_in(const Payload& bytes) {
  std::string text(bytes.size(), '\0');
  bytes.copy_to(0, std::as_writable_bytes(std::span(text)));
  return text;
}

// The round as text, in what it is about and in its files.
Generation generation_of(int round) {
  const std::string text = std::to_string(round);
  return {.about = {{"round", text}},
          .files = {{"model.safetensors", payload_of("model of round " + text)},
                    {"state", payload_of("state " + text)},
                    {"nothing", {}}}};
}

struct Fixture {
  Fixture()
      : path(fs::temp_directory_path() / ("starling-checkpoints-" + std::to_string(::getpid()))) {
    fs::remove_all(path);
  }
  ~Fixture() { fs::remove_all(path); }

  CheckpointFolder open() const {
    auto folder = CheckpointFolder::open(path);
    REQUIRE(folder.has_value());
    return *std::move(folder);
  }
  std::string round_found() const {
    CheckpointFolder folder = open();
    const auto found = folder.load();
    if (!found) return "none";
    const std::string round = found->about.at("round");
    CHECK(text_in(found->files.at("model.safetensors")) == "model of round " + round);
    CHECK(text_in(found->files.at("state")) == "state " + round);
    CHECK(found->files.at("nothing").empty());
    return round;
  }
  // The files of the newest generation.
  std::vector<fs::path> newest_files() const {
    fs::path newest;
    for (const auto& entry : fs::directory_iterator(path)) newest = std::max(newest, entry.path());
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(newest)) files.push_back(entry.path());
    return files;
  }

  fs::path path;
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "The newest checkpoint is found and older ones than asked for are gone") {
  CHECK(round_found() == "none");
  CheckpointFolder folder = open();
  for (int round = 1; round <= 5; ++round) {
    REQUIRE(folder.save(generation_of(round), 2).has_value());
    CHECK(folder.generation() == round);
    CHECK(round_found() == std::to_string(round));
  }
  CHECK(std::distance(fs::directory_iterator(path), {}) == 2);
  CheckpointFolder again = open();
  REQUIRE(again.save(generation_of(6), 2).has_value());
  CHECK(again.generation() == 6);
  CHECK(round_found() == "6");
}

TEST_CASE_FIXTURE(Fixture,
                  "A bit that flips anywhere is found and the generation before is taken") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 2).has_value());
  REQUIRE(folder.save(generation_of(2), 2).has_value());
  Prng prng(7);
  const auto files = newest_files();
  for (int trial = 0; trial < 1000;) {
    const fs::path& file = files[prng.below(files.size())];
    const std::string whole = read_text(file);
    if (whole.empty()) continue;
    ++trial;
    std::string spoilt = whole;
    spoilt[prng.below(spoilt.size())] ^= static_cast<char>(1 << prng.below(8));
    write_text(file, spoilt);
    CHECK(round_found() == "1");
    write_text(file, whole);
  }
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture, "A file that is cut short or missing or longer is found") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 2).has_value());
  REQUIRE(folder.save(generation_of(2), 2).has_value());
  Prng prng(11);
  const auto files = newest_files();
  for (int trial = 0; trial < 200;) {
    const fs::path& file = files[prng.below(files.size())];
    const std::string whole = read_text(file);
    if (whole.empty()) continue;
    ++trial;
    write_text(file, whole.substr(0, prng.below(whole.size())));
    CHECK(round_found() == "1");
    write_text(file, whole);
  }
  for (const fs::path& file : files) {
    const std::string whole = read_text(file);
    write_text(file, whole + "x");
    CHECK(round_found() == "1");
    fs::remove(file);
    CheckpointFolder damaged = open();
    REQUIRE(damaged.load());
    REQUIRE(damaged.damages().size() == 1);
    CHECK(damaged.damages().front().find(file.filename()) != std::string::npos);
    write_text(file, whole);
  }
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture,
                  "A manifest of wrong types is passed over though its checksum is right") {
  REQUIRE(open().save(generation_of(1), 1));
  for (const char* text :
       {R"({"about": {}, "files": {}, "format": "1"})", R"({"about": {}, "files": {}})",
        R"({"about": {}, "files": {"state": {"bytes": 7, "xxh3": 7}}, "format": 1})",
        R"({"about": {}, "files": {"state": {"bytes": "7"}}, "format": 1})", "[]", "{"}) {
    CAPTURE(text);
    std::ofstream(path / "000000000001" / "manifest.json")
        << text << fmt::format("\n{:016x}\n", content_hash(payload_of(text)));
    CheckpointFolder folder = open();
    CHECK_FALSE(folder.load());
    CHECK(folder.damages().size() == 1);
    fs::rename(path / "000000000001.damaged", path / "000000000001");
  }
}

TEST_CASE_FIXTURE(Fixture, "What a process left half written does not count and goes") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 2).has_value());
  fs::create_directory(path / ".new");
  write_text(path / ".new" / "state", "half");
  write_text(path / "notes.txt", "of a person");
  fs::create_directory(path / "12");
  CHECK(round_found() == "1");
  CHECK_FALSE(fs::exists(path / ".new"));
  CHECK(fs::exists(path / "notes.txt"));
  CheckpointFolder again = open();
  CHECK(again.save(generation_of(2), 2).has_value());
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture, "A named pipe in a checkpoint is passed over and nobody waits for it") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 2).has_value());
  REQUIRE(folder.save(generation_of(2), 2).has_value());
  for (const fs::path& file : newest_files()) {
    const std::string whole = read_text(file);
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    CHECK(round_found() == "1");
    fs::remove(file);
    write_text(file, whole);
  }
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture, "A generation whose name may not last is an error and leaves the rest") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 1).has_value());
  // A folder that may be written to and not be opened cannot be synced. Root opens any.
  REQUIRE(::chmod(path.c_str(), 0333) == 0);
  const auto before = static_cast<uid_t>(::setfsuid(65534));
  for (int k = 0; k < 3; ++k) CHECK_FALSE(folder.save(generation_of(2), 1).has_value());
  ::setfsuid(before);
  ::chmod(path.c_str(), 0755);
  CHECK(std::distance(fs::directory_iterator(path), {}) == 1);
  CHECK(round_found() == "1");
  CHECK(folder.save(generation_of(2), 1).has_value());
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture, "A folder that was removed is made again") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 1).has_value());
  fs::remove_all(path);
  CHECK(folder.is_empty());
  CHECK(folder.save(generation_of(2), 1).has_value());
  CHECK(round_found() == "2");
}

TEST_CASE_FIXTURE(Fixture, "Where no generation can be used all are kept under other names") {
  {
    CheckpointFolder folder = open();
    for (int round : {1, 2}) REQUIRE(folder.save(generation_of(round), 2).has_value());
  }
  for (const char* number : {"000000000001", "000000000002"})
    write_text(path / number / "manifest.json", "spoilt");
  CheckpointFolder folder = open();
  CHECK_FALSE(folder.load());
  CHECK(folder.damages().size() == 2);
  CHECK(folder.is_empty());
  CHECK(read_text(path / "000000000002.damaged" / "manifest.json") == "spoilt");
  for (int round : {3, 4, 5}) REQUIRE(folder.save(generation_of(round), 1).has_value());
  CHECK(fs::exists(path / "000000000001.damaged"));
  CHECK(round_found() == "5");
  CHECK(folder.generation() == 5);
}

TEST_CASE_FIXTURE(Fixture,
                  "Too little room for all generations and one more is said with figures") {
  CheckpointFolder folder = open();
  CHECK(folder.doubt(1'000, 3).empty());
  const std::string doubt = folder.doubt(std::uint64_t{1} << 60, 3);
  CHECK(doubt.find(path) == 0);
  CHECK(doubt.find("checkpoint.keep = 3 generations of 1152921504606.8 MB") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "What cannot be written is an error that names it and leaves the rest") {
  CheckpointFolder folder = open();
  REQUIRE(folder.save(generation_of(1), 1).has_value());
  fs::rename(path, path.string() + "-away");
  write_text(path, "of a person");
  const auto saved = folder.save(generation_of(2), 1);
  REQUIRE_FALSE(saved.has_value());
  CHECK(saved.error().text.find(path) != std::string::npos);
  fs::remove(path);
  fs::rename(path.string() + "-away", path);
  CHECK(round_found() == "1");
  CHECK(folder.save(generation_of(2), 1).has_value());
  CHECK(round_found() == "2");
  write_text(path.string() + "-file", "");
  const auto opened = CheckpointFolder::open(path.string() + "-file");
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().text.find("-file") != std::string::npos);
  fs::remove(path.string() + "-file");
}
