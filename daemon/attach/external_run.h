// ExternalRun: the extra parts of a node whose model is that of the user's own trainer: the socket,
// the process that the daemon starts, and the rest while no trainer is there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "daemon/attach/trainer_port.h"
#include "daemon/attach/trainer_process.h"
#include "daemon/process/board.h"
#include "daemon/setup/config.h"
#include "optim/trainer.h"

namespace starling::daemon {

// With which tell_end() begins.
inline constexpr std::string_view kTrainerFinished = "the trainer finished by itself";

class ExternalRun {
 public:
  // Listens for the trainer. The error names trainer.socket.
  static Outcome<std::unique_ptr<ExternalRun>> open(const Config& config, const std::string& node);
  ~ExternalRun();

  // Starts trainer.command, if there is one; `on_end` is called in another thread when it ends and
  // is not started again. Waits for a trainer, and makes the node's trainer from it. The error says
  // how the command ended before a trainer attached.
  Result<std::unique_ptr<optim::Trainer>> await(const Config& config, const std::string& node,
                                                std::function<void()> on_end);
  // See TrainerProcess; empty without a command.
  std::string failure() const { return process_ ? process_->failure() : ""; }
  TrainerStatus status() const;
  // Logs that the trainer's command has ended with exit code 0 after `round`, and what follows.
  // Nothing where it has not, or where the node has reached its goal.
  void tell_end(const gossip::RunStatus& run, const gossip::Goal& goal) const;
  // From now on the node rests while no trainer is there. The board outlives the run.
  void rest_without_trainer(Board& board);
  // Ends all waits for the trainer.
  void interrupt() { port_->interrupt(); }
  // After interrupt(): gives the trainer the last parameters, in doubles; empty: none. `reason`: of
  // the run's end; empty: this node leaves alone.
  void end(const std::vector<double>& parameters, const std::string& reason);

 private:
  explicit ExternalRun(std::unique_ptr<TrainerPort> port) : port_(std::move(port)) {}

  Result<void> await_first(const std::string& command);

  std::unique_ptr<TrainerPort> port_;
  std::shared_ptr<const Attached> first_;
  std::unique_ptr<TrainerProcess> process_;  // after the port, so that it ends first
};

}  // namespace starling::daemon
