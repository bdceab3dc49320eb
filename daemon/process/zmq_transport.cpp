#include "daemon/process/zmq_transport.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "base/check.h"
#include "daemon/process/lines.h"
#include "daemon/process/lock_test.h"
#include "daemon/process/wire.h"

namespace starling::daemon {

// One plane: its sockets, and what waits for whom.
class ZmqTransport::Plane {
 public:
  Plane(zmq::context_t& context, Guard& guard, gossip::Plane plane, NodeId self,
        Conversations::Limits limits)
      : wire(context, plane, guard.key()), lines(wire, guard, plane, self, limits), plane_(plane) {}

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
    if (lines.has_queued()) lines.follow(Conversation::Clock::now());
  }
  // Whether there is something to do though no descriptor has told so since patience().
  bool is_due() const { return is_readable_ || lines.has_queued(); }
  // How long to wait at most before the next take(). To ask what can be read takes ZeroMQ's news of
  // room in full queues, too, which no descriptor tells again: so what waits is tried in between.
  std::chrono::milliseconds patience() {
    const auto now = std::chrono::steady_clock::now();
    is_readable_ = wire.is_readable();
    if (!is_readable_ && lines.has_queued()) {
      lines.follow(now);
      is_readable_ = wire.is_readable();
    }
    if (is_readable_) return {};
    const auto next = lines.deadline(now);
    if (next == decltype(next)::max()) return kWatchEvery;
    return std::chrono::ceil<std::chrono::milliseconds>(next - now);
  }
  void look(const FrameHandler& handler) {
    for (std::size_t n = lines.look(Conversation::Clock::now()); n > 0; --n)
      handler({.plane = plane_});
  }

  Wire wire;
  Lines lines;
  Endpoint at;

 private:
  gossip::Plane plane_;
  bool is_readable_ = false;
};

Result<std::unique_ptr<ZmqTransport>> ZmqTransport::bind(const Options& options) {
  auto guard = std::make_unique<Guard>(options.self, options.credentials);
  if (options.credentials) TRY_DO(test_locks(*options.credentials));
  std::unique_ptr<ZmqTransport> transport(new ZmqTransport(std::move(guard)));
  TRY_DO(transport->open_door(options));
  return transport;
}

ZmqTransport::ZmqTransport(std::unique_ptr<Guard> guard)
    : guard_(std::move(guard)), context_(std::make_shared<zmq::context_t>(1)) {}

Result<void> ZmqTransport::open_door(const Options& options) {
  const Conversations::Limits limits{options.shares.sending / 2, options.shares.receiving};
  const bool has_keys = guard_->key() != nullptr;
  if (has_keys)
    zap_ = std::make_unique<ZapHandler>(*context_, [guard = guard_.get()](const CurveKey& key) {
      return guard->is_barred(key, Guard::Clock::now());
    });
  const auto make = [&](gossip::Plane plane) {
    return std::make_unique<Plane>(*context_, *guard_, plane, options.self, limits);
  };
  control_ = make(gossip::Plane::control);
  bulk_ = make(gossip::Plane::bulk);
  TRY(control_->at, control_->wire.bind(options.control, "listen.control"));
  TRY(bulk_->at, bulk_->wire.bind(options.bulk, "listen.bulk"));
  if (has_keys)
    for (const Plane* plane : {control_.get(), bulk_.get()})
      answers_.emplace_back(plane->at, guard_->certificate());
  return {};
}

ZmqTransport::~ZmqTransport() = default;

ZmqTransport::Plane& ZmqTransport::of(gossip::Plane plane) const {
  return plane == gossip::Plane::control ? *control_ : *bulk_;
}

Endpoint ZmqTransport::control() const {
  return control_->at;
}
Endpoint ZmqTransport::bulk() const {
  return bulk_->at;
}

void ZmqTransport::reach(NodeId node, gossip::Plane plane, const std::optional<Address>& at) {
  if (at)
    of(plane).lines.reach(node, *at);
  else
    of(plane).lines.forget(node);
}

void ZmqTransport::open(NodeId node, gossip::Plane plane) {
  of(plane).lines.open(node);
}

void ZmqTransport::send(const Target& to, gossip::Plane plane, gossip::Frames frames) {
  of(plane).lines.send(to, std::move(frames));
}

bool ZmqTransport::answer(NodeId to, gossip::Plane plane, gossip::Frames frames) {
  return of(plane).lines.answer(to, std::move(frames));
}

void ZmqTransport::hang_up(const Target& from, gossip::Plane plane) {
  of(plane).lines.hang_up(from);
}

// ZeroMQ's descriptors tell that something has changed, once; so the sockets are asked first.
void ZmqTransport::poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler) {
  std::vector<pollfd> items;
  auto wait = std::min(std::chrono::ceil<std::chrono::milliseconds>(timeout), kWatchEvery);
  for (Plane* plane : {control_.get(), bulk_.get()}) {
    for (const int descriptor : plane->wire.descriptors()) items.push_back({descriptor, POLLIN, 0});
    wait = std::min(wait, plane->patience());
  }
  for (const int wake : wakes) items.push_back({wake, POLLIN, 0});
  for (const KeyAnswers& answers : answers_) items.push_back({answers.descriptor(), POLLIN, 0});
  if (zap_) items.push_back({zap_->descriptor(), POLLIN, 0});
  if (zap_ && zap_->is_readable()) wait = {};
  const int ready =
      ::poll(items.data(), items.size(), static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
  ENSURE(ready >= 0 || errno == EINTR, "descriptors can be waited for");
  if (zap_) zap_->answer();
  for (KeyAnswers& answers : answers_) answers.answer();
  auto first = items.begin();
  for (Plane* plane : {control_.get(), bulk_.get()}) {
    const auto last = first + Wire::kDescriptors;
    const bool is_told = std::any_of(first, last, [](const pollfd& item) { return item.revents; });
    if (is_told || plane->is_due()) plane->take(handler);
    first = last;
  }
  if (std::chrono::steady_clock::now() >= next_watch_) watch(handler);
}

void ZmqTransport::watch(const FrameHandler& handler) {
  next_watch_ = std::chrono::steady_clock::now() + kWatchEvery;
  for (Plane* plane : {control_.get(), bulk_.get()}) plane->look(handler);
  for (const NodeId peer : control_->lines.take_cut())
    bulk_->lines.renew(peer, std::chrono::steady_clock::now());
}

bool ZmqTransport::has_queued() const {
  return bulk_->lines.has_queued();
}

void ZmqTransport::flush(Duration timeout) {
  const auto ignore = [](const gossip::Received&) {};
  const auto until = std::chrono::steady_clock::now() + timeout;
  while ((has_queued() || control_->lines.has_queued()) && std::chrono::steady_clock::now() < until)
    poll(std::chrono::milliseconds(10), {}, ignore);
}

std::uint64_t ZmqTransport::dropped() const {
  return control_->lines.dropped() + bulk_->lines.dropped();
}

std::size_t ZmqTransport::connections() const {
  return control_->lines.in_use() + bulk_->lines.in_use();
}

std::map<std::string, int> ZmqTransport::read_back_options() const {
  std::map<std::string, int> values;
  for (const Plane* plane : {control_.get(), bulk_.get()})
    for (const auto& [name, value] : plane->wire.read_back_options())
      values[(plane == control_.get() ? "control." : "bulk.") + name] = value;
  return values;
}

}  // namespace starling::daemon
