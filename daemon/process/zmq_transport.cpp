#include "daemon/process/zmq_transport.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "base/check.h"
#include "daemon/process/lock_test.h"
#include "daemon/process/log.h"
#include "daemon/process/memory.h"
#include "gossip/wire/connection_rules.h"

namespace starling::daemon {
namespace {

// After this many closed connections memory is given back. Larger: more unused memory, as after the
// start of a large fleet. Smaller: the allocator spends more time on it.
constexpr std::size_t kClosedMost = 64;

std::unique_ptr<ZapHandler> zap_handler(zmq::context_t& context, const gossip::Guard& guard) {
  if (!guard.key()) return nullptr;
  return std::make_unique<ZapHandler>(
      context, [&guard](const CurveKey& key) { return guard.is_barred(key, now()); });
}

}  // namespace

Outcome<std::unique_ptr<ZmqTransport>> ZmqTransport::bind(const Options& options) {
  if (options.credentials) TRY_DO(test_locks(*options.credentials));
  std::unique_ptr<ZmqTransport> transport(new ZmqTransport(options));
  TRY(transport->at_, transport->wire_.bind(options.listen, "listen.control"));
  const gossip::Guard& guard = transport->guard_;
  if (guard.key()) transport->answers_.emplace(transport->at_, guard.certificate());
  return transport;
}

ZmqTransport::ZmqTransport(const Options& options)
    : guard_(options.self, options.credentials, wall_clock),
      zap_(zap_handler(context_, guard_)),
      wire_(context_, guard_.key()),
      queues_(wire_, guard_, options.self, {options.shares.sending, options.shares.receiving}) {}

void ZmqTransport::take(const FrameHandler& handler) {
  using gossip::Wire;
  const Time now = daemon::now();
  queues_.follow(now);
  for (const Wire::Socket socket : Wire::kSockets)
    for (std::size_t k = 0; k < kBatch; ++k) {
      auto arrived = wire_.receive(socket);
      if (!arrived) queues_.all_read(socket);
      if (!arrived) break;
      if (const gossip::Connection* from = queues_.hear(*arrived, now))
        handler({from->plane, *from->peer, arrived->header, std::move(arrived->payload)});
    }
  if (queues_.has_queued()) queues_.follow(daemon::now());
}

// The longest wait before the next take(). is_readable() consumes ZeroMQ's report of room in a full
// queue, too, which no descriptor repeats: so queued messages are tried after it.
std::chrono::milliseconds ZmqTransport::patience() {
  const Time now = daemon::now();
  is_readable_ = wire_.is_readable();
  if (!is_readable_ && queues_.has_queued()) {
    queues_.follow(now);
    is_readable_ = wire_.is_readable();
  }
  if (is_readable_) return {};
  const Time next = queues_.deadline(now);
  if (next == kNever) return gossip::kWatchEvery;
  return std::chrono::ceil<std::chrono::milliseconds>(next - now);
}

// ZeroMQ's descriptors are edge-triggered, so patience() queries the sockets before the wait.
void ZmqTransport::poll(Duration timeout, std::span<const int> wakes, const FrameHandler& handler) {
  std::vector<pollfd> items;
  const auto wait_for = [&items](int descriptor) { items.push_back({descriptor, POLLIN, 0}); };
  std::ranges::for_each(wire_.descriptors(), wait_for);
  std::ranges::for_each(wakes, wait_for);
  if (answers_) wait_for(answers_->descriptor());
  if (zap_) wait_for(zap_->descriptor());
  auto wait = std::min({std::chrono::ceil<std::chrono::milliseconds>(timeout),
                        std::chrono::milliseconds(gossip::kWatchEvery), patience()});
  if (zap_ && zap_->is_readable()) wait = {};
  const int ready =
      ::poll(items.data(), items.size(), static_cast<int>(std::max<std::int64_t>(wait.count(), 0)));
  ENSURE(ready >= 0 || errno == EINTR, "descriptors can be waited for");
  if (zap_) zap_->answer();
  if (answers_) answers_->answer();
  const bool is_told = std::ranges::any_of(std::span(items).first(ZmqWire::kDescriptors),
                                           [](const pollfd& item) { return item.revents != 0; });
  if (is_told || is_readable_ || queues_.has_queued()) take(handler);
  const Time now = daemon::now();
  if (now < next_watch_) return;
  next_watch_ = now + gossip::kWatchEvery;
  const gossip::Connections::Looked looked = queues_.look(now);
  for (const std::int64_t held : looked.full) {
    log::warning("closed a connection that held {} MiB of an unfinished message", held >> 20);
    handler({});
  }
  closed_ += looked.closed;
  if (looked.full.empty() && closed_ < kClosedMost) return;
  closed_ = 0;
  give_back();
}

void ZmqTransport::flush(Duration timeout) {
  const auto ignore = [](const gossip::Received&) {};
  const Time until = now() + timeout;
  while (has_queued() && now() < until) poll(std::chrono::milliseconds(10), {}, ignore);
}

}  // namespace starling::daemon
