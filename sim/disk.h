// Disk: what a node keeps from one life to the next, and the ways in which that goes wrong.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/wire/wire.h"

namespace starling::sim {

enum class DiskState { whole, lost, old };

class Disk {
 public:
  // A life takes the larger of the clock and one above what was saved, and saves it before it says
  // anything; one that no member believes does not count. So neither a clock that went back nor a
  // lost file alone makes the incarnation go back.
  std::uint64_t next_incarnation(std::uint64_t clock) const {
    const std::uint64_t saved = saved_.value_or(0);
    return std::max(saved <= gossip::latest_incarnation(clock) ? saved + 1 : 0, clock);
  }
  void save(std::uint64_t incarnation) {
    before_ = saved_;
    saved_ = incarnation;
    state_ = DiskState::whole;
  }
  void lose() {
    saved_.reset();
    ++losses_;
    state_ = DiskState::lost;
  }
  // What was saved before the last time comes back.
  void rewind() {
    saved_ = before_;
    state_ = DiskState::old;
  }
  DiskState state() const { return state_; }
  // By which others know a node again that they cannot dial; another one once all was lost.
  std::string mark() const { return fmt::format("-{}", losses_); }

  // ---- checkpoints
  // How long it takes to write one. What is being written when the node ends is lost.
  Duration write_time = std::chrono::milliseconds(5);
  // Why it writes none; empty: it does.
  std::string fault = {};
  // Of all lives, oldest first.
  std::vector<std::shared_ptr<const gossip::Checkpoint>> checkpoints = {};
  // Null: none is left.
  std::shared_ptr<const gossip::Checkpoint> newest() const {
    return checkpoints.empty() ? nullptr : checkpoints.back();
  }

 private:
  std::optional<std::uint64_t> saved_, before_;
  DiskState state_ = DiskState::whole;
  std::uint64_t losses_ = 0;
};

}  // namespace starling::sim
