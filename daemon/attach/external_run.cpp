#include "daemon/attach/external_run.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/ids.h"
#include "daemon/attach/external_learner.h"
#include "daemon/attach/tensor_io.h"
#include "daemon/process/clock.h"
#include "daemon/process/log.h"

namespace starling::daemon {
namespace {

// A waiting user is reminded after this time.
constexpr std::chrono::seconds kRemindEvery{30};
// Between two looks whether the trainer's command has ended.
constexpr std::chrono::milliseconds kTrainerLookEvery{100};

// Of this user alone.
Result<void> make_folder(const std::string& path) {
  struct stat info {};
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail("trainer.socket: cannot make {}: {}", path, std::strerror(errno));
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
    return fail("trainer.socket: {} is not a folder of this user", path);
  return {};
}

Result<std::string> socket_path(const Config& config, const std::string& node) {
  if (!config.trainer_socket.empty()) return config.trainer_socket;
  if (!config.data_dir.empty()) return config.data_dir + "/trainer.sock";
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder = runtime && *runtime ? fmt::format("{}/starling", runtime)
                                                 : fmt::format("/tmp/starling-{}", ::geteuid());
  TRY_DO(make_folder(folder));
  return fmt::format("{}/{}.sock", folder, node);
}

bool is_wide(const Config& config) {
  return config.learner.model.precision == models::Precision::f64;
}

TrainerTerms terms_of(const Config& config, const std::string& node) {
  const optim::Options& optim = config.learner.optim;
  return {.welcome = {.node = node,
                      .algorithm = std::string(optim.algorithm->name),
                      .precision = is_wide(config) ? "f64" : "f32",
                      .local_steps = optim.local_steps.fixed.value_or(1),
                      .batch_size = optim.batch_size,
                      .learning_rate = optim.learning_rate,
                      .seed = optim.seed},
          .algorithm = optim.algorithm,
          .weighs_samples = config.learner.data.weight == models::Weight::samples,
          .life = config.trainer_command.empty() ? "" : std::to_string(config.node.incarnation)};
}

}  // namespace

Outcome<std::unique_ptr<ExternalRun>> ExternalRun::open(const Config& config,
                                                        const std::string& node) {
  TRY(const std::string path, socket_path(config, node));
  TRY(auto port, TrainerPort::open(path, terms_of(config, node)));
  return std::unique_ptr<ExternalRun>(new ExternalRun(std::move(port)));
}

ExternalRun::~ExternalRun() {
  port_->set_listener(nullptr);
}

Result<std::unique_ptr<optim::Trainer>> ExternalRun::await(const Config& config,
                                                           const std::string& node,
                                                           std::function<void()> on_end) {
  const auto past = [port = port_.get(), known = std::uint64_t{0}]() mutable -> TrainerPast {
    const TrainerStatus status = port->status();
    const bool is_new = std::exchange(known, status.refused) < status.refused;
    return {.has_worked = status.exchanges > 0 || port->await({}) != nullptr,
            .has_attached = status.attached > 0,
            .is_silent = status.is_silent,
            .exchanges = status.exchanges,
            .refusal = is_new ? status.refusal : ""};
  };
  if (!config.trainer_command.empty())
    process_ = std::make_unique<TrainerProcess>(
        config.trainer_command,
        std::vector{"STARLING_SOCKET=" + port_->path(), "STARLING_NODE=" + node,
                    fmt::format("{}={}", kLifeVariable, port_->terms().life)},
        past, std::move(on_end));
  TRY_DO(await_first(config.trainer_command));
  const std::uint64_t stream = stable_hash(node);
  const optim::Options& options = config.learner.optim;
  const SavePlan saves{.every = config.trainer_save_every,
                       .is_shared = config.trainer_shares_state};
  if (is_wide(config))
    return make_external_trainer<double>(options, *port_, *first_, saves, stream, now);
  return make_external_trainer<float>(options, *port_, *first_, saves, stream, now);
}

Result<void> ExternalRun::await_first(const std::string& command) {
  using std::chrono::steady_clock;
  steady_clock::time_point told{};
  while (!(first_ = port_->await(kTrainerLookEvery))) {
    if (process_ && process_->has_succeeded())
      return fail(
          "trainer.command \"{}\" ended with exit code 0 and never attached; it must call "
          "starling.attach, or starling_attach in C, and step until the run is over",
          command);
    if (const std::string failure = this->failure(); !failure.empty()) return fail("{}", failure);
    if (steady_clock::now() < told + kRemindEvery) continue;
    told = steady_clock::now();
    log::info("waiting for a trainer to attach at {}", port_->path());
  }
  return {};
}

TrainerStatus ExternalRun::status() const {
  TrainerStatus status = port_->status();
  if (!process_) return status;
  status.has_command = true;
  status.is_done = process_->has_succeeded();
  status.pause = process_->pause();
  if (!status.is_done) status.crashes = process_->crashes(status.exchanges);
  return status;
}

void ExternalRun::tell_end(const gossip::RunStatus& run, const gossip::Goal& goal) const {
  if (!process_ || !process_->has_succeeded()) return;
  const std::optional<std::uint64_t> last = goal.last_round(run.uncounted);
  if (last && run.round >= *last) return;
  const std::string of =
      last ? fmt::format(", before stop.rounds = {}", goal.rounds) : std::string();
  log::warning(
      "{} (exit code 0) after round {}{}: this node leaves with its model, and the others go on "
      "without it; a loop that goes on until swarm.step() returns False ends with the run",
      kTrainerFinished, run.round, of);
}

void ExternalRun::rest_without_trainer(Board& board) {
  port_->set_listener([&board](bool is_here) { board.set_trainer_here(is_here); });
}

void ExternalRun::end(const std::vector<double>& parameters, const std::string& reason) {
  port_->end(reason.empty() ? "the node leaves" : "the run is over: " + reason,
             [&](const Attached& trainer) {
               if (parameters.size() != trainer.table.dimension()) return false;
               write_vector<double>(trainer.table, parameters,
                                    trainer.segment.at(trainer.hello.values));
               return true;
             });
}

}  // namespace starling::daemon
