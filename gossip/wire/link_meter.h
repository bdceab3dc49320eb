// LinkMeter: how long vectors take over a link, in each direction. Every measured message carries
// the sender's time. A hello also echoes the last time received from the peer and how long the
// sender has held it, so that each end computes the round trip and the offset of the peer's clock
// (as NTP does):
//   round trip = (now - echo) - held ,   offset = sent + round trip / 2 - now .
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace starling::gossip {

// A time of a node's clock as messages carry it, in microseconds; 0 means none.
inline std::uint64_t stamp_of(Time time) {
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(since.count(), 0)) + 1;
}

// The offset of the peer's clock, as measured at this end.
class PeerClock {
 public:
  struct Stamps {
    std::uint64_t sent = 0;  // the time of this message, by the clock of the sender
    std::uint64_t echo = 0;  // the last `sent` that came from the receiver; 0: none
    std::uint64_t held = 0;  // microseconds since it came
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
    // The shortest round trip measures the offset best. An old minimum grows by 1/8 with every
    // answer, so that a link that became slower is measured anew.
    trip_ = trip_ ? std::min(*trip_ + *trip_ / 8 + 1, trip) : trip;
    if (*trip_ == trip || !offset_)
      offset_ = static_cast<std::int64_t>(stamps.sent) + trip / 2 - static_cast<std::int64_t>(at);
  }
  std::optional<Duration> round_trip() const {
    return trip_ ? std::optional<Duration>(std::chrono::microseconds(*trip_)) : std::nullopt;
  }
  // The time from `sent`, by the peer's clock, until now; nothing while the offset is unknown.
  std::optional<Duration> since(Time now, std::uint64_t sent) const {
    if (!offset_ || sent == 0) return std::nullopt;
    const std::int64_t here = static_cast<std::int64_t>(sent) - *offset_;
    return std::chrono::microseconds(
        std::max<std::int64_t>(static_cast<std::int64_t>(stamp_of(now)) - here, 0));
  }

 private:
  std::uint64_t heard_ = 0;
  Time heard_at_{};
  std::optional<std::int64_t> trip_,
      offset_;  // in microseconds; the offset is how far the peer's clock is ahead
};

// The rate at which vectors arrive over a link.
class LinkMeter {
 public:
  // A vector of `bytes` arrived. `transit`: its time under way, less that of an empty message.
  void came(std::size_t bytes, Duration transit) {
    transit_ = std::max<Duration>(transit, std::chrono::microseconds(1));
    bytes_ = kFade * bytes_ + static_cast<double>(bytes);
    seconds_ = kFade * seconds_ + seconds(transit_);
  }
  // Bytes of recent vectors over the time that they were under way: a vector that seems to take no
  // time, because clocks are inexact, adds only its bytes. 0 before the first.
  double rate() const { return seconds_ > 0 ? bytes_ / seconds_ : 0; }
  // How long the last vector was under way.
  Duration transit() const { return transit_; }

 private:
  static constexpr double kFade = 0.75;

  double bytes_ = 0, seconds_ = 0;  // decaying sums over vectors
  Duration transit_{};
};

// The share of its time that a node spends waiting for the network, averaged over recent rounds.
class NetworkShare {
 public:
  void add(Duration round, Duration network) {
    constexpr double kFade = 0.95;
    all_ = kFade * all_ + seconds(round);
    network_ = kFade * network_ + seconds(std::min(network, round));
    rounds_ = kFade * rounds_ + 1;
  }
  double value() const { return all_ > 0 ? network_ / all_ : 0; }
  // Seconds of waiting for the network per round.
  double per_round() const { return rounds_ > 0 ? network_ / rounds_ : 0; }

 private:
  double all_ = 0, network_ = 0, rounds_ = 0;
};

}  // namespace starling::gossip
