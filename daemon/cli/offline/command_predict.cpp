#include "daemon/cli/offline/command_predict.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "daemon/cli/offline/scores_text.h"
#include "daemon/cli/terminal/csv_field.h"
#include "daemon/cli/terminal/exit_code.h"
#include "daemon/process/model_file.h"
#include "daemon/process/whole_file.h"
#include "daemon/rest/predict_json.h"
#include "daemon/rest/status_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "models/data/csv.h"
#include "models/scores.h"

namespace starling::daemon {
namespace {

const CommandOption kPredictOptions[] = {
    {"output", "file that gets the predictions", true},
    {"json", "print one JSON document", false},
    {"help,h", "", false},
};

// A model and the rows of a table that it is shown.
struct Job {
  models::Predictor predictor;
  models::Dataset rows;
  models::Predictions predictions;
};

Result<Job> look(const CommandLine& line, bool with_target) {
  if (line.positional.size() != 2)
    return fail("expected MODEL and FILE.csv, got {} arguments", line.positional.size());
  TRY(const Settings settings, load_settings(schema(), std::nullopt, line.keys));
  Reader reader(settings);
  models::DataOptions options = models::read_data_options(reader);
  TRY_DO(reader.verdict());
  options.missing = models::Missing::impute;  // every row gets a prediction
  TRY(models::TrainedModel model, read_model(line.positional[0]));
  auto predictor = models::Predictor::make(std::move(model));
  if (!predictor) return fail("{}: {}", line.positional[0], predictor.error().text);
  models::TableBuilder builder(predictor->layout(with_target));
  models::Dataset rows;
  TRY(const auto notes, models::read_rows(options, line.positional[1], builder, rows));
  if (rows.rows == 0) return fail("{}: no rows", line.positional[1]);
  builder.finish(rows);
  TRY(models::Predictions predictions, predictor->predict(rows));
  predictions.notes.insert(predictions.notes.begin(), notes.begin(), notes.end());
  return Job{*std::move(predictor), std::move(rows), std::move(predictions)};
}

std::string predictions_csv(const Job& job) {
  const std::vector<std::string>& classes = job.predictor.classes();
  std::string text = "prediction";
  for (const std::string& name : classes) text.append(",").append(csv_field("probability " + name));
  text += "\n";
  auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < job.predictions.rows; ++row) {
    if (classes.empty()) {
      fmt::format_to(out, "{}\n", job.predictions.amounts[row]);
      continue;
    }
    text += csv_field(classes[job.predictions.likeliest[row]]);
    for (std::size_t c = 0; c < classes.size(); ++c)
      fmt::format_to(out, ",{}", job.predictions.probabilities[row * classes.size() + c]);
    text += "\n";
  }
  return text;
}

int give(const std::string& text, const std::optional<std::string>& path) {
  if (!path) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0 ? kExitDone
                                    : end_with(kExitFailed, "standard output is closed");
  }
  if (const auto written = replace_file(*path, text); !written)
    return end_with(kExitFailed, "--output: " + written.error().text);
  return kExitDone;
}

std::string predictions_text(const Job& job, bool as_json) {
  return as_json ? to_text(predictions_json(job.predictor, job.predictions)) + "\n"
                 : predictions_csv(job);
}

std::string evaluation_text(const Job& job, bool as_json) {
  const auto& classes = job.predictor.classes();
  const models::Scores scores = classes.empty()
                                    ? models::score_amounts(job.rows, job.predictions)
                                    : models::score_classes(job.rows, job.predictions, classes);
  return as_json ? to_text(scores_json(scores)) + "\n" : scores_text(scores);
}

struct Command {
  std::string_view name;
  bool with_target;
  std::string (*text)(const Job& job, bool as_json);
};

int execute(const Command& command, std::span<const std::string> arguments) {
  const auto line = parse_command_line(arguments, kPredictOptions);
  if (!line) return wrong_usage(line.error().text);
  if (line->has("help")) return print_help(command.name);
  const auto job = look(*line, command.with_target);
  if (!job) return wrong_usage(fmt::format("{}: {}", command.name, job.error().text));
  for (const std::string& note : job->predictions.notes) fmt::print(stderr, "starling: {}\n", note);
  return give(command.text(*job, line->has("json")), line->value("output"));
}

}  // namespace

int command_predict(std::span<const std::string> arguments) {
  return execute({"predict", false, predictions_text}, arguments);
}

int command_evaluate(std::span<const std::string> arguments) {
  return execute({"evaluate", true, evaluation_text}, arguments);
}

}  // namespace starling::daemon
