#include "daemon/attach/trainer_door.h"

#include <sys/socket.h>

#include "daemon/attach/records.h"
#include "daemon/process/log.h"
#include "daemon/process/other_processes.h"

namespace starling::daemon {
namespace {

using std::chrono::steady_clock;

// Connections without a hello so far; a further one evicts the first.
constexpr std::size_t kVisitorsLimit = 8;
// For the first record of a connection.
constexpr std::chrono::seconds kHelloPatience{5};
// Between two looks at connections that say nothing.
constexpr int kLookEvery_ms = 500;

}  // namespace

void turn_away(const OpenFile& socket, const std::string& reason) {
  send_record(socket.number(), write_refusal(reason));
}

void TrainerDoor::wait_with(std::vector<pollfd>& items) const {
  for (const Visitor& visitor : visitors_) items.push_back({visitor.socket.number(), POLLIN, 0});
  items.push_back({listener_.number(), POLLIN, 0});
  ::poll(items.data(), items.size(), kLookEvery_ms);
}

std::vector<TrainerDoor::Caller> TrainerDoor::look(std::span<const pollfd> items) {
  std::vector<Caller> callers;
  const auto own = items.last(visitors_.size() + 1);
  for (std::size_t k = visitors_.size(); k-- > 0;) {
    if (own[k].revents == 0) continue;
    Visitor& visitor = visitors_[k];
    HeardRecord heard = hear_record(visitor.socket.number());
    if (heard.nothing) continue;
    if (!heard.ended)
      callers.push_back({std::move(visitor.socket), visitor.process, std::move(heard)});
    visitors_.erase(visitors_.begin() + static_cast<std::ptrdiff_t>(k));
  }
  drop_late_visitors();
  if (own.back().revents != 0) accept_one();
  return callers;
}

void TrainerDoor::accept_one() {
  OpenFile socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return;
  const auto process = process_behind(socket.number());
  if (!process) return turn_away(socket, "the trainer runs as another user than the daemon");
  if (const auto life = variable_of(*process, kLifeVariable);
      life && !life_.empty() && *life != life_) {
    log::warning("a trainer (process {}) of an earlier life of this node was told to end",
                 *process);
    return turn_away(socket,
                     "an earlier life of the daemon started this trainer; the daemon starts its "
                     "own (trainer.command), so this one must end");
  }
  if (visitors_.size() >= kVisitorsLimit) {
    turn_away(visitors_.front().socket, "too many processes try to attach at once");
    visitors_.erase(visitors_.begin());
  }
  visitors_.push_back({std::move(socket), *process, steady_clock::now() + kHelloPatience});
}

void TrainerDoor::drop_late_visitors() {
  const auto at = steady_clock::now();
  std::erase_if(visitors_, [&](const Visitor& visitor) {
    if (at < visitor.until) return false;
    turn_away(visitor.socket, "no hello came within 5 s");
    return true;
  });
}

}  // namespace starling::daemon
