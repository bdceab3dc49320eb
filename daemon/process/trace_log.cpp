#include "daemon/process/trace_log.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace starling::daemon {

std::string_view name(TraceSpan::Kind kind) {
  return name_of({"mix", "evaluate", "compute", "encode", "send", "wait", "receive"}, kind);
}

void TraceLog::put(TraceSpan span) {
  if (span.to <= span.from) return;
  spans_.push_back(std::move(span));
  if (spans_.size() > kSpansLimit) spans_.pop_front();
}

void TraceLog::add(TraceSpan span) {
  const std::lock_guard lock(mutex_);
  put(std::move(span));
}

void TraceLog::add(const optim::Done& done) {
  using Kind = TraceSpan::Kind;
  const optim::Laps& laps = done.stats.laps;
  const std::lock_guard lock(mutex_);
  put({Kind::mix, laps.begun, laps.mixed, done.round});
  put({Kind::evaluate, laps.mixed, laps.evaluated, done.round});
  put({Kind::compute, laps.evaluated, laps.stepped, done.round});
  put({Kind::encode, laps.stepped, laps.encoded, done.round});
}

void TraceLog::add(const gossip::Span& span) {
  const bool is_wait = span.kind == gossip::Span::Kind::wait;
  add(TraceSpan{.kind = is_wait ? TraceSpan::Kind::wait : TraceSpan::Kind::receive,
                .from = span.from,
                .to = span.to,
                .round = span.round,
                .neighbor = span.neighbor,
                .bytes = span.bytes});
}

std::vector<TraceSpan> TraceLog::spans() const {
  std::unique_lock lock(mutex_);
  std::vector<TraceSpan> spans(spans_.begin(), spans_.end());
  lock.unlock();
  std::ranges::stable_sort(spans, {}, &TraceSpan::from);
  return spans;
}

}  // namespace starling::daemon
