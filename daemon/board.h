// Board: where the I/O thread pins what others may read, and where others leave commands for it.
// Every member function may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "daemon/event_log.h"
#include "daemon/history.h"
#include "gossip/io.h"
#include "gossip/status.h"

namespace starling::daemon {

// What does not change while the process lives.
struct Identity {
  NodeId id;
  std::string name;
  std::uint64_t incarnation = 0;
  Endpoint control, bulk, http;
  std::string algorithm, schedule, topology_kind;
};

struct Snapshot {
  Identity identity;
  Time now{};  // since the process started
  gossip::Status status;
};

// JoinCommand and LeaveCommand, as the node takes them.
using Command = std::variant<gossip::JoinCommand, gossip::LeaveCommand>;
inline constexpr std::size_t kCommandsLimit = 64;

class Board {
 public:
  // `wake` is called after a command was left; it must be safe from any thread.
  void set_wake(std::function<void()> wake);

  void publish(std::shared_ptr<const Snapshot> snapshot);
  // Null until the node has started.
  std::shared_ptr<const Snapshot> read() const;

  void add(const gossip::Progress& point);
  std::vector<gossip::Progress> series_since(std::uint64_t round) const;

  void add(Time now, const gossip::Event& event);
  // See EventLog.
  std::vector<LoggedEvent> events_since(std::uint64_t sequence,
                                        std::size_t limit = EventLog::kEventsLimit) const;

  // False when too many commands wait already.
  bool leave_command(Command command);
  std::vector<Command> take_commands();

 private:
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::shared_ptr<const Snapshot> snapshot_;
  History history_;
  EventLog events_;
  std::vector<Command> commands_;
};

}  // namespace starling::daemon
