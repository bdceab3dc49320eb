#include "models/data/survey_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/data/cell.h"
#include "models/data/columns/truth.h"

namespace starling::models {
namespace {

using Texts = std::vector<std::string>;

// One founder's words of a column, or its classes.
struct Told {
  std::string site;
  Texts words;
};

std::string shown(const std::string& word) {
  constexpr std::size_t kShown = 40;
  return fmt::format("\"{}\"", word.substr(0, kShown));
}

std::string some(const Texts& words) {
  constexpr std::size_t kSome = 3;
  Texts first;
  for (const std::string& word : words)
    if (!word.empty() && first.size() < kSome) first.push_back(shown(word));
  return fmt::format("{}", fmt::join(first, ", "));
}

bool are_truths(const Texts& words) {
  return std::ranges::all_of(
      words, [](const std::string& word) { return word.empty() || truth_of(word).has_value(); });
}

// Two spellings of one word at two founders.
void note_spellings(const std::string& name, const std::vector<Told>& all, Texts& notes) {
  std::map<std::string, std::pair<std::string, std::string>> seen;  // folded: word and site
  for (const Told& told : all)
    for (const std::string& word : told.words) {
      const auto [at, is_new] = seen.emplace(folded(word), std::pair(word, told.site));
      if (is_new || at->second.first == word) continue;
      notes.push_back(fmt::format(
          "{} has {} at {} and {} at {}, which count as two words; data.words-case = fold at all "
          "nodes makes them one",
          name, shown(at->second.first), at->second.second, shown(word), told.site));
      return;
    }
}

// Founders none of whose words another has.
void note_strangers(const std::string& name, const std::vector<Told>& all, Texts& notes) {
  if (all.size() < 2) return;
  std::map<std::string_view, std::size_t> founders;
  for (const Told& told : all)
    for (const std::string& word : told.words)
      if (!word.empty()) ++founders[word];
  for (const Told& told : all) {
    const bool is_strange = std::ranges::all_of(
        told.words, [&](const std::string& word) { return word.empty() || founders[word] == 1; });
    const auto other = std::ranges::find_if(
        all, [&](const Told& one) { return &one != &told && !one.words.empty(); });
    if (!is_strange || other == all.end() || some(told.words).empty()) continue;
    notes.push_back(
        fmt::format("{}: no other node has a word that {} has ({}), and {} has {}; if they mean "
                    "the same, write "
                    "them alike",
                    name, told.site, some(told.words), other->site, some(other->words)));
    return;
  }
}

void note_words(const std::string& name, const std::vector<Told>& all, Texts& notes) {
  if (std::ranges::all_of(all, are_truths, &Told::words)) return;
  const std::size_t before = notes.size();
  note_spellings(name, all, notes);
  if (notes.size() == before) note_strangers(name, all, notes);
}

std::string form_text(const ColumnForm& form) {
  std::string text = form.unit.empty() ? "without a unit" : "in " + form.unit;
  if (form.order != DateOrder::unknown)
    text = form.order == DateOrder::day_first ? "with the day first" : "with the month first";
  if (form.has_limits) text += " and with limits of detection";
  return text;
}

// One founder alone writes a column in another form.
void note_forms(const std::string& name, const std::map<std::string, Texts>& sites, Texts& notes) {
  if (sites.size() != 2) return;
  const auto& [one, few] = sites.begin()->second.size() == 1 ? *sites.begin() : *sites.rbegin();
  const auto& [other, many] = sites.begin()->second.size() == 1 ? *sites.rbegin() : *sites.begin();
  if (few.size() == 1)
    notes.push_back(fmt::format("column {} is written {} at {}, and {} at {}", name, one,
                                few.front(), other,
                                many.size() == 1 ? many.front() : "the others"));
}

}  // namespace

std::vector<std::string> differences(std::span<const Survey> of_founders) {
  Texts notes;
  std::vector<Told> classes;
  if (of_founders.size() < 2) return notes;
  for (const Survey& survey : of_founders)
    if (!survey.is_fixed && !survey.classes.empty())
      classes.push_back({survey.site, survey.classes});
  note_words("target " + of_founders.front().target, classes, notes);
  for (const ColumnSurvey& column : of_founders.front().columns) {
    std::vector<Told> words;
    std::map<std::string, Texts> forms;
    for (const Survey& survey : of_founders) {
      const ColumnSurvey* const found = survey.find(column.name);
      if (!found || survey.is_fixed || found->content == Content::empty) continue;
      if (found->content == Content::words) words.push_back({survey.site, found->words});
      if (found->content == Content::numbers && found->of.empty())
        forms[form_text(found->form)].push_back(survey.site);
    }
    if (column.of.empty()) note_words("column " + column.name, words, notes);
    note_forms(column.name, forms, notes);
  }
  return notes;
}

}  // namespace starling::models
