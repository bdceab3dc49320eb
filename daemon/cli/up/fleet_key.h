// FleetKey: the cluster key of the nodes that `starling up` starts. Each of them makes its own key,
// and signs its certificate with this one.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace starling::daemon {

class FleetKey {
 public:
  FleetKey() = default;  // none
  // In that folder, which exists: cluster.key, mode 0600. One that is there already is taken, and
  // stays; with `is_temporary` it goes with this object.
  static Result<FleetKey> in(const std::string& folder, bool is_temporary);
  FleetKey(FleetKey&& other) noexcept
      : path_(std::move(other.path_)), is_temporary_(std::exchange(other.is_temporary_, false)) {}
  FleetKey& operator=(FleetKey&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(is_temporary_, other.is_temporary_);
    return *this;
  }
  ~FleetKey();

  const std::string& path() const { return path_; }  // empty: none

 private:
  FleetKey(std::string path, bool is_temporary)
      : path_(std::move(path)), is_temporary_(is_temporary) {}

  std::string path_;
  bool is_temporary_ = false;
};

}  // namespace starling::daemon
