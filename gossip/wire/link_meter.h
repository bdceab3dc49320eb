// LinkMeter: how long vectors take over a link, each way. Every message that is measured carries
// the sender's time, and hellos carry the last time heard of the other end and how long it was
// kept, so that each end knows the round trip and how the other clock stands beside its own (as NTP
// does):
//   round trip = (now - echo) - held ,   offset = sent + round trip / 2 - now .
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace starling::gossip {

// A node's time as it travels; 0 is none.
inline std::uint64_t stamp_of(Time time) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since.count(), 0)) + 1;
}

// What the two ends of a link know of each other's clocks.
class PeerClock {
 public:
  struct Stamps {
    std::uint64_t sent = 0;  // by the clock of the sender
    std::uint64_t echo = 0;  // the last one that the sender heard, by the clock of the receiver
    std::uint64_t held = 0;  // how long ago that was, in microseconds
  };

  Stamps stamps(Time now) const {
    return {stamp_of(now), heard_, heard_ > 0 ? stamp_of(now) - stamp_of(heard_at_) : 0};
  }
  void heard(Time now, const Stamps& stamps) {
    heard_ = stamps.sent;
    heard_at_ = now;
    const std::uint64_t at = stamp_of(now);
    if (stamps.sent == 0 || stamps.echo == 0 || stamps.echo + stamps.held > at) return;
    const auto trip = static_cast<std::int64_t>(at - stamps.echo - stamps.held);
    // The quicker of two answers says more of the clocks; the older one fades.
    trip_ = trip_ ? std::min(*trip_ + *trip_ / 8 + 1, trip) : trip;
    if (*trip_ == trip || !offset_)
      offset_ = static_cast<std::int64_t>(stamps.sent) + trip / 2 - static_cast<std::int64_t>(at);
  }
  std::optional<Duration> round_trip() const {
    return trip_ ? std::optional<Duration>(std::chrono::microseconds(*trip_)) : std::nullopt;
  }
  // From when the other end sent until now; nothing before the clocks are known.
  std::optional<Duration> since(Time now, std::uint64_t sent) const {
    if (!offset_ || sent == 0) return std::nullopt;
    const std::int64_t here = static_cast<std::int64_t>(sent) - *offset_;
    return std::chrono::microseconds(
        std::max<std::int64_t>(static_cast<std::int64_t>(stamp_of(now)) - here, 0));
  }

 private:
  std::uint64_t heard_ = 0;
  Time heard_at_{};
  std::optional<std::int64_t> trip_, offset_;  // microseconds; of the other clock ahead of this one
};

// Of the vectors that come over a link.
class LinkMeter {
 public:
  // `transit` without the time of a message that holds nothing.
  void came(std::size_t bytes, Duration transit) {
    transit_ = std::max<Duration>(transit, std::chrono::microseconds(1));
    const double rate = static_cast<double>(bytes) / seconds(transit_);
    rate_ = rate_ > 0 ? rate_ + (rate - rate_) / 4 : rate;
  }
  // Bytes per second, of late; 0 before the first.
  double rate() const { return rate_; }
  // Of the last vector.
  Duration transit() const { return transit_; }

 private:
  double rate_ = 0;
  Duration transit_{};
};

// Of what a node does: the share of the time in which it waits for the network alone, of late.
class NetworkShare {
 public:
  void add(Duration round, Duration network) {
    constexpr double kFade = 0.95;
    all_ = kFade * all_ + seconds(round);
    network_ = kFade * network_ + seconds(std::min(network, round));
    rounds_ = kFade * rounds_ + 1;
  }
  double value() const { return all_ > 0 ? network_ / all_ : 0; }
  // The waiting of one round, s.
  double per_round() const { return rounds_ > 0 ? network_ / rounds_ : 0; }

 private:
  double all_ = 0, network_ = 0, rounds_ = 0;
};

}  // namespace starling::gossip
