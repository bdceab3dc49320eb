#include "daemon/cli/ask/live_query.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "daemon/cli/ask/fleet_documents.h"
#include "daemon/cli/ask/present.h"

namespace starling::daemon {

using nlohmann::json;

Result<FleetView> LiveQuery::view(std::string_view command, const json& document) {
  if (command == "status") return view_of_node(document);
  return view_of_fleet(document, get_("/v1/members"), get_("/v1/status"));
}

// The nodes' own rates are better than those measured here.
void LiveQuery::measure(FleetView& view, double time_s, std::optional<double> samples) {
  rates_.add(time_s, view.nodes, samples);
  view.rounds_per_s = rates_.rounds_per_s();
  if (!view.samples_per_s) view.samples_per_s = rates_.samples_per_s();
}

Result<Frame> LiveQuery::frame(std::string_view command, const json& document, double time_s,
                               Size size, Style style) {
  TRY_DO(expect_answer(command, document));
  if (command != "status" && command != "fleet") {
    TRY(const std::string text, present(command, document));
    return draw_text(text, size, style);
  }
  TRY(FleetView seen, view(command, document));
  const bool is_status = command == "status";
  measure(seen, time_s, is_status ? samples_of(document) : std::nullopt);
  Frame frame = draw(seen, size, style);
  if (!is_status || frame.size() + 2 >= size.rows) return frame;
  // The rest of the status below; its sentence stands above.
  json rest = document;
  rest.erase("summary");
  TRY(const std::string text, present(command, rest));
  frame.emplace_back();
  const Size below{size.columns, size.rows - frame.size()};
  std::ranges::move(draw_text(text, below, style), std::back_inserter(frame));
  return frame;
}

}  // namespace starling::daemon
