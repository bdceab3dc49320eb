#include "daemon/attach/records.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/process/json_text.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::size_t kTextLimit = 400, kNoteLimit = 1024;
// Steps of one job, and samples of a trainer or a job: sums over a run stay below 2^64.
constexpr std::uint64_t kStepsLimit = UINT64_C(1) << 32, kSamplesLimit = UINT64_C(1) << 40;

// Whole numbers up to the limit; a number below 0 or with a fraction is an error, and none is
// `otherwise`.
Result<std::uint64_t> count_at(const json& object, const char* key, std::uint64_t otherwise,
                               std::uint64_t limit = UINT64_MAX) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return otherwise;
  const auto* const number = found->get_ptr<const json::number_unsigned_t*>();
  if (number && *number <= limit) return *number;
  return fail("\"{}\" is not a whole number from 0 to {}", key, limit);
}

std::optional<double> real_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool flag_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

// For logs and for people: no control characters, and not longer than the limit.
std::string line_at(const json& object, const char* key, std::size_t limit = kTextLimit) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  std::string text = found->get<std::string>().substr(0, limit);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

Result<Region> region_at(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return Region{};
  if (!found->is_object()) return fail("\"{}\" is not {{\"offset\", \"bytes\"}}", key);
  TRY(const std::uint64_t offset, count_at(*found, "offset", 0));
  TRY(const std::uint64_t bytes, count_at(*found, "bytes", 0));
  return Region{offset, bytes};
}

Result<TrainerMode> mode_at(const json& object) {
  const std::string mode = line_at(object, "mode");
  if (mode == "loop" || mode.empty()) return TrainerMode::loop;
  if (mode == "gradients") return TrainerMode::gradients;
  return fail("\"mode\" is \"{}\"; expected loop or gradients", mode);
}

// A rate below 0 is none that a step could have.
std::optional<double> rate_at(const json& object) {
  const auto rate = real_at(object, "learning_rate");
  return rate && *rate >= 0 ? rate : std::nullopt;
}

// Unspecified steps may be of any kind.
Result<optim::OptimizerRule::Allowed> steps_at(const json& object) {
  using Allowed = optim::OptimizerRule::Allowed;
  const std::string steps = line_at(object, "steps");
  if (steps.empty()) return Allowed::any;
  if (steps == "sgd") return Allowed::sgd;
  if (steps == "linear") return Allowed::linear;
  return fail("\"steps\" is \"{}\"; expected sgd or linear, or nothing", steps);
}

Result<FromTrainer> read_hello(const json& object) {
  TRY(const std::uint64_t version, count_at(object, "version", 0));
  if (version != kAttachVersion)
    return fail(
        "the trainer speaks version {} of the protocol, this daemon version {}; use the "
        "client of the daemon's release",
        version, kAttachVersion);
  Hello hello;
  hello.client = line_at(object, "client");
  TRY(hello.mode, mode_at(object));
  TRY(hello.samples, count_at(object, "samples", 0, kSamplesLimit));
  hello.optimizer = line_at(object, "optimizer");
  TRY(hello.steps, steps_at(object));
  hello.learning_rate = rate_at(object);
  hello.corrects = flag_at(object, "corrects");
  hello.shifts = flag_at(object, "shifts");
  hello.evaluates = flag_at(object, "evaluates");
  hello.saves = flag_at(object, "saves");
  TRY(hello.segment_bytes, count_at(object, "segment", 0));
  TRY(hello.table, region_at(object, "table"));
  TRY(hello.values, region_at(object, "values"));
  TRY(hello.correction, region_at(object, "correction"));
  TRY(hello.gradient, region_at(object, "gradient"));
  TRY(hello.batch, region_at(object, "batch"));
  return hello;
}

Result<FromTrainer> read_note(const json& object) {
  Note note{line_at(object, "text", kNoteLimit)};
  if (note.text.empty()) return fail("a record of kind note has no \"text\"");
  return note;
}

Result<FromTrainer> read_answer(const json& object) {
  TrainerAnswer answer;
  TRY(answer.job, count_at(object, "job", 0));
  if (object.contains("steps")) {
    TRY(answer.steps, count_at(object, "steps", 0, kStepsLimit));
  }
  TRY(answer.left_out, count_at(object, "left_out", 0, kStepsLimit));
  TRY(answer.samples, count_at(object, "samples", 0, kSamplesLimit));
  answer.loss = real_at(object, "loss");
  answer.gradient_norm = real_at(object, "gradient_norm");
  answer.learning_rate = rate_at(object);
  answer.accuracy = real_at(object, "accuracy");
  answer.rmse = real_at(object, "rmse");
  answer.refusal = line_at(object, "refusal");
  return answer;
}

struct Writer {
  std::uint64_t job;

  json operator()(const StepRequest& step) const {
    return {{"kind", "step"},
            {"job", job},
            {"count", step.count},
            {"round", step.round},
            {"learning_rate", step.learning_rate},
            {"corrects", step.corrects},
            {"shifts", step.shifts},
            {"tracks", step.tracks},
            {"place", step.place},
            {"nodes", step.nodes}};
  }
  json operator()(const GradientRequest& gradient) const {
    return {
        {"kind", "gradient"}, {"job", job}, {"round", gradient.round}, {"batch", gradient.batch}};
  }
  json operator()(const EvaluateRequest& evaluate) const {
    return {{"kind", "evaluate"}, {"job", job}, {"limit", evaluate.limit}};
  }
  json operator()(const SaveRequest&) const { return {{"kind", "save"}, {"job", job}}; }
  json operator()(const LoadRequest& load) const {
    return {{"kind", "load"}, {"job", job}, {"bytes", load.state->size()}, {"own", load.is_own}};
  }
};

// Texts of this program may contain texts from others.
std::string dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Result<FromTrainer> read_record(std::string_view text) {
  const json object = parse_json(text);
  if (!object.is_object()) return fail("a record is not a JSON object");
  const std::string kind = line_at(object, "kind");
  if (kind == "hello") return read_hello(object);
  if (kind == "done") return read_answer(object);
  if (kind == "note") return read_note(object);
  if (kind == "close") return Goodbye{};
  if (kind != "log")
    return fail("a record is of kind \"{}\"; expected hello, done, log, note or close", kind);
  const auto metrics = object.find("metrics");
  if (metrics == object.end() || !metrics->is_object())
    return fail("a record of kind log has no \"metrics\"");
  return Metrics{real_at(*metrics, "loss"), real_at(*metrics, "accuracy"),
                 real_at(*metrics, "rmse")};
}

std::string write_record(const Welcome& welcome) {
  return dump({{"kind", "welcome"},
               {"version", kAttachVersion},
               {"node", welcome.node},
               {"algorithm", welcome.algorithm},
               {"precision", welcome.precision},
               {"local_steps", welcome.local_steps},
               {"learning_rate", welcome.learning_rate},
               {"batch_size", welcome.batch_size},
               {"seed", welcome.seed}});
}

std::string write_record(std::uint64_t job, const Request& request) {
  return dump(std::visit(Writer{job}, request));
}

std::string write_refusal(std::string_view reason) {
  return dump({{"kind", "refused"}, {"reason", reason}});
}

std::string write_end(std::string_view reason, bool has_model) {
  return dump({{"kind", "end"}, {"reason", reason}, {"model", has_model}});
}

}  // namespace starling::daemon
