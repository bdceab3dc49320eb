// LiveQuery: the frames of --watch on a terminal. Holds earlier documents' values, for rates and
// curves.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/cli/terminal/fleet_view.h"
#include "daemon/cli/terminal/frame.h"

namespace starling::daemon {

class LiveQuery {
 public:
  // Gets a further document of the same node; null if none.
  using Get = std::function<nlohmann::json(const std::string& target)>;
  explicit LiveQuery(Get get) : get_(std::move(get)) {}

  // `document` answers the command, as it did at `time_s`, which does not fall.
  Result<Frame> frame(std::string_view command, const nlohmann::json& document, double time_s,
                      Size size, Style style);

 private:
  Result<FleetView> view(std::string_view command, const nlohmann::json& document);
  void measure(FleetView& view, double time_s, std::optional<double> samples);

  Get get_;
  FleetRates rates_;
};

}  // namespace starling::daemon
