// Loop: the I/O thread of a daemon. It owns the node, the sockets and the timers: wait, step,
// perform what the node asks for, and pin the status to the board.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/board.h"
#include "daemon/process/checkpoint_disk.h"
#include "daemon/process/clock.h"
#include "daemon/process/connect_prober.h"
#include "daemon/process/host_names.h"
#include "daemon/process/notices.h"
#include "daemon/process/service_notice.h"
#include "daemon/process/training_thread.h"
#include "daemon/process/transport.h"
#include "daemon/process/wake.h"
#include "gossip/node/node.h"

namespace starling::daemon {

class Loop {
 public:
  // All outlive the loop.
  Loop(Identity identity, gossip::Node& node, Transport& transport, TrainingThread& training,
       Board& board);
  // What was found before the node ran and a person shall know as long as it runs.
  void set_warnings(std::vector<std::string> standing) { standing_ = std::move(standing); }
  // Where the model is that of a trainer of the user's own: what is known of it.
  void set_trainer(std::function<TrainerStatus()> trainer) { trainer_ = std::move(trainer); }
  // Whom every turn is told of; it outlives the loop.
  void set_service(ServiceNotice& service) { service_ = &service; }

  // Where the node's checkpoints go. REQUIRES one where the node keeps any.
  void set_disk(CheckpointDisk& disk) { disk_ = &disk; }
  // How names are looked up, where it is not as the system does.
  void set_names(HostNames names) { names_ = std::move(names); }

  // Until the node has left: by a command, or because `stop` was asked for and the goodbyes are
  // out. With `stays` false it leaves by itself a little after its goal is reached.
  // Empty, or why it had to end.
  std::string run(bool stays);
  // Asks for a graceful leave. Any thread; async-signal-safe.
  void stop() {
    stop_asked_ = true;
    wake_.signal();
  }

 private:
  void feed(gossip::Input input);
  void perform(gossip::Outputs& outputs);
  void act(gossip::Send& send);
  void act(gossip::Hangup& hangup);
  void act(gossip::ConnectProbe& probe);
  void act(gossip::LookUp& look_up) { names_.look_up(look_up.name); }
  void act(gossip::Train& train) { training_.submit(std::move(train.job)); }
  void act(gossip::Save& save) { disk_->save(std::move(save.checkpoint)); }
  void act(gossip::Progress& progress) { board_.add(progress); }
  void act(gossip::Span& span) { board_.trace().add(span); }
  void act(gossip::Event& event);
  void tell(const gossip::Event& event);
  void act(gossip::Stopped& stopped) { stopped_ = true, error_ = stopped.error; }
  void publish();
  void tell_trainer(Snapshot& snapshot) const;
  void say_warnings();
  // What ends a wait.
  std::array<int, 4> wakes() const;
  void take_all();
  void tell_service();
  void take_trained();
  void take_connect_probes();
  void take_names();
  void take_saved();
  void take_commands();

  Identity identity_;
  gossip::Node& node_;
  Transport& transport_;
  TrainingThread& training_;
  Board& board_;
  CheckpointDisk* disk_ = nullptr;
  Wake wake_;
  gossip::Cutter cutter_;
  ConnectProber connect_prober_;
  HostNames names_;
  Notices notices_;
  std::vector<std::string> standing_;  // warnings
  std::function<TrainerStatus()> trainer_;
  ServiceNotice* service_ = nullptr;
  Time next_look_{};  // for warnings
  std::atomic<bool> stop_asked_ = false;
  bool stopped_ = false;
  std::string error_;  // why it had to stop
  bool finished_ = false;
  Time finished_at_{};
};

}  // namespace starling::daemon
