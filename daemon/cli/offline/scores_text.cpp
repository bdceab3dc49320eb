#include "daemon/cli/offline/scores_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "daemon/cli/terminal/table.h"

namespace starling::daemon {
namespace {

using ordered = nlohmann::ordered_json;

constexpr std::size_t kConfusionShown = 12;  // classes; more do not fit a screen

std::string score_shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "-";
}

ordered number_json(const std::optional<double>& value) {
  return value ? ordered(*value) : ordered();
}

std::string confusion_text(const models::Scores& scores) {
  std::vector<std::string> titles{"true \\ predicted"};
  for (const auto& score : scores.classes)
    titles.push_back(fmt::format(">{}", printable(score.name)));
  Table table(std::move(titles));
  for (std::size_t c = 0; c < scores.classes.size(); ++c) {
    std::vector<std::string> cells{printable(scores.classes[c].name)};
    for (const std::size_t count : scores.confusion[c]) cells.push_back(with_commas(count));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string mistakes_text(const models::Scores& scores) {
  Table table({">row", "class", "taken for", ">probability"});
  for (const models::Mistake& mistake : scores.surest_mistakes)
    table.add({fmt::to_string(mistake.row), printable(mistake.truth), printable(mistake.prediction),
               score_shown(mistake.probability)});
  return "\nSurest and wrong; rows count from 0:\n" + table.text();
}

}  // namespace

std::string scores_text(const models::Scores& scores) {
  std::string text = fmt::format("rows      {}\n", with_commas(scores.rows));
  if (scores.classes.empty()) {
    text += fmt::format("rmse      {:.6g}\n", scores.rmse);
    text += fmt::format("baseline  {:.6g}  rmse of the mean as the only answer\n",
                        scores.baseline_rmse);
    text += fmt::format("mae       {:.6g}\n", scores.mean_absolute_error);
    return text + fmt::format("r2        {}\n", score_shown(scores.r_squared));
  }
  text += fmt::format("accuracy  {:.4f}\n", scores.accuracy);
  text += fmt::format("baseline  {:.4f}  accuracy of \"{}\" as the only answer\n",
                      scores.baseline_accuracy, printable(scores.baseline_class));
  text += fmt::format("balanced  {:.4f}  mean of the recalls\n", scores.balanced_accuracy);
  if (scores.area_under_curve) text += fmt::format("auc       {:.4f}\n", *scores.area_under_curve);
  if (scores.average_precision)
    text += fmt::format(
        "ap        {:.4f}  area under precision by recall of \"{}\"; {:.4f} by chance\n",
        *scores.average_precision, printable(scores.classes.back().name),
        static_cast<double>(scores.classes.back().rows) / static_cast<double>(scores.rows));
  if (scores.unknown > 0)
    text += fmt::format(
        "unknown   {} rows of classes that the model does not know, such as \"{}\": wrong\n",
        with_commas(scores.unknown), printable(scores.first_unknown));
  Table table({"class", ">rows", ">precision", ">recall"});
  for (const models::ClassScore& score : scores.classes)
    table.add({printable(score.name), with_commas(score.rows), score_shown(score.precision),
               score_shown(score.recall)});
  text.append("\n").append(table.text());
  if (scores.classes.size() <= kConfusionShown) text.append("\n").append(confusion_text(scores));
  return scores.surest_mistakes.empty() ? text : text + mistakes_text(scores);
}

ordered scores_json(const models::Scores& scores) {
  ordered document = {{"rows", scores.rows}};
  if (scores.classes.empty()) {
    document["rmse"] = scores.rmse;
    document["baseline_rmse"] = scores.baseline_rmse;
    document["mae"] = scores.mean_absolute_error;
    document["r2"] = number_json(scores.r_squared);
    return document;
  }
  document["accuracy"] = scores.accuracy;
  document["baseline_accuracy"] = scores.baseline_accuracy;
  document["baseline_class"] = scores.baseline_class;
  document["balanced_accuracy"] = scores.balanced_accuracy;
  document["auc"] = number_json(scores.area_under_curve);
  document["average_precision"] = number_json(scores.average_precision);
  document["unknown"] = scores.unknown;
  if (scores.unknown > 0) document["first_unknown"] = scores.first_unknown;
  for (const models::ClassScore& score : scores.classes)
    document["classes"].push_back({{"class", score.name},
                                   {"rows", score.rows},
                                   {"precision", number_json(score.precision)},
                                   {"recall", number_json(score.recall)}});
  document["confusion"] = scores.confusion;
  document["surest_mistakes"] = ordered::array();
  for (const models::Mistake& mistake : scores.surest_mistakes)
    document["surest_mistakes"].push_back({{"row", mistake.row},
                                           {"class", mistake.truth},
                                           {"prediction", mistake.prediction},
                                           {"probability", mistake.probability}});
  return document;
}

}  // namespace starling::daemon
