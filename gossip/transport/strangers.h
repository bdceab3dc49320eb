// Strangers: accepted connections over which no frame has come. One that stays silent, or holds
// much of an unfinished frame, is closed, so that strangers do not take a node's descriptors.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/transport/wire.h"

namespace starling::gossip {

class Strangers {
 public:
  // A connection without a greeting is closed after this. Longer: strangers hold descriptors.
  static constexpr std::chrono::seconds kGreetingPatience{5};

  // `tcp` must outlive this.
  explicit Strangers(Tcp& tcp) : tcp_(tcp) {}

  // `address`: of the other end, for people.
  void add(Time now, int descriptor, std::string address) {
    all_[descriptor] = {now, std::move(address)};
  }
  // The address of one, which is forgotten; nothing: it is none.
  std::optional<std::string> take(int descriptor) {
    auto found = all_.extract(descriptor);
    return found ? std::optional(std::move(found.mapped().address)) : std::nullopt;
  }
  const std::string* address(int descriptor) const {
    const auto found = all_.find(descriptor);
    return found == all_.end() ? nullptr : &found->second.address;
  }
  std::size_t size() const { return all_.size(); }
  // Closes it at once, if it is one.
  void refuse(int descriptor) {
    if (all_.contains(descriptor)) tcp_.shut(descriptor);
  }
  // Closes those that are too old or hold more than `most` bytes, and adds to `full` what each of
  // these held.
  void look(Time now, std::int64_t most, std::vector<std::int64_t>& full) {
    std::erase_if(all_, [&](const auto& item) {
      const std::int64_t held = tcp_.flow(item.first).received_bytes;
      if (held <= most && now - item.second.since <= kGreetingPatience) return false;
      if (held > most) full.push_back(held);
      return tcp_.shut(item.first);
    });
  }
  // REQUIRES size() > 0.
  void close_oldest() {
    const auto oldest =
        std::ranges::min_element(all_, {}, [](const auto& item) { return item.second.since; });
    tcp_.shut(oldest->first);
    all_.erase(oldest);
  }

 private:
  struct Stranger {
    Time since;
    std::string address;
  };
  Tcp& tcp_;
  std::map<int, Stranger> all_;
};

}  // namespace starling::gossip
