#include "models/data/table_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/data/cell.h"
#include "models/data/load.h"
#include "tests/models/support.h"

using namespace starling;
using namespace starling::models;

namespace {

// What is said of a table with target y.
std::vector<std::string> notes_of(const std::string& text, double holdout = 0) {
  const Folder folder("notes");
  DataOptions options{.source = Source::csv, .path = folder.write("a.csv", text)};
  options.target = "y";
  options.holdout = holdout;
  return value_of(load(options)).notes;
}

bool has(const std::vector<std::string>& notes, const std::string& part) {
  return std::ranges::any_of(
      notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// 200 rows that differ, of which `positives` are of class 1.
std::string two_classes(int positives) {
  std::string text = "a,y\n";
  for (int row = 0; row < 200; ++row)
    text += fmt::format("{}.5,{}\n", row * row, row < positives ? 1 : 0);
  return text;
}

}  // namespace

TEST_CASE("Rows that repeat are counted and those that are held out and trained on too") {
  const Folder folder("repeats");
  std::string held_out = "a,b,y\n", trained = held_out;
  const auto row = [](int k) { return fmt::format("{},w{},{}.5\n", k * k, k % 3, 7 * k); };
  for (int k = 0; k < 98; ++k) (k % 2 == 0 ? held_out : trained) += row(k);
  const auto said = [&] {
    DataOptions options{.source = Source::csv, .path = folder.write("a.csv", trained)};
    options.test_path = folder.write("b.csv", held_out);
    options.target = "y";
    return value_of(load(options)).notes;
  };
  CHECK_FALSE(has(said(), "repeat"));
  trained += row(0) + row(1);
  CHECK(has(said(),
            "2 of 100 rows repeat an earlier row; 1 of 49 held-out rows are trained on too, and "
            "their errors look smaller than those of new rows; leave them out of the file, unless "
            "they are samples of their own"));
}

TEST_CASE("A repeated row is told of a table and cells that join to one text are not equal") {
  std::string text = two_classes(100);
  CHECK_FALSE(has(notes_of(text, 0.2), "repeat"));
  text += text.substr(text.find('\n') + 1);
  CHECK(has(notes_of(text, 0.2), "200 of 400 rows repeat an earlier row"));
  std::string pairs = "a,b,y\n";
  for (int row = 0; row < 20; ++row) pairs += row % 2 == 0 ? "ab,c,1.5\n" : "a,bc,1.5\n";
  CHECK(has(notes_of(pairs), "18 of 20 rows repeat"));
}

TEST_CASE("A rare class is told with what the most frequent one alone gives") {
  CHECK(has(notes_of(two_classes(4), 0.2),
            "class 1 is rare: 4 of 200 rows (2 %); to answer 0 always is right in 98.0 % of them"));
  CHECK_FALSE(has(notes_of(two_classes(40)), "is rare"));
}

TEST_CASE("Columns that are the same in every row are named together") {
  std::string text = "a,site,unit,y\n";
  for (int row = 0; row < 20; ++row) text += fmt::format("{}.5,7,cm,{}\n", row, row % 2);
  CHECK(has(notes_of(text),
            "site, unit are the same in every row, which tells nothing; "
            "data.ignore = site,unit leaves them out"));
}

TEST_CASE("A number that is infinite is said to be missing") {
  std::string text = "a,y\n";
  for (int row = 0; row < 60; ++row)
    text += fmt::format("{},{}\n", row % 30 == 7 ? "-inf" : fmt::format("{}.5", row), row % 2);
  CHECK(has(notes_of(text), "column a: \"-inf\" in 2 cells counts as missing"));
  CHECK(is_infinite("Infinity"));
  CHECK_FALSE(is_infinite("info"));
}
