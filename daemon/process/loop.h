// Loop: the I/O thread of a daemon, the only user of the node and the sockets. Each turn waits,
// steps the node, performs the outputs of the node, and publishes the status on the board if
// requested.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/board.h"
#include "daemon/process/checkpoint_disk.h"
#include "daemon/process/clock.h"
#include "daemon/process/host_names.h"
#include "daemon/process/notices.h"
#include "daemon/process/peers.h"
#include "daemon/process/service_notice.h"
#include "daemon/process/training_thread.h"
#include "daemon/process/wake.h"
#include "daemon/process/zmq_transport.h"
#include "gossip/node/node.h"

namespace starling::daemon {

struct LoopOptions {
  Identity identity = {};
  // Returns warnings beside those of the node, shown for as long as it returns them. Called often.
  // Those of the first call are in the log already.
  std::function<std::vector<std::string>()> warnings = [] { return std::vector<std::string>(); };
  // The status of the user's own trainer; null: the model is the program's.
  std::function<TrainerStatus()> trainer = {};
  // Ends the local steps under way, which then do not count; null: they are completed.
  std::function<void()> end_steps = {};
  // Is notified of every turn of the loop; null: none.
  ServiceNotice* service = nullptr;
  // Saves a list of revocations on the disk; null: it is not saved.
  std::function<void(const gossip::Revocations&)> keep_revocations = {};
  // For the node's checkpoints; null: it keeps none.
  CheckpointDisk* disk = nullptr;
  HostNames names = HostNames();
  std::vector<SeedName> seeds = {};  // whose keys Peers is to know
};

class Loop {
 public:
  // All that the arguments and options refer to must outlive the loop.
  Loop(LoopOptions options, gossip::Node& node, ZmqTransport& transport, TrainingThread& training,
       Board& board);

  // Runs until the node has left: by a command, by stop(), or, with `stays` false, once the run is
  // over and no other node needs this one. Returns the error that ended it; empty: it left.
  std::string run(bool stays);
  // Asks for a graceful leave. Any thread.
  void stop() {
    stop_asked_ = true;
    wake_.signal();
  }

 private:
  void feed(gossip::Input input);
  void act(gossip::LookUp& look_up) { options_.names.look_up(look_up.name); }
  void act(gossip::Train& train) { training_.submit(std::move(train.job)); }
  void act(gossip::Save& save) { options_.disk->save(std::move(save.checkpoint)); }
  void act(gossip::KeepRevocations& what) {
    if (options_.keep_revocations) options_.keep_revocations(what.list);
  }
  void act(gossip::Progress& progress) { board_.add(progress, node_.fleet(now())); }
  void act(gossip::Span& span) { board_.trace().add(span); }
  void act(const gossip::Event& event) { tell(event); }
  void act(const gossip::EndSteps&) {
    if (options_.end_steps) options_.end_steps();
  }
  void act(const gossip::MayEnd&) { may_end_ = true; }
  void tell(const gossip::Event& event);
  void act(gossip::Stopped& stopped) { stopped_ = stopped.error; }
  void publish();
  std::vector<std::string> own_warnings() const;
  void say_warnings();
  // The descriptors that end a wait.
  std::array<int, 4> wakes() const;
  void take_all();
  void tell_service();
  void take_trained();
  void take_names();
  void take_saved();
  void take_commands();
  void obey(gossip::JoinCommand& join) {
    peers_.know(join.seed);
    feed(std::move(join));
  }
  void obey(auto& command) { feed(std::move(command)); }

  LoopOptions options_;
  gossip::Node& node_;
  ZmqTransport& transport_;
  TrainingThread& training_;
  Board& board_;
  Wake wake_;
  Peers peers_;
  Notices notices_;
  Time next_look_{};  // when to check for warnings
  std::atomic<bool> stop_asked_ = false;
  std::optional<std::string> stopped_;  // set once the node has left: the error, or empty
  bool may_end_ = false;
};

}  // namespace starling::daemon
