#include "daemon/process/transport.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "base/check.h"
#include "daemon/process/lines.h"
#include "daemon/process/wire.h"

namespace starling::daemon {

// One plane: its sockets, and what waits for whom.
class Transport::Plane {
 public:
  Plane(const std::shared_ptr<zmq::context_t>& context, gossip::Plane plane, NodeId self,
        Conversations::Limits limits)
      : context_(context), wire(*context, plane), lines(wire, plane, self, limits), plane_(plane) {}

  // Returns whether there was anything.
  void take(const FrameHandler& handler) {
    const auto now = Conversation::Clock::now();
    lines.follow(now);
    for (const bool is_dialled : {false, true})
      for (std::size_t k = 0; k < kBatch; ++k) {
        auto arrived = wire.receive(is_dialled);
        if (!arrived && is_dialled) lines.all_read();
        if (!arrived) break;
        if (const auto from = lines.hear(*arrived, now))
          handler({plane_, *from, arrived->header, std::move(arrived->body)});
      }
    lines.follow(Conversation::Clock::now());
  }
  void look(const FrameHandler& handler) {
    for (std::size_t n = lines.look(Conversation::Clock::now()); n > 0; --n)
      handler({.plane = plane_});
  }

 private:
  std::shared_ptr<zmq::context_t> context_;

 public:
  Wire wire;
  Lines lines;
  Endpoint at;

 private:
  gossip::Plane plane_;
};

Result<std::unique_ptr<Transport>> Transport::bind(NodeId self, const Endpoint& control,
                                                   const Endpoint& bulk,
                                                   const DescriptorShares& shares) {
  const auto context = std::make_shared<zmq::context_t>(1);
  const Conversations::Limits limits{shares.sending / 2, shares.receiving};
  auto small = std::make_unique<Plane>(context, gossip::Plane::control, self, limits);
  auto large = std::make_unique<Plane>(context, gossip::Plane::bulk, self, limits);
  TRY(small->at, small->wire.bind(control, "listen.control"));
  TRY(large->at, large->wire.bind(bulk, "listen.bulk"));
  return std::unique_ptr<Transport>(new Transport(std::move(small), std::move(large)));
}

Transport::Transport(std::unique_ptr<Plane> control, std::unique_ptr<Plane> bulk)
    : control_(std::move(control)), bulk_(std::move(bulk)) {}
Transport::~Transport() = default;

Transport::Plane& Transport::of(gossip::Plane plane) const {
  return plane == gossip::Plane::control ? *control_ : *bulk_;
}

Endpoint Transport::control() const {
  return control_->at;
}
Endpoint Transport::bulk() const {
  return bulk_->at;
}

void Transport::reach(NodeId node, gossip::Plane plane, const Endpoint& at) {
  of(plane).lines.reach(node, at);
}

void Transport::open(NodeId node, gossip::Plane plane, const Endpoint& at) {
  of(plane).lines.open(node, at);
}

void Transport::forget(NodeId node) {
  for (Plane* plane : {control_.get(), bulk_.get()}) plane->lines.forget(node);
}

void Transport::send(NodeId to, gossip::Plane plane, gossip::Frames frames) {
  of(plane).lines.send(to, std::move(frames));
}

void Transport::introduce(const Endpoint& to, gossip::Plane plane, gossip::Frames frames) {
  of(plane).lines.introduce(to, std::move(frames));
}

void Transport::hang_up(NodeId from, gossip::Plane plane) {
  of(plane).lines.hang_up(from);
}

void Transport::hang_up(const Endpoint& from) {
  for (Plane* plane : {control_.get(), bulk_.get()}) plane->lines.hang_up(from);
}

// ZeroMQ's descriptors tell that something has changed, once; so the sockets are asked first.
void Transport::poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler) {
  std::vector<pollfd> items;
  auto wait = std::min(std::chrono::ceil<std::chrono::milliseconds>(timeout), kWatchEvery);
  const auto now = std::chrono::steady_clock::now();
  for (const Plane* plane : {control_.get(), bulk_.get()}) {
    for (const int descriptor : plane->wire.descriptors()) items.push_back({descriptor, POLLIN, 0});
    if (plane->wire.is_readable()) wait = {};
    if (const auto next = plane->lines.deadline(now); next != decltype(next)::max())
      wait = std::min(wait, std::chrono::ceil<std::chrono::milliseconds>(next - now));
  }
  for (const int wake : wakes) items.push_back({wake, POLLIN, 0});
  const int ready =
      ::poll(items.data(), items.size(), static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
  ENSURE(ready >= 0 || errno == EINTR, "descriptors can be waited for");
  for (Plane* plane : {control_.get(), bulk_.get()}) plane->take(handler);
  if (std::chrono::steady_clock::now() < next_watch_) return;
  next_watch_ = std::chrono::steady_clock::now() + kWatchEvery;
  for (Plane* plane : {control_.get(), bulk_.get()}) plane->look(handler);
}

bool Transport::has_queued() const {
  return bulk_->lines.has_queued();
}

void Transport::flush(Duration timeout) {
  const auto ignore = [](const gossip::Received&) {};
  const auto until = std::chrono::steady_clock::now() + timeout;
  while ((has_queued() || control_->lines.has_queued()) && std::chrono::steady_clock::now() < until)
    poll(std::chrono::milliseconds(10), {}, ignore);
}

std::uint64_t Transport::dropped() const {
  return control_->lines.dropped() + bulk_->lines.dropped();
}

std::size_t Transport::connections() const {
  return control_->lines.in_use() + bulk_->lines.in_use();
}

std::map<std::string, int> Transport::read_back_options() const {
  std::map<std::string, int> values;
  for (const Plane* plane : {control_.get(), bulk_.get()})
    for (const auto& [name, value] : plane->wire.read_back_options())
      values[(plane == control_.get() ? "control." : "bulk.") + name] = value;
  return values;
}

}  // namespace starling::daemon
