#include "daemon/cli/sweep/sweep_runs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <list>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "base/command_line.h"
#include "base/ids.h"
#include "base/text.h"
#include "daemon/process/child_process.h"
#include "daemon/process/json_text.h"
#include "daemon/process/open_file.h"
#include "daemon/process/whole_file.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kRunLookEvery{50};
constexpr std::chrono::milliseconds kRunEndPatience{8'000};  // for the nodes of a run
constexpr std::size_t kDocumentLimit = std::size_t{1} << 30;

std::string key_of(const SweepFolder& folder, const SweepRun& run) {
  std::string text = folder.inputs;
  for (const std::string& argument : run.arguments) text.append(1, '\0').append(argument);
  return fmt::format("{:016x}", stable_hash(text));
}

std::string path_of(const SweepFolder& folder, const SweepRun& run, std::string_view kind) {
  return fmt::format("{}/run-{}.{}", folder.path, key_of(folder, run), kind);
}

std::string read(const std::string& path) {
  const auto bytes = read_file(path, kDocumentLimit);
  return bytes && *bytes ? as_text(**bytes) : std::string();
}

// The last line that is not empty.
std::string last_line(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return lines.empty() ? std::string() : lines.back();
}

// A run under way, which writes what it prints and what it says against it.
class Running {
 public:
  Running(const SweepFolder& folder, SweepRun& run)
      : run_(&run),
        printed_(path_of(folder, run, "new")),
        said_(path_of(folder, run, "log")),
        kept_(path_of(folder, run, "json")) {
    for (const std::string& path : {printed_, said_}) std::filesystem::remove(path);
    const OpenFile errors(::open(said_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
    words.insert(words.end(), run.arguments.begin(), run.arguments.end());
    auto child = ChildProcess::start(words, printed_, errors.number());
    if (child)
      child_.emplace(*std::move(child));
    else
      run.problem = child.error().text;
  }

  // Takes in the document of a run that has ended; false: it has not.
  bool has_ended() {
    if (!child_) return true;
    if (child_->running()) return false;
    take(child_->exit_code().value_or(kExitFailed));
    return true;
  }
  void interrupt() {
    if (child_) child_->signal(SIGTERM);
  }
  void wait() {
    if (child_) child_->wait(kRunEndPatience);
    std::filesystem::remove(printed_);
  }

 private:
  void take(int code) {
    const bool is_done = code == kExitDone || code == kExitGoalNotReached;
    json document = is_done ? parse_json(read(printed_)) : json();
    if (document.is_object()) {
      const json kept = {{"arguments", run_->arguments}, {"result", document}};
      if (const auto written = replace_file(kept_, kept.dump() + "\n"); !written)
        run_->problem = written.error().text;
      run_->document = std::move(document);
      std::filesystem::remove(said_);
    } else {
      const std::string line = last_line(read(said_));
      run_->problem = line.empty() ? describe_exit(code) : line;
    }
    std::filesystem::remove(printed_);
  }

  SweepRun* run_;
  std::string printed_, said_, kept_;
  std::optional<ChildProcess> child_;
};

}  // namespace

void recall_runs(const SweepFolder& folder, std::vector<SweepRun>& runs) {
  for (SweepRun& run : runs) {
    json kept = parse_json(read(path_of(folder, run, "json")));
    if (kept.is_object() && kept.value("arguments", json()) == json(run.arguments) &&
        kept.value("result", json()).is_object())
      run.document = std::move(kept["result"]);
  }
}

bool run_all(const SweepFolder& folder, const SweepPace& pace, std::vector<SweepRun>& runs) {
  std::list<Running> under_way;
  auto next = runs.begin();
  const auto is_open = [](const SweepRun& run) { return run.document.is_null(); };
  while (!pace.is_interrupted()) {
    while (under_way.size() < pace.at_once &&
           (next = std::find_if(next, runs.end(), is_open)) != runs.end())
      under_way.emplace_back(folder, *next++);
    if (under_way.empty()) break;
    std::this_thread::sleep_for(kRunLookEvery);
    std::erase_if(under_way, [](Running& run) { return run.has_ended(); });
    pace.told();
  }
  for (Running& run : under_way) run.interrupt();
  for (Running& run : under_way) run.wait();
  return under_way.empty() && std::find_if(next, runs.end(), is_open) == runs.end();
}

}  // namespace starling::daemon
