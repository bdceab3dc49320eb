#include "daemon/cli/offline/commands.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "daemon/cli/ask/fleet_scores.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/offline/scores_text.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/process/model_file.h"
#include "daemon/rest/predict_json.h"
#include "daemon/rest/status_json.h"
#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"
#include "models/data/csv.h"
#include "models/data/load.h"
#include "models/ensemble.h"
#include "models/scores.h"

namespace starling::daemon {
namespace {

// A model and the rows that it is shown.
struct Job {
  models::Predictor predictor;
  models::Dataset rows;
  models::Predictions predictions;
};

// Whether the table that the model was trained on had no header, which numbers the columns. A
// header cannot name a column by a number.
bool lacks_header(const models::Survey& table) {
  const auto is_number = [](const models::ColumnSurvey& column) {
    return parse_integer(column.name).has_value();
  };
  return parse_integer(table.target) && std::ranges::all_of(table.columns, is_number);
}

Result<models::DataOptions> read_options(const Settings& settings) {
  Reader reader(settings);
  models::DataOptions options = models::read_data_options(reader);
  TRY_DO(reader.verdict());
  return options;
}

Result<Job> look_at_table(const CommandLine& line, const Settings& settings,
                          models::Predictor predictor, bool with_target) {
  if (line.positional.size() < 2)
    return fail("{} is of a table: expected MODEL and FILE.csv", line.positional[0]);
  TRY(models::DataOptions options, read_options(settings));
  options.missing = models::Missing::impute;  // every row gets a prediction
  if (settings.is_default("data.header"))
    options.has_header = !lacks_header(*predictor.card().table);
  models::TableLayout layout = predictor.layout(with_target);
  if (!settings.is_default("data.missing-words"))
    layout.missing_cells = options.missing_words;
  else
    options.missing_words = layout.missing_cells;
  TRY(layout, models::as_written(std::move(layout), options, line.positional[1]));
  models::TableBuilder builder(std::move(layout));
  models::Dataset rows;
  TRY(const auto notes, models::read_rows(options, line.positional[1], builder, rows));
  if (rows.rows == 0) return fail("{}: no rows", line.positional[1]);
  builder.finish(rows);
  TRY(models::Predictions predictions, predictor.predict(rows));
  predictions.notes.insert(predictions.notes.begin(), notes.begin(), notes.end());
  return Job{std::move(predictor), std::move(rows), std::move(predictions)};
}

// Of a site's columns: what to tell others, or with what others told.
Result<models::KeyedScores> score(const CommandLine& line, const models::Predictor& predictor) {
  TRY(const Settings settings, load_settings(schema(), std::nullopt, line.keys));
  TRY(const models::DataOptions options, read_options(settings));
  if (!predictor.card().part)
    return fail("{}: predicts by itself; expected it without --partial and --add",
                line.positional[0]);
  if (line.positional.size() < 2)
    return fail("{} is of a table: expected MODEL and FILE.csv", line.positional[0]);
  return models::score_rows(predictor, options, line.positional[1]);
}

// What the model was trained on, of files those that are named.
Result<Job> look_at_other(const CommandLine& line, Settings settings, models::Predictor predictor) {
  const models::ModelCard& card = predictor.card();
  if (settings.is_default("data.source"))
    settings.set("data.source", std::string(models::to_string(card.source)), line.positional[0]);
  if (line.positional.size() > 1) settings.set("data.path", line.positional[1], "the command line");
  TRY(const models::DataOptions options, read_options(settings));
  TRY(models::Dataset rows, models::load_shown(options, card.shape.input.size));
  TRY(models::Predictions predictions, predictor.predict(rows));
  return Job{std::move(predictor), std::move(rows), std::move(predictions)};
}

Result<Job> look(const CommandLine& line, bool with_target) {
  TRY(const Settings settings, load_settings(schema(), std::nullopt, line.keys));
  TRY(models::TrainedModel model, read_model(line.positional[0]));
  auto predictor = models::Predictor::make(std::move(model));
  if (!predictor) return fail("{}: {}", line.positional[0], predictor.error().text);
  return predictor->card().table ? look_at_table(line, settings, *std::move(predictor), with_target)
                                 : look_at_other(line, settings, *std::move(predictor));
}

// With the rows' keys in front and the spread of opinions behind, if there are any.
std::string predictions_csv(const std::vector<std::string>& classes,
                            const models::Predictions& predictions, const std::string& key = "",
                            std::span<const std::string> keys = {}) {
  const bool has_spread = !predictions.spread.empty();
  std::string text = keys.empty() ? "prediction" : csv_field(key) + ",prediction";
  for (const std::string& name : classes) text.append(",").append(csv_field("probability " + name));
  text += has_spread ? ",spread\n" : "\n";
  auto out = std::back_inserter(text);
  for (std::size_t row = 0; row < predictions.rows; ++row) {
    if (!keys.empty()) text += csv_text(keys[row]) + ",";
    text += classes.empty() ? fmt::to_string(predictions.amounts[row])
                            : csv_text(classes[predictions.likeliest[row]]);
    for (std::size_t c = 0; c < classes.size(); ++c)
      fmt::format_to(out, ",{}", predictions.probabilities[row * classes.size() + c]);
    if (has_spread) fmt::format_to(out, ",{}", predictions.spread[row]);
    text += "\n";
  }
  return text;
}

std::string predictions_text(const Job& job, bool as_json) {
  const auto& classes = job.predictor.classes();
  return as_json ? to_text(predictions_json(classes, job.predictions)) + "\n"
                 : predictions_csv(classes, job.predictions);
}

models::Scores scores_of(const models::Dataset& rows, const models::Predictions& predictions,
                         const std::vector<std::string>& classes) {
  return classes.empty() ? models::score_amounts(rows, predictions)
                         : models::score_classes(rows, predictions, classes);
}

std::string evaluation_text(const Job& job, bool as_json) {
  const models::Scores scores = scores_of(job.rows, job.predictions, job.predictor.classes());
  return as_json ? to_text(scores_json(scores)) + "\n" : scores_text(scores);
}

// What MODEL and those of --ensemble say of the same rows.
struct Panel {
  std::vector<Job> jobs;
  std::vector<models::Opinion> opinions;
  models::JointOpinion joint;
};

Result<Panel> ask_panel(const CommandLine& line, bool with_target) {
  Panel panel;
  std::vector<std::string> models = split(line.value("ensemble").value_or(""), ',');
  models.insert(models.begin(), line.positional[0]);
  if (models.size() < 2) return fail("--ensemble: expected further models, with commas between");
  for (const std::string& model : models) {
    CommandLine of_one = line;
    of_one.positional[0] = model;
    TRY(Job job, look(of_one, with_target));
    panel.opinions.push_back({model, job.predictor.classes(), job.predictions});
    panel.jobs.push_back(std::move(job));
  }
  const auto poll = line.has("vote") ? models::Poll::vote : models::Poll::mean;
  TRY(panel.joint, models::join_opinions(panel.opinions, poll));
  return panel;
}

// The measure by which models are compared, larger for a better one, and its name.
double merit(const models::Scores& scores, bool classifies) {
  return classifies ? scores.accuracy : -scores.rmse;
}

std::string gain_text(const Panel& panel, const models::Scores& together, bool as_json) {
  const bool classifies = !panel.joint.classes.empty();
  std::size_t best = 0;
  std::vector<double> merits;
  for (const Job& job : panel.jobs) {
    merits.push_back(
        merit(scores_of(job.rows, job.predictions, job.predictor.classes()), classifies));
    if (merits.back() > merits[best]) best = merits.size() - 1;
  }
  const double gain = merit(together, classifies) - merits[best];
  const std::string_view measure = classifies ? "accuracy" : "rmse";
  const double of_best = classifies ? merits[best] : -merits[best];
  if (as_json) {
    nlohmann::ordered_json document = scores_json(together);
    document["ensemble"] = {{"models", panel.opinions.size()},
                            {"best", panel.opinions[best].model},
                            {"measure", measure},
                            {"of_best", of_best},
                            {"gain", gain}};
    return to_text(document) + "\n";
  }
  return scores_text(together) +
         fmt::format("\n{} models together; the best of them, {}, has {} {:.4g}: {} {:.4g}\n",
                     panel.opinions.size(), panel.opinions[best].model, measure, of_best,
                     gain < 0 ? "a loss of" : "a gain of", std::abs(gain));
}

Outcome<int> show_panel(const CommandLine& line, bool with_target) {
  TRY(Panel panel, ask_panel(line, with_target));
  models::Predictions& predictions = panel.joint.predictions;
  for (const std::string& note : predictions.notes) fmt::print(stderr, "starling: {}\n", note);
  const std::vector<std::string>& classes = panel.joint.classes;
  const bool as_json = line.has("json");
  const std::string text =
      with_target ? gain_text(panel, scores_of(panel.jobs[0].rows, predictions, classes), as_json)
      : as_json   ? to_text(predictions_json(classes, predictions)) + "\n"
                  : predictions_csv(classes, predictions);
  TRY_DO(write_output(text, line.value("output")));
  return kExitDone;
}

// The second of two classes is predicted from that probability on, in place of one half.
Result<void> apply_threshold(const std::string& text, Job& job) {
  const auto threshold = parse_number(text);
  if (!threshold || !(*threshold > 0 && *threshold < 1))
    return fail("--threshold {}: expected a probability above 0 and below 1", text);
  if (const std::size_t classes = job.predictor.classes().size(); classes != 2)
    return fail("--threshold {}: tells two classes apart, and the model has {}", text, classes);
  for (std::size_t row = 0; row < job.predictions.rows; ++row)
    job.predictions.likeliest[row] =
        job.predictions.probabilities[2 * row + 1] >= *threshold ? 1 : 0;
  return {};
}

Outcome<int> show(const CommandLine& line, bool with_target,
                  std::string (*text)(const Job&, bool)) {
  TRY(Job job, look(line, with_target));
  if (const auto threshold = line.value("threshold")) TRY_DO(apply_threshold(*threshold, job));
  for (const std::string& note : job.predictions.notes) fmt::print(stderr, "starling: {}\n", note);
  TRY_DO(write_output(text(job, line.has("json")), line.value("output")));
  return kExitDone;
}

// The sum of what sites say of rows, as predictions.
Outcome<int> show_sum(const CommandLine& line, std::span<const models::KeyedScores> of_sites,
                      std::span<const std::string> keys, std::span<const std::string> sites,
                      const models::OutputForm& form) {
  TRY(models::Sum sum, models::add_up(of_sites, keys, sites));
  models::Predictions predictions = form.read(sum.scores);
  predictions.notes = std::move(sum.notes);
  for (const std::string& note : predictions.notes) fmt::print(stderr, "starling: {}\n", note);
  const std::string& key = of_sites.front().key;
  TRY_DO(write_output(line.has("json")
                          ? to_text(predictions_json(form.classes, predictions, sum.keys)) + "\n"
                          : predictions_csv(form.classes, predictions, key, sum.keys),
                      line.value("output")));
  return kExitDone;
}

Outcome<int> write_scores(const CommandLine& line) {
  TRY(models::TrainedModel model, read_model(line.positional[0]));
  TRY(const models::Predictor predictor, models::Predictor::make(std::move(model)));
  TRY(const models::KeyedScores scores, score(line, predictor));
  TRY_DO(write_output(models::to_csv(scores), line.value("output")));
  return kExitDone;
}

Outcome<int> add_scores(const CommandLine& line) {
  TRY(models::TrainedModel model, read_model(line.positional[0]));
  TRY(const models::Predictor predictor, models::Predictor::make(std::move(model)));
  std::vector<models::KeyedScores> of_sites;
  TRY(models::KeyedScores own, score(line, predictor));
  const models::ColumnPart& part = *predictor.card().part;
  if (!part.is_holder())
    return complaint(kExitWrongUsage,
                     "{}: is the model of {}, and {} has the target, without which nobody knows "
                     "what the scores mean; expected its model, and the scores of the others",
                     line.positional[0], part.site, part.holder);
  of_sites.push_back(std::move(own));
  for (const std::string& path : split(line.value("add").value_or(""), ',')) {
    TRY(models::KeyedScores scores, models::read_scores(path));
    of_sites.push_back(std::move(scores));
  }
  const std::vector<std::string> keys = of_sites.front().keys;
  return show_sum(line, of_sites, keys, part.sites, predictor.form());
}

Outcome<int> ask_fleet(const CommandLine& line) {
  TRY(const NodeAccess access, read_node_access(line));
  TRY(Settings settings, load_settings(schema(), std::nullopt, line.keys));
  TRY(const std::string key, key_of_fleet(access));
  if (settings.is_default("data.key")) settings.set("data.key", key, to_string(access.node));
  TRY(const models::DataOptions options, read_options(settings));
  TRY(const std::vector<std::string> keys, models::read_keys(options, line.positional[0]));
  TRY(const FleetScores fleet, ask_for_scores(access, keys));
  for (const std::string& note : fleet.notes) fmt::print(stderr, "starling: {}\n", note);
  return show_sum(line, fleet.of_sites, keys, fleet.sites, fleet.form);
}

Outcome<int> run_predict(const CommandLine& line) {
  const bool is_partial = line.has("partial"), adds = line.has("add"), asks = line.has("fleet");
  const bool is_joint = line.has("ensemble");
  if (is_partial + adds + asks + is_joint > 1)
    return complaint(kExitWrongUsage,
                     "--partial, --add, --fleet and --ensemble: expected one of them, or none");
  if (is_joint) return show_panel(line, false);
  if (is_partial) return write_scores(line);
  if (adds) return add_scores(line);
  if (asks) return ask_fleet(line);
  return show(line, false, predictions_text);
}
Outcome<int> run_evaluate(const CommandLine& line) {
  if (line.has("ensemble") && line.has("threshold"))
    return complaint(kExitWrongUsage, "--threshold and --ensemble: expected one of them");
  if (line.has("ensemble")) return show_panel(line, true);
  return show(line, true, evaluation_text);
}

constexpr CommandOption kReading[] = {
    {"output", "FILE", "write there"},
    {"data.KEY", "VALUE", "how the data are read, such as data.separator"}};
constexpr CommandOption kPolling[] = {
    {"ensemble", "MODEL,...", "ask these models too, and take the mean of what all say"},
    {"vote", "", "with --ensemble: each model has one voice for a class"}};
constexpr auto kPredictOptions = join(
    kPolling,
    {{"partial", "", "of a site's columns (data.split=columns): write its scores of FILE's rows"},
     {"add", "SCORES,...", "add to the scores of FILE's rows those that other sites wrote"},
     {"fleet", "", "FILE names rows by their key: ask all sites of the fleet for their scores"}},
    kReading, kPrintingJson, kAsking);
constexpr auto kEvaluateOptions =
    join(kPolling,
         {{"threshold", "P", "of two classes, predict the second from this probability on (0.5)"}},
         kReading, kPrintingJson);
constexpr std::string_view kPredictArguments[] = {"MODEL", "FILE"};

}  // namespace

constinit const ProgramCommand kPredict = {
    .name = "predict",
    .summary = "what a trained model says of rows",
    .usage =
        "starling predict MODEL [FILE] [--data.KEY=VALUE ...] [--output FILE] [--json]\n"
        "       starling predict MODEL [FILE] --ensemble MODEL,... [--vote]\n"
        "       starling predict MODEL FILE --partial | --add SCORES,...\n"
        "       starling predict --fleet FILE [--api URL]",
    .description = R"(Prints one line for each row of the data, in its order: the prediction, and
for classes the probability of each. MODEL is the file that `starling up` and `starling run
--output` write. FILE is of the kind that the model was trained on: a table (csv), which has its
columns in any order, and others, which are not looked at; a folder of IDX files, of which it takes
the t10k- pair; a libsvm file. Drawn data (digits) need none.

With --ensemble several models are asked, and the column spread says how far apart they are: the
standard deviation of the amount, or of the probability of the class that is predicted.

A model of data.split=columns has the columns of one site, and a prediction is the sum of what all
sites say of a row. With --fleet the nodes that run are asked for that; FILE needs the column of the
key alone. Or each site writes its part with --partial, and the one with the target adds them up.)",
    .options = kPredictOptions,
    .notes = R"(Examples:

