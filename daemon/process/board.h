// Board: the I/O thread publishes its state here for other threads, which leave commands for it. A
// snapshot of the status is made only on request: with many members it is long. Every member
// function may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/thinned.h"
#include "daemon/process/cores.h"
#include "daemon/process/descriptors.h"
#include "daemon/process/event_log.h"
#include "daemon/process/fleet_series.h"
#include "daemon/process/on_demand.h"
#include "daemon/process/trace_log.h"
#include "daemon/process/trainer_status.h"
#include "gossip/io.h"
#include "gossip/status.h"
#include "gossip/transport/security_status.h"
#include "models/nets/model_card.h"

namespace starling::daemon {

// Constant while the process lives.
struct Identity {
  NodeId id;
  std::string name;
  std::uint64_t incarnation = 0;
  Endpoint control, http;
};

struct Snapshot {
  Identity identity;
  Time now{};  // since the process started
  gossip::Status status;
  std::optional<TrainerStatus> trainer = {};  // if the user's own trainer has the model
  Descriptors descriptors = {};
  Cores cores = {};
  gossip::SecurityStatus security = {};
};

// Parameters as they were between two jobs of the trainer.
struct Model {
  std::vector<double> parameters;
};

// The inputs of the node that come from other threads.
using Command = std::variant<gossip::JoinCommand, gossip::LeaveCommand, gossip::PauseCommand,
                             gossip::ResumeCommand, gossip::CheckpointCommand, gossip::StopCommand,
                             gossip::ConfigureCommand, gossip::RevokeCommand>;
inline constexpr std::size_t kCommandsLimit = 64;

class Board {
 public:
  // `wake` is called after leave_command() or a request; it must be safe from any thread. Null once
  // nothing more will be published.
  void set_wake(std::function<void()> wake);

  // Whether a snapshot is requested.
  bool is_wanted() const { return snapshot_.is_wanted(); }
  void publish(std::shared_ptr<const Snapshot> snapshot) { snapshot_.publish(std::move(snapshot)); }
  // Requests a snapshot: fresh, unless the I/O thread is slow. Null until the node has started.
  OnDemand<Snapshot>::Asked ask();
  std::shared_ptr<const Snapshot> read() { return ask().get(); }

  // As ask(), for the model. The board does not keep the model; only the askers hold it. Null if
  // the trainer made none within kModelPatience.
  static constexpr std::chrono::seconds kModelPatience{20};
  bool is_model_wanted() const { return model_.is_wanted(); }
  void publish_model(std::shared_ptr<const Model> model) { model_.publish(std::move(model)); }
  OnDemand<Model>::Asked ask_model();

  // Makes the model card from the survey on which the model was founded; empty for none. Set once
  // the data are loaded.
  using Describer = std::function<Result<models::ModelCard>(const std::string& foundation)>;
  void set_describer(Describer describer);
  void set_foundation(std::string foundation);
  // The error says why it is not known yet.
  Result<models::ModelCard> card() const;

  // Adds a point to the convergence series of this node since its start, thinned if it is long, and
  // beside it the estimates for all nodes.
  void add(const gossip::Progress& point, const gossip::FleetStatus& fleet = {});
  // The points of `round` and of later rounds, oldest first.
  std::vector<gossip::Progress> series_from(std::uint64_t round) const;
  std::vector<FleetPoint> fleet_from(std::uint64_t round) const;

  void add(Time now, const gossip::Event& event);
  // See EventLog.
  std::vector<LoggedEvent> events_since(std::uint64_t sequence,
                                        std::size_t limit = EventLog::kEventsLimit) const;
  EventCounts event_counts() const;

  TraceLog& trace() { return trace_; }

  // Returns false if too many commands wait. Of commands to pause and to resume only the last
  // counts.
  bool leave_command(Command command);
  // Sets whether the user's trainer is attached. The node trains if it is and no user has paused
  // it.
  void set_trainer_here(bool is_here);
  std::vector<Command> take_commands();

 private:
  std::function<void()> wake() const;

  mutable std::mutex mutex_;
  Describer describer_;
  std::string foundation_;
  std::function<void()> wake_;
  OnDemand<Snapshot> snapshot_{true};
  OnDemand<Model> model_{false};
  Thinned<gossip::Progress> series_;
  FleetSeries fleet_;
  EventLog events_;
  TraceLog trace_;
  std::vector<Command> commands_;
  struct {
    bool people = false, trainer = false;  // wants the node paused
    bool is_new = false;
  } rest_;
};

}  // namespace starling::daemon
