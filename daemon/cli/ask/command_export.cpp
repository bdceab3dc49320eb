#include "base/utf8.h"
#include "daemon/cli/ask/commands.h"

#include <unistd.h>

#include <array>
#include <cctype>
#include <chrono>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "daemon/cli/ask/export_text.h"
#include "daemon/cli/ask/node_access.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/terminal/output.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/process/whole_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

enum class ExportFormat { csv, jsonl, tensorboard };

struct Export {
  NodeAccess access;
  ExportFormat format = ExportFormat::csv;
  bool with_convergence = true, with_events = false;
  bool of_all = false;
  std::optional<std::string> output;
};

// ---- what is asked

Result<ExportFormat> read_format(const std::string& text) {
  if (text == "csv") return ExportFormat::csv;
  if (text == "jsonl") return ExportFormat::jsonl;
  if (text == "tensorboard") return ExportFormat::tensorboard;
  return fail("--format {}: expected csv, jsonl or tensorboard", text);
}

Result<void> read_what(const std::string& text, Export& wanted) {
  if (text != "convergence" && text != "events" && text != "all")
    return fail("--what {}: expected convergence, events or all", text);
  wanted.with_convergence = text != "events";
  wanted.with_events = text != "convergence";
  if (wanted.format == ExportFormat::csv && text == "all")
    return fail("--what all: a csv file is one table; expected convergence or events, or jsonl");
  if (wanted.format == ExportFormat::tensorboard && wanted.with_events)
    return fail("--what {}: tensorboard draws numbers; expected convergence", text);
  return {};
}

Result<Export> read_wanted(const CommandLine& line) {
  Export wanted;
  wanted.of_all = line.has("all");
  wanted.output = line.value("output");
  TRY(wanted.access, read_node_access(line));
  TRY(wanted.format, read_format(line.value("format").value_or("csv")));
  TRY_DO(read_what(line.value("what").value_or("convergence"), wanted));
  if (wanted.format == ExportFormat::tensorboard && !wanted.output)
    return fail("--format tensorboard: expected a folder that gets the files: --output DIR");
  return wanted;
}

// ---- nodes and what they answer

double wall_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Outcome<NodeExport> ask_node(const NodeAccess& access, const Export& wanted) {
  TRY(const json status, document_of(access, "/v1/status"));
  const double now = wall_seconds();
  json series, events;
  if (wanted.with_convergence) {
    TRY(series, document_of(access, "/v1/convergence"));
  }
  // They say when the training began.
  if (wanted.with_events || wanted.format == ExportFormat::tensorboard) {
    TRY(events, document_of(access, "/v1/events?follow=0"));
  }
  auto node = read_export(status, series, events, now);
  if (!node) return tl::unexpected(complaint_of(access, node.error()));
  return *std::move(node);
}

struct Gathered {
  std::vector<NodeExport> nodes;
  int code = kExitDone;
};

Outcome<Gathered> gather(const Export& wanted) {
  Gathered gathered;
  const auto complain_of = [&](const Complaint& complaint) {
    gathered.code = complain("export", complaint);
  };
  TRY(NodeExport first, ask_node(wanted.access, wanted));
  const std::string own_name = first.name;
  gathered.nodes.push_back(std::move(first));
  if (!wanted.of_all) return gathered;
  const auto members = members_of(wanted.access);
  if (!members) complain_of(members.error());
  for (const LivingMember& member : members.value_or(std::vector<LivingMember>())) {
    if (member.name == own_name) continue;
    auto node = member.http ? ask_node({*member.http, wanted.access.token}, wanted)
                            : tl::unexpected(without_http(member.name));
    if (node)
      gathered.nodes.push_back(*std::move(node));
    else
      complain_of(node.error());
  }
  return gathered;
}

// ---- what is written

// A name that came over the network as the name of a folder, and no other path.
std::string folder_name(const std::string& name) {
  std::string folder = name;
  for (char& c : folder)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
  if (folder.empty() || folder.front() == '.') folder.insert(0, "_");
  return folder.substr(0, NAME_MAX);
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return folder_name(name.data());
}

// TensorBoard draws all files of a folder as one run: an older export there would be drawn too.
Result<void> is_new_run(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().find("tfevents") != std::string::npos)
      return fail("{} holds {} already; expected a new folder", folder.string(),
                  entry.path().filename().string());
  return {};
}

Result<void> write_run(const NodeExport& node, const std::filesystem::path& folder) {
  TRY_DO(is_new_run(folder));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail("{}: {}", folder.string(), error.message());
  const std::string file = fmt::format("events.out.tfevents.{}.{}",
                                       static_cast<std::int64_t>(wall_seconds()), host_name());
  return replace_file((folder / file).string(), export_tensorboard(node));
}

Result<void> write_runs(std::span<const NodeExport> nodes, const std::string& output) {
  std::set<std::string> taken;
  for (const NodeExport& node : nodes) {
    std::string folder = folder_name(node.name);
    while (!taken.insert(folder).second) folder += "_";
    TRY_DO(write_run(node, std::filesystem::path(output) / folder));
  }
  return {};
}

Outcome<void> write_export(const Export& wanted, std::span<const NodeExport> nodes) {
  if (wanted.format == ExportFormat::tensorboard) {
    const auto written = write_runs(nodes, *wanted.output);
    if (!written) return complaint(kExitFailed, "--output: {}", printable(written.error().text));
    return {};
  }
  return write_output(wanted.format == ExportFormat::jsonl ? export_jsonl(nodes)
                      : wanted.with_events                 ? events_csv(nodes)
                                                           : convergence_csv(nodes),
                      wanted.output);
}

Outcome<int> run_export(const CommandLine& line) {
  TRY(const Export wanted, read_wanted(line));
  TRY(const Gathered gathered, gather(wanted));
  TRY_DO(write_export(wanted, gathered.nodes));
  return gathered.code;
}

constexpr auto kExportOptions = join(
    {{"format", "csv|jsonl|tensorboard",
      "csv (the default; RFC 4180, one header), jsonl (one object a line) or tensorboard (an event "
      "file for each node, in a folder of its name)"},
     {"what", "convergence|events|all",
      "convergence (the default), events, or all, which is for jsonl"},
     {"all", "",
      "of every member that lives, at the address of its listen.http; the token goes to each of "
      "them"},
     {"output", "PATH", "the file, or for tensorboard the folder, that gets it"}},
    kAsking);

}  // namespace

constinit const ProgramCommand kExport = {
    .name = "export",
    .summary = "series and events of nodes, for other programs",
    .usage = R"(starling export [--api URL] [--format csv|jsonl] [--what convergence|events|all]
                       [--all] [--output FILE]
       starling export [--api URL] --format tensorboard --output DIR [--all])",
    .description = R"(Writes what a node remembers of its course, to standard output or a file: the
convergence series (every round of a run of up to 10,000, an evenly thinned set above) and its last
1,000 events.)",
    .options = kExportOptions,
    .notes = R"(Examples: the loss of eight nodes in a spreadsheet, and in TensorBoard

  starling export --all --output course.csv
  starling export --all --format tensorboard --output runs && tensorboard --logdir runs)",
    .exits = R"(0 done, 1 refused by a node or not written, 2 wrong usage, 4 a node does not answer;
with --all what the others gave is written then.)",
    .run = run_export};

}  // namespace starling::daemon
