#include "models/nets/class_tally.h"

#include <algorithm>

#include "models/linear/area_under_curve.h"

namespace starling::models {

template <class S>
void ClassTally::add(std::span<const S> outputs, std::span<const std::int32_t> labels) {
  if (labels.empty()) return;
  const std::size_t width = outputs.size() / labels.size();
  for (std::size_t r = 0; r < labels.size(); ++r) {
    const std::span<const S> z = outputs.subspan(r * width, width);
    const auto label = static_cast<std::size_t>(labels[r]);
    const std::size_t likeliest =
        width == 1 ? std::size_t{z[0] > 0}
                   : static_cast<std::size_t>(std::ranges::max_element(z) - z.begin());
    if (rare_ && label == rare_->place) {
      ++rare_rows_;
      rare_found_ += likeliest == label ? 1 : 0;
    }
    if (classes_ != 2) continue;
    scores_.push_back(static_cast<double>(width == 1 ? z[0] : z[1] - z[0]));
    is_second_.push_back(label == 1);
  }
}

void ClassTally::write(optim::Evaluation& evaluation) const {
  if (rare_) evaluation.rare = {rare_->name, rare_rows_, rare_found_};
  if (const auto ranked = area_under_curve(scores_, is_second_)) {
    evaluation.area = ranked->area;
    evaluation.pairs = ranked->pairs;
  }
}

template void ClassTally::add(std::span<const float>, std::span<const std::int32_t>);
template void ClassTally::add(std::span<const double>, std::span<const std::int32_t>);

}  // namespace starling::models