  starling predict starling-model.safetensors new.csv > predictions.csv
  starling predict --fleet customers.csv --api http://127.0.0.1:7680 > predictions.csv
  starling predict shop.safetensors shop.csv --partial --output shop-scores.csv
  starling predict bank.safetensors bank.csv --add shop-scores.csv > predictions.csv)",
    .exits =
        "0 done, 1 the output cannot be written, 2 wrong usage, or data that do not fit, 4 no node "
        "answers.",
    .settings = "data",
    .arguments = kPredictArguments,
    .arguments_least = 1,
    .run = run_predict};

constinit const ProgramCommand kEvaluate = {
    .name = "evaluate",
    .summary = "how good a trained model is on rows",
    .usage =
        "starling evaluate MODEL [FILE] [--threshold P] [--ensemble MODEL,... [--vote]]\n"
        "                  [--data.KEY=V ...] [--output FILE] [--json]",
    .description = R"(Predicts rows whose target is known too (FILE as for `starling predict`), and
says how good that is: accuracy, of two classes the areas under the curve and under precision by
recall, precision and recall of each class, who is taken for whom, and the rows of which the model
is surest and wrong; or the root mean square and mean absolute error and R2 of amounts. With
--ensemble it says that of several models together, and what they gain over the best of them.)",
    .options = kEvaluateOptions,
    .exits = "0 done, 1 the output cannot be written, 2 wrong usage, or data that do not fit.",
    .settings = "data",
    .arguments = kPredictArguments,
    .arguments_least = 1,
    .run = run_evaluate};

}  // namespace starling::daemon
