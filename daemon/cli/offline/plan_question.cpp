#include "daemon/cli/offline/plan_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"
#include "base/quantity.h"
#include "base/settings.h"
#include "base/text.h"
#include "daemon/setup/config.h"
#include "daemon/setup/edge_list.h"
#include "daemon/setup/setting_sources.h"
#include "models/data/load.h"
#include "models/learner.h"

namespace starling::daemon {
namespace {

constexpr std::int64_t kModelBytesLimit = INT64_C(1) << 50;
constexpr std::int64_t kSamplesLimit = 1'000'000'000;
constexpr double kStepSecondsLimit = 1e6;

// The plan can be of that schedule.
Result<void> check_schedule(const Question& question) {
  const bool is_complete = question.topology.kind == topology::Kind::complete;
  if (question.traffic.schedule->is_in_slices && !is_complete)
    return fail(
        "topology.kind = {}: schedule {} sums over neighbours, and all nodes must be; "
        "expected complete",
        topology::to_string(question.topology.kind), question.traffic.schedule->name);
  return {};
}

// Of a whole configuration the topology, the codec and the schedule count here.
Result<void> read_settings(const CommandLine& line, Question& question) {
  TRY(const Settings settings, load_settings(schema(), line.value("config"), line.keys));
  Reader reader(settings);
  question.topology = topology::read_options(reader);
  question.codec = read_codec_plan(reader);
  question.traffic = read_traffic_plan(reader, question.codec.form.format->width);
  const auto is_hidden = [](const topology::Site& site) { return site.is_hidden; };
  question.traffic.hidden = static_cast<int>(std::ranges::count_if(question.sites, is_hidden));
  if (question.traffic.schedule->is_in_slices &&
      question.topology.kind == topology::Kind::automatic)
    question.topology.kind = topology::Kind::complete;
  const Result<void> loaded = load_edges(question.topology);
  // As check_codec() in daemon/setup/legality.cpp.
  question.is_by_columns = reader.text("data.split") == "columns";
  question.may_remember =
      !topology::is_directed(question.topology) && reader.text("exchange.missing") == "late";
  TRY_DO(reader.verdict());
  TRY_DO(check_schedule(question));
  return loaded;
}

Result<std::int64_t> whole_number(std::string_view option, std::string_view text,
                                  std::int64_t limit) {
  const auto value = parse_integer(text);
  if (!value || *value < 1 || *value > limit)
    return fail("{} {}: expected a whole number from 1 to {}", option, text, limit);
  return *value;
}

// Of the model of the configuration, on its data.
Result<std::int64_t> configured_bytes(const CommandLine& line) {
  TRY(const Settings settings, load_settings(schema(), line.value("config"), line.keys));
  Reader reader(settings);
  const models::LearnerOptions learner = models::read_learner_options(reader);
  TRY_DO(reader.verdict());
  TRY(const models::Data data, models::load(learner.data));
  TRY(const std::size_t bytes, models::model_bytes(learner, data.train));
  return static_cast<std::int64_t>(bytes);
}

Result<double> step_seconds(std::string_view text) {
  const auto value = parse_number(text);
  if (!value || !(*value > 0 && *value <= kStepSecondsLimit))
    return fail("--step-time {}: expected seconds above 0, up to {}", text, kStepSecondsLimit);
  return *value;
}

Result<std::optional<LinkOptions>> read_link(const CommandLine& line,
                                             std::optional<std::int64_t> model_bytes) {
  const auto bandwidth = line.value("bandwidth"), step = line.value("step-time");
  if (!bandwidth && !step) return std::nullopt;
  if (!bandwidth || !step || !model_bytes)
    return fail(
        "--bandwidth, --step-time and --model-bytes: expected all three of them, or none "
        "of the first two");
  LinkOptions link;
  const auto bytes_per_s = parse_bandwidth(*bandwidth);
  if (!bytes_per_s) return fail("--bandwidth {}", bytes_per_s.error().text);
  link.bytes_per_s = *bytes_per_s;
  TRY(link.step_s, step_seconds(*step));
  return link;
}

Result<std::optional<PrivacyPlan>> read_privacy(const CommandLine& line, std::size_t nodes) {
  if (!line.has("privacy")) {
    if (line.has("samples")) return fail("--samples: expected --privacy with it");
    return std::nullopt;
  }
  std::optional<std::size_t> samples;
  if (const auto text = line.value("samples")) {
    TRY(const std::int64_t count, whole_number("--samples", *text, kSamplesLimit));
    samples = static_cast<std::size_t>(count);
  }
  TRY(const Settings settings, load_settings(schema(), line.value("config"), line.keys));
  TRY(PrivacyPlan plan, read_privacy_plan(settings, nodes, samples));
  return std::optional(std::move(plan));
}

// The last so many, or those named.
Result<void> hide(std::string_view text, std::vector<topology::Site>& sites) {
  if (const auto count = parse_integer(text)) {
    const auto n = static_cast<std::int64_t>(sites.size());
    if (*count < 0 || *count > n)
      return fail("--hidden {}: expected 0 to {}, or names with commas between", text, n);
    for (std::int64_t k = n - *count; k < n; ++k)
      sites[static_cast<std::size_t>(k)].is_hidden = true;
    return {};
  }
  for (const std::string& name : split(text, ',')) {
    const auto found = std::ranges::find(sites, name, &topology::Site::name);
    if (found == sites.end())
      return fail("--hidden {}: there is no {}; the nodes are node-0 to {}", text, name,
                  sites.back().name);
    found->is_hidden = true;
  }
  return {};
}

}  // namespace

Result<Question> read_question(const CommandLine& line) {
  if (line.has("json") && line.has("dot")) return fail("--json and --dot: expected one of them");
  if (!line.has("nodes"))
    return fail("the number of nodes is missing; expected -n with 1 to {}", kMembersLimit);
  TRY(const std::int64_t n, whole_number("-n", *line.value("nodes"), kMembersLimit));
  Question question;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::string name = fmt::format("node-{}", k);
    question.sites.push_back({node_id(name), name});
  }
  if (const auto text = line.value("hidden")) TRY_DO(hide(*text, question.sites));
  if (const auto text = line.value("groups")) {
    TRY(const std::int64_t groups, whole_number("--groups", *text, n));
    for (std::int64_t k = 0; k < n; ++k)
      question.sites[static_cast<std::size_t>(k)].group = fmt::format("site-{}", k % groups);
  }
  if (const auto text = line.value("model-bytes")) {
    TRY(question.model_bytes, *text == "auto"
                                  ? configured_bytes(line)
                                  : whole_number("--model-bytes", *text, kModelBytesLimit));
  }
  TRY(question.link, read_link(line, question.model_bytes));
  TRY_DO(read_settings(line, question));
  TRY(question.privacy, read_privacy(line, question.sites.size()));
  TRY_DO(topology::validate(question.topology, question.sites));
  return question;
}

}  // namespace starling::daemon
