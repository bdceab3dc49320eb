#include "daemon/rest/trace_json.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.h"

namespace starling::daemon {
namespace {

using nlohmann::json;
using Kind = TraceSpan::Kind;

constexpr int kTrainingTrack = 1, kIoTrack = 2, kRoundsTrack = 3, kFirstNeighborTrack = 10;

int track_of(Kind kind) {
  if (kind == Kind::send) return kIoTrack;
  return kind == Kind::wait ? kRoundsTrack : kTrainingTrack;
}

class Tracer {
 public:
  Tracer(const std::string& node, std::chrono::system_clock::time_point started)
      : process_(node_id(node).value % 1'000'000'000),
        started_us_(std::chrono::duration<double, std::micro>(started.time_since_epoch()).count()) {
    name_it("process_name", 0, node);
    name_it("thread_name", kTrainingTrack, "training thread");
    name_it("thread_name", kIoTrack, "I/O thread");
    name_it("thread_name", kRoundsTrack, "rounds");
  }

  void add(const TraceSpan& span) {
    json args = {{"round", span.round}};
    if (!span.neighbor.empty()) args["neighbor"] = span.neighbor;
    if (span.bytes > 0) args["bytes"] = span.bytes;
    if (span.kind == Kind::receive) return add_async(span, std::move(args));
    json event = event_of("X", name(span.kind), track_of(span.kind), span.from);
    event["dur"] = microseconds(span.to - span.from);
    event["args"] = std::move(args);
    put(std::move(event));
  }

  json document() {
    std::ranges::stable_sort(timed_, {}, &std::pair<double, json>::first);
    for (auto& [at, event] : timed_) events_.push_back(std::move(event));
    return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
  }

 private:
  static double microseconds(Duration duration) { return seconds(duration) * 1e6; }
  double at(Time time) const { return started_us_ + microseconds(time - Time{}); }

  void name_it(const char* what, int track, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process_},
                       {"tid", track},
                       {"args", {{"name", name}}}});
  }

  json event_of(const char* phase, std::string_view name, int track, Time time) const {
    return {{"ph", phase},    {"name", name},    {"cat", name},
            {"ts", at(time)}, {"pid", process_}, {"tid", track}};
  }

  void put(json event) {
    const double time = event["ts"];
    timed_.emplace_back(time, std::move(event));
  }

  void add_async(const TraceSpan& span, json args) {
    const auto [track, is_new] =
        tracks_.try_emplace(span.neighbor, kFirstNeighborTrack + static_cast<int>(tracks_.size()));
    if (is_new) name_it("thread_name", track->second, "from " + span.neighbor);
    ++last_async_;
    for (const char* phase : {"b", "e"}) {
      json event = event_of(phase, "receive", track->second, *phase == 'b' ? span.from : span.to);
      event["id"] = last_async_;
      if (*phase == 'b') event["args"] = args;
      put(std::move(event));
    }
  }

  std::uint64_t process_;
  double started_us_;
  json events_ = json::array();
  std::vector<std::pair<double, json>> timed_;
  std::map<std::string, int> tracks_;
  std::uint64_t last_async_ = 0;
};

}  // namespace

json trace_json(const std::string& node, const std::vector<TraceSpan>& spans,
                std::chrono::system_clock::time_point started) {
  Tracer tracer(node, started);
  for (const TraceSpan& span : spans) tracer.add(span);
  return tracer.document();
}

}  // namespace starling::daemon
