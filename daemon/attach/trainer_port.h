// TrainerPort: the socket at which a trainer of the user's own attaches, and the conversation with
// it (docs/attach.md). A thread of its own lets trainers in by the door and checks records; one
// trainer at a time. The loss of a trainer is known at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"
#include "daemon/attach/attached.h"
#include "daemon/attach/record_socket.h"
#include "daemon/attach/records.h"
#include "daemon/attach/step_watch.h"
#include "daemon/attach/tensor_table.h"
#include "daemon/attach/trainer_door.h"
#include "daemon/attach/trainer_notes.h"
#include "daemon/attach/trainer_terms.h"
#include "daemon/process/trainer_status.h"
#include "daemon/process/wake.h"

namespace starling::daemon {

class TrainerPort {
 public:
  // Listens at `path`; replaces the socket of a dead process. The error names the path.
  static Outcome<std::unique_ptr<TrainerPort>> open(const std::string& path, TrainerTerms terms);
  // Ends the conversation. REQUIRES that no thread is in ask() or await().
  ~TrainerPort();

  const std::string& path() const { return status_.socket; }  // never changes
  const TrainerTerms& terms() const { return terms_; }
  // Called at once, and in the port's thread whenever that changes, with whether a trainer is
  // there. Null: none.
  void set_listener(std::function<void(bool)> listener);

  // Waits for a trainer; null after the patience or interrupt().
  std::shared_ptr<const Attached> await(std::chrono::milliseconds patience);
  // Waits for the answer, which brings a state if the request was to save. Nothing if the trainer
  // is gone, or after interrupt(). One thread.
  std::optional<TrainerAnswer> ask(const Attached& trainer, const Request& request);
  // The tensors of role donor, concatenated, after the last job, or of the first trainer before its
  // first job; null before that.
  std::shared_ptr<const std::vector<std::byte>> donated() const;
  // The trainer's last measurements with `log`.
  Metrics metrics() const;
  // For people, of the trainer; with `ends`, it is also why the trainer is told to go.
  void complain(const std::string& text, bool ends);

  // Ends all present and later waits in await() and ask(), and the trainer's steps in the middle.
  // Any thread.
  void interrupt();
  bool is_interrupted() const;
  // After interrupt(): tells the trainer that the run is over, after its open job if that ends in
  // time; a trainer that is silent is not waited for. `write` puts the last parameters into the
  // segment; false: it has none.
  void end(const std::string& reason, const std::function<bool(const Attached&)>& write);
  // Any thread.
  TrainerStatus status() const;

 private:
  // A phase includes those before it.
  enum class Phase {
    open,
    interrupted,  // no waits any more
    ended,        // the trainer knows that the run is over, and may go
    closing,      // the port's thread ends
  };
  struct OpenJob {
    std::uint64_t number = 0;
    bool saves = false;  // its answer brings a state
    std::optional<TrainerAnswer> answer = {};
  };
  // Of the last trainer; null before the first.
  struct Model {
    std::shared_ptr<const TensorTable> table;
    std::shared_ptr<const std::vector<std::byte>> donated;
  };

  TrainerPort(std::string path, OpenFile listener, TrainerTerms terms);
  void run();
  void admit(TrainerDoor::Caller caller);
  Result<void> let_in(TrainerDoor::Caller& caller);
  void hear_trainer();
  void take(const TrainerAnswer& answer);
  void lose(std::string reason);
  Result<std::shared_ptr<const TrainerState>> receive_state(OpenFile file) const;

  TrainerTerms terms_;
  TrainerDoor door_;  // only of the port's thread
  Wake wake_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void(bool)> on_change_;
  std::shared_ptr<const Attached> trainer_;
  OpenFile socket_;         // of the trainer
  std::uint64_t jobs_ = 0;  // so far
  std::optional<OpenJob> job_;
  Metrics metrics_;
  StepWatch watch_;
  Model model_;
  TrainerStatus status_;
  TrainerNotes notes_;
  Phase phase_ = Phase::open;
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace starling::daemon
