#include "daemon/cli/ask/present.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/utf8.h"
#include "daemon/cli/terminal/quality.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/cli/terminal/text_width.h"
#include "daemon/rest/document.h"
#include "daemon/rest/run_reading.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::size_t kConvergenceRows = 20;
constexpr std::size_t kSparklineWidth = 32;
constexpr std::size_t kTitleWidth = 11;  // of a line of the status

// ---- reading what may be missing

std::string word(const json& object, const char* name) {
  return printable(object.value(name, "-"));
}

using Format = std::string (*)(double);

// "-" for what is missing.
std::string cell(const json& object, const char* name, Format format) {
  const auto value = number(object, name);
  return value ? format(*value) : "-";
}

std::string count(double value) {
  return fmt::format("{:.0f}", value);
}

// The present parts, separated by commas, in lines that fit after a title.
class Phrase {
 public:
  void add(std::string_view before, const std::optional<double>& value, Format format,
           std::string_view behind = "") {
    if (value) add(fmt::format("{}{}{}", before, format(*value), behind));
  }
  void add(const std::string& words) {
    if (!text_.empty()) text_ += ',';
    column_ += words.size() + 2;
    const bool fits = kTitleWidth + column_ <= display_width();
    if (!text_.empty()) text_ += fits ? " " : "\n" + std::string(kTitleWidth, ' ');
    if (!fits) column_ = words.size() + 2;
    text_ += words;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::size_t column_ = 0;
};

// ---- status

std::string line(std::string_view title, const std::string& content) {
  return content.empty() ? "" : fmt::format("{:<{}}{}\n", title, kTitleWidth, content);
}

std::string node_lines(const json& node) {
  return fmt::format("{}  {}, up {}, starling {}\n", word(node, "name"), word(node, "state"),
                     cell(node, "uptime_s", human_duration), word(node, "version"));
}

// "repeated 3 (normal: …)".
std::string rejection(const json& status, const std::string& reason, double how_many) {
  const json& about = part(part(status, "rejected_messages"), reason.c_str());
  const std::string meaning = about.is_object() ? about.value("meaning", "") : "";
  return fmt::format("{} {:.0f}{}", printable(reason), how_many,
                     meaning.empty() ? "" : " (" + printable(meaning) + ")");
}

std::string times(double factor) {
  return human_number(factor) + " x";
}

// "auto: i4, quality 0.97, 121 kB a vector, 7.76 x less than f32, 4.00 MB remembered"; empty where
// the codec remembers nothing.
std::string codec_line(const json& codec) {
  const auto memory = number(codec, "memory_bytes");
  if (memory.value_or(0) == 0) return {};
  const auto bytes = number(codec, "vector_bytes"), whole = number(codec, "f32_bytes");
  Phrase words;
  words.add(word(codec, "name") + (codec.contains("chosen") ? ": " + word(codec, "chosen") : ""));
  words.add("quality ", number(codec, "quality"), human_number);
  words.add("", bytes, human_bytes, " a vector");
  if (bytes && whole && *bytes > 0) words.add("", *whole / *bytes, times, " less than f32");
  words.add("", memory, human_bytes, " remembered");
  return line("codec", words.text());
}

// "epsilon 1.25 at delta 1e-05, after 42 noisy steps"
std::string privacy_line(const json& spent) {
  if (spent.empty()) return {};
  Phrase words;
  if (spent.contains("epsilon"))
    words.add("epsilon ", number(spent, "epsilon"), human_number);
  else
    words.add("no bound: steps without noise came before");
  words.add("at delta ", number(spent, "delta"), human_number);
  words.add("after ", number(spent, "steps"), count, " noisy steps");
  return line("privacy", words.text());
}

// What is known of the data beside the loss.
std::string quality_lines(const json& run) {
  Phrase held_out, alone;
  const json& evaluation = part(run, "eval");
  const json& rare = part(evaluation, "rare");
  held_out.add("area under the curve ", number(evaluation, "auc"), human_number);
  if (rare.contains("class"))
    held_out.add(fmt::format("recall of {} {} of {} rows", word(rare, "class"),
                             cell(rare, "found", count), cell(rare, "rows", count)));
  if (const auto of_own_rows = read_evaluation(part(run, "alone")))
    alone.add(quality(*of_own_rows) + ", by a linear model of this node's own rows");
  return line("held out", held_out.text()) + line("alone", alone.text());
}

// `evaluated` says on what the loss of the last evaluation is.
std::string run_lines(const json& run, std::string_view evaluated) {
  Phrase progress, loss;
  progress.add(word(run, "algorithm"));
  progress.add(word(run, "schedule"));
  progress.add("round ", number(run, "round"), count);
  progress.add("", number(run, "samples"), count, " samples");
  progress.add("learning rate ", number(run, "learning_rate"), human_number);
  loss.add("", number(run, "loss"), human_number);
  const json& evaluation = part(run, "eval");
  const std::optional<double> samples = number(evaluation, "samples");
  const std::optional<double> available = number(evaluation, "available");
  loss.add(evaluated, number(evaluation, "loss"), human_number);
  loss.add("root mean square error ", number(evaluation, "rmse"), human_number);
  if (samples < available)
    loss.add("by ", samples, count, fmt::format(" of {} samples", count(*available)));
  loss.add("to the optimum ", number(run, "distance_to_optimum"), human_number);
  const json& shard = part(run, "shard");
  Phrase data;
  data.add("", number(shard, "samples"), count, " samples");
  if (shard.contains("description")) data.add(word(shard, "description"));
  return line("run", progress.text()) + codec_line(part(run, "codec")) + line("data", data.text()) +
         privacy_line(part(run, "privacy")) + line("loss", loss.text()) +
         (evaluation.contains("accuracy")
              ? line("accuracy",
                     fmt::format("{} at round {}", cell(evaluation, "accuracy", human_fraction),
                                 cell(evaluation, "round", count)))
              : "") +
         quality_lines(run) + line("penalty", l2_line(run));
}

// "ring (auto)" where auto chose it.
std::string topology_words(const json& topology) {
  const std::string kind = word(topology, "kind");
  return topology.contains("chosen") ? fmt::format("{} ({})", word(topology, "chosen"), kind)
                                     : kind;
}

std::string network_lines(const json& status) {
  Phrase consensus, topology, members;
  consensus.add("distance ", number(part(status, "consensus"), "distance"), human_number);
  consensus.add("farthest neighbour ", number(part(status, "consensus"), "neighbor_distance"),
                human_number);
  consensus.add("mixing rate ", number(part(status, "consensus"), "mixing_rate"), human_number);
  consensus.add("expected ", number(part(status, "consensus"), "expected_mixing_rate"),
                human_number);
  topology.add(topology_words(part(status, "topology")));
  topology.add("degree ", number(part(status, "topology"), "degree"), count);
  topology.add("spectral gap ", number(part(status, "topology"), "spectral_gap"), human_number);
  topology.add("epoch ", number(part(status, "topology"), "epoch"), count);
  for (const auto& [state, how_many] : part(status, "members").items())
    if (how_many.get<double>() > 0 || state == "alive")
      members.add(fmt::format("{:.0f} {}", how_many.get<double>(), printable(state)));
  return line("consensus", consensus.text()) + line("topology", topology.text()) +
         line("members", members.text());
}

std::string traffic_lines(const json& status) {
  Phrase traffic, time, descriptors, keys, rejected;
  traffic.add("sent ", number(part(status, "traffic"), "sent_bytes"), human_bytes);
  traffic.add("received ", number(part(status, "traffic"), "received_bytes"), human_bytes);
  traffic.add("sends ", number(part(status, "traffic"), "sent_bytes_per_s"), human_bytes, "/s");
  traffic.add("at most ", number(part(status, "traffic"), "sent_peak_bytes_per_s"), human_bytes,
              "/s");
  const json& times = part(status, "time");
  const auto share_of = [&](const char* name) { return number(times, name).value_or(0); };
  const double whole =
      share_of("compute_s") + share_of("wait_s") + share_of("mix_s") + share_of("other_s");
  for (const auto& [name, title] : {std::pair{"compute_s", "computing "},
                                    {"evaluate_s", "of that evaluating "},
                                    {"wait_s", "waiting "},
                                    {"mix_s", "mixing "},
                                    {"other_s", "other "}})
    if (whole > 0) time.add(title, share_of(name) / whole, human_fraction);
  const json& files = part(status, "descriptors");
  descriptors.add("", number(files, "used"), count, " of " + cell(files, "allowed", count));
  const json& security = part(status, "security");
  const json& certificate = part(security, "certificate");
  keys.add(certificate.empty() ? "none: connections are not encrypted"
                               : "certificate until " + word(certificate, "until"));
  for (const auto& [reason, how_many] : part(security, "refused").items())
    keys.add(fmt::format("{} connections refused: {}", count(how_many.get<double>()), reason));
  for (const auto& [reason, how_many] : part(status, "rejected").items())
    rejected.add(rejection(status, reason, how_many.get<double>()));
  return line("traffic", traffic.text()) + line("time", time.text()) +
         line("files", descriptors.text()) + line("keys", keys.text()) +
         line("rejected", rejected.text());
}

std::string sentence_lines(const json& status) {
  if (!status.contains("summary")) return {};
  std::string text;
  for (const std::string& words :
       wrap_words(word(status, "summary"), display_width() - kTitleWidth))
    text += line("", words);
  return text;
}

std::string checkpoint_line(const json& checkpoint) {
  Phrase saved;
  saved.add("round ", number(checkpoint, "round"), count);
  saved.add("generation ", number(checkpoint, "generation"), count);
  saved.add("", number(checkpoint, "bytes"), human_bytes);
  saved.add("", number(checkpoint, "age_s"), human_duration, " ago");
  if (checkpoint.contains("problem")) saved.add(word(checkpoint, "problem"));
  return line("checkpoint", saved.text());
}

std::string status_text(const json& status) {
  // What a trainer evaluates on only the trainer knows.
  const std::string_view evaluated = status.contains("trainer") ? "last evaluated " : "held-out ";
  return node_lines(part(status, "node")) + sentence_lines(status) +
         run_lines(part(status, "run"), evaluated) + network_lines(status) + traffic_lines(status) +
         checkpoint_line(part(status, "checkpoint"));
}

// ---- fleet

// The nodes that have not saved the common round.
std::string saved_line(const json& checkpoint) {
  if (!checkpoint.is_object() || checkpoint.empty()) return {};
  Phrase saved;
  saved.add("all save round ", number(checkpoint, "round"), count);
  std::string missing;
  for (const json& name : part(checkpoint, "missing"))
    missing += (missing.empty() ? "" : " ") + printable(name.get<std::string>());
  saved.add(missing.empty() ? "every node has" : "not yet " + missing);
  return line("checkpoint", saved.text());
}

std::string fleet_text(const json& fleet) {
  struct Row {
    const char* name;
    const char* title;
    Format format;
  };
  static constexpr Row kRows[] = {{"loss", "loss", human_number},
                                  {"accuracy", "accuracy", human_fraction},
                                  {"round", "round", count},
                                  {"samples_per_s", "samples/s", human_number},
                                  {"bytes_per_s", "sent/s", human_bytes},
                                  {"computing", "computing", human_fraction}};
  Table table({"A NODE'S", ">NOW", "?>MEAN", "?>SMALLEST", "?>LARGEST", "?>+-", "?>ALL"});
  bool has_extremes = false;
  for (const Row& row : kRows) {
    const json& spread = part(fleet, row.name);
    if (!spread.is_object() || spread.empty()) continue;
    has_extremes = has_extremes || spread.contains("min");
    table.add({row.title, cell(spread, "mean", row.format), cell(spread, "mean_then", row.format),
               cell(spread, "min", row.format), cell(spread, "max", row.format),
               cell(spread, "error", row.format), cell(spread, "total", row.format)});
  }
  Phrase consensus, keys;
  const json& certificates = part(fleet, "certificates");
  if (certificates.is_object() && !certificates.empty())
    keys.add(fmt::format("{} of {} have a certificate, the first ends {} ({})",
                         cell(certificates, "nodes", count), cell(fleet, "nodes", count),
                         word(certificates, "until"), word(certificates, "first")));
  const json& distance = part(fleet, "consensus_distance");
  if (distance.is_object()) {
    consensus.add("distance ", number(distance, "value"), human_number);
    consensus.add("+- ", number(distance, "error"), human_number);
  }
  const auto age = number(fleet, "age_s");
  const auto sentence = wrap_words(word(fleet, "summary"), display_width());
  return fmt::format("{}\n", fmt::join(sentence, "\n")) + table.text(display_width()) +
         line("consensus", consensus.text()) +
         line("topology", fleet.contains("topology") ? topology_words(fleet["topology"]) : "") +
         saved_line(part(fleet, "checkpoint")) + line("keys", keys.text()) +
         (has_extremes && age
              ? fmt::format("mean, smallest and largest are of {} ago\n", human_duration(*age))
              : "");
}

// ---- lists

// ":7680" where the host is that of the control address.
std::string http_cell(const json& member) {
  const std::string control = word(member, "control"), http = word(member, "http");
  const std::size_t colon = control.rfind(':');
  if (colon == std::string::npos || !http.starts_with(control.substr(0, colon + 1))) return http;
  return http.substr(colon);
}

std::string control_cell(const json& member) {
  return member.value("hidden", false) ? "not dialled" : word(member, "control");
}

// "node-2 84 %"
std::string wait_cell(const json& member) {
  return member.contains("waits_for")
             ? word(member, "waits_for") + " " + cell(member, "waiting", human_fraction)
             : "-";
}

// Of one that lives it is news what it does.
std::string state_cell(const json& member) {
  const bool is_alive = word(member, "state") == "alive" && member.contains("phase");
  const bool trains = is_alive && word(member, "phase") == "training";
  if (trains && member.contains("role")) return word(member, "role");
  return word(member, is_alive ? "phase" : "state");
}

std::string members_text(const json& document) {
  Table table({"NAME", "STATE", ">ROUND", ">AGO", "CONTROL", "HTTP", "?>HEARD", "?>LOSS", "?>TOLD",
               "?WAITS FOR", "?CERTIFICATE UNTIL"});
  for (const json& member : part(document, "members")) {
    table.add({word(member, "name"), state_cell(member), cell(member, "round", count),
               cell(member, "round_age_s", human_duration), control_cell(member), http_cell(member),
               cell(member, "last_heard_s", human_duration), cell(member, "loss", human_number),
               cell(member, "told_s", human_duration), wait_cell(member),
               word(part(member, "certificate"), "until")});
  }
  return table.text(display_width());
}

// Plain formats lose nothing.
std::string quality_cell(const json& edge) {
  const auto quality = number(edge, "codec_quality");
  return quality && *quality < 1 ? human_number(*quality) : "-";
}

// "node-15: refused: far 12, not finite 33", a line for each neighbour of whom something was.
std::string rejected_lines(const json& neighbors) {
  std::string lines;
  for (const json& edge : neighbors) {
    Phrase reasons;
    for (const auto& [reason, how_many] : part(edge, "rejected").items())
      reasons.add(printable(reason) + " " + count(how_many.get<double>()));
    if (!reasons.text().empty())
      lines += fmt::format("{}: refused: {}\n", word(edge, "name"), reasons.text());
  }
  return lines;
}

std::string neighbors_text(const json& document) {
  Table table({"NAME", "STATE", ">BEHIND", ">RTT", ">DISTANCE", ">SENT", "?>RECEIVED", "?>REJECTED",
               "?>QUALITY", "?>PATIENCE", "?>WEIGHT", "?>ROUND"});
  for (const json& edge : part(document, "neighbors")) {
    double rejected = 0;
    for (const json& how_many : part(edge, "rejected")) rejected += how_many.get<double>();
    table.add({word(edge, "name"), word(edge, "state"), cell(edge, "staleness", count),
               cell(edge, "rtt_s", human_duration), cell(edge, "distance", human_number),
               cell(edge, "sent_bytes", human_bytes), cell(edge, "received_bytes", human_bytes),
               rejected > 0 ? count(rejected) : "-", quality_cell(edge),
               cell(edge, "patience_s", human_duration), cell(edge, "weight", human_number),
               cell(edge, "round", count)});
  }
  return table.text(display_width()) + rejected_lines(part(document, "neighbors"));
}

std::string topology_text(const json& document) {
  Phrase summary;
  summary.add(fmt::format("{} nodes", part(document, "nodes").size()));
  summary.add(fmt::format("{} {}edges", part(document, "edges").size(),
                          document.value("directed", false) ? "directed " : ""));
  if (document.contains("connected"))
    summary.add(document["connected"].get<bool>() ? "connected" : "not connected");
  summary.add("spectral gap ", number(document, "spectral_gap"), human_number);
  const auto is_hidden = [](const json& node) { return node.value("hidden", false); };
  const json& nodes = part(document, "nodes");
  if (const auto hidden = std::ranges::count_if(nodes, is_hidden); hidden > 0)
    summary.add(fmt::format("{} that nobody can dial", hidden));
  if (const std::size_t replaced = part(document, "replaced").size(); replaced > 0)
    summary.add(fmt::format("{} edges of two of them replaced", replaced));
  Table table({"FROM", "TO", ">WEIGHT", "WHY"});
  for (const json& edge : part(document, "edges"))
    table.add({word(edge, "from"), word(edge, "to"), cell(edge, "weight", human_number),
               edge.value("detour", false) ? "detour" : ""});
  return summary.text() + "\n" + table.text(display_width());
}

// "12:00:00" of "2026-07-01T12:00:00+0200", which is how lines of the log begin.
std::string clock_of(const json& event) {
  constexpr std::size_t kDateWidth = 11, kClockWidth = 8;
  const std::string at = word(event, "at");
  return at.size() < kDateWidth + kClockWidth ? at : at.substr(kDateWidth, kClockWidth);
}

std::string settings_text(const json& document) {
  Table table({"key", "value", "from", "by", "since round", "next", "from round"});
  for (const auto& [key, setting] : document.items()) {
    const json next = part(setting, "next").empty() ? json::object() : part(setting, "next")[0];
    table.add({printable(key), word(setting, "value"), word(setting, "origin"), word(setting, "by"),
               cell(setting, "since_round", count), word(next, "value"),
               next.empty() ? "" : cell(next, "from_round", count)});
  }
  return table.text();
}

std::string events_text(const json& document) {
  std::string text;
  for (const json& event : part(document, "events"))
    text += fmt::format("{}  {}\n", clock_of(event), word(event, "text"));
  return text;
}

// ---- convergence

std::string plot(const json& series, const char* name) {
  std::vector<double> values;
  for (const json& point : series)
    if (const auto value = number(point, name)) values.push_back(*value);
  if (values.size() < 2) return {};
  return fmt::format("{:<9} {}  {} to {}\n", name, sparkline(values, kSparklineWidth),
                     human_number(values.front()), human_number(values.back()));
}

// Of the points from `begin` to before `end` the last that was evaluated, or else the last.
const json& most_telling(const json& series, std::size_t begin, std::size_t end) {
  for (std::size_t k = end; k-- > begin;)
    if (series.at(k).contains("accuracy") || series.at(k).contains("rmse")) return series.at(k);
  return series.at(end - 1);
}

std::string convergence_text(const json& document) {
  const json& series = part(document, "series");
  if (series.empty()) return "no round is done yet\n";
  Table table({">ROUND", ">TRAINED", "?>LOSS", "?>ACCURACY", "?>RMSE", "?>DISTANCE", "?>TO OPTIMUM",
               "?>SENT"});
  const std::size_t size = series.size(), rows = std::min(kConvergenceRows, size);
  for (std::size_t k = 1; k <= rows; ++k) {
    // Evenly thinned, the last one always among them.
    const json& point = k == rows ? series.at(size - 1)
                                  : most_telling(series, (k - 1) * size / rows, k * size / rows);
    table.add({cell(point, "round", count), cell(point, "time_s", human_duration),
               cell(point, "loss", human_number), cell(point, "accuracy", human_fraction),
               cell(point, "rmse", human_number), cell(point, "distance", human_number),
               cell(point, "distance_to_optimum", human_number),
               cell(point, "bytes", human_bytes)});
  }
  return table.text(display_width()) + plot(series, "loss") + plot(series, "accuracy") +
         plot(series, "distance");
}

// What makes the answer one of a node, whatever its version.
bool is_answer(std::string_view command, const json& document) {
  static const std::map<std::string_view, const char*> kFields = {
      {"status", "/node/name"},    {"fleet", "/summary"},  {"members", "/members"},
      {"neighbors", "/neighbors"}, {"topology", "/edges"}, {"convergence", "/series"},
      {"events", "/events"}};
  const auto field = kFields.find(command);
  return document.is_object() &&
         (field == kFields.end() || document.contains(json::json_pointer(field->second)));
}

}  // namespace

Result<void> expect_answer(std::string_view command, const json& document) {
  if (is_answer(command, document)) return {};
  return fail("the answer is none of a node of starling; expected its REST interface there");
}

Result<std::string> present(std::string_view command, const json& document) {
  TRY_DO(expect_answer(command, document));
  try {
    if (command == "status") return status_text(document);
    if (command == "fleet") return fleet_text(document);
    if (command == "members") return members_text(document);
    if (command == "neighbors") return neighbors_text(document);
    if (command == "topology") return topology_text(document);
    if (command == "convergence") return convergence_text(document);
    if (command == "events") return events_text(document);
    if (command == "set") return settings_text(document);
    return fail("nothing to show for {}", command);
  } catch (const json::exception& error) {
    return fail("the answer is not understood: {}", printable(error.what()));
  }
}

}  // namespace starling::daemon
