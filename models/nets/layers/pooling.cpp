// pool: the largest value of each square of pixels, channel by channel. Rows and columns of pixels
// that fill no square are left out. Of equal values the first gets the derivative.
#include <algorithm>
#include <vector>

#include "models/linear/kernels.h"
#include "models/nets/layers/rows.h"

namespace starling::models {
namespace {

constexpr std::size_t kPoolLimit = 31;

template <class S>
class Pooling final : public Layer<S> {
 public:
  explicit Pooling(const LayerPlan& plan)
      : squares_{.height = plan.in.image->height,
                 .width = plan.in.image->width,
                 .channels = plan.in.image->channels,
                 .side = plan.spec.numbers[0]},
        row_(squares_.width * squares_.channels) {}

  void forward(const Pass<S>& pass, Mode) override {
    take_largest(pass.rows, squares_, pass.inputs, row_.data(), pass.outputs);
  }

  void backward(const Pass<S>& pass, const Derivatives<S>& by) override {
    if (by.inputs)
      give_largest(pass.rows, squares_, pass.inputs, pass.outputs, by.outputs, by.inputs);
  }

 private:
  Squares squares_;
  std::vector<S> row_;  // a buffer
};

Result<SampleShape> fit_pooling(const LayerSpec& spec, const SampleShape& in) {
  const std::size_t side = spec.numbers[0];
  if (!in.image) return fail("gets {} numbers without an order; expected images", in.size);
  const auto [height, width, channels] = *in.image;
  if (std::min(height, width) < side)
    return fail("gets images of {} x {}; expected at least {} x {}", height, width, side, side);
  return SampleShape(
      ImageShape{.height = height / side, .width = width / side, .channels = channels});
}

}  // namespace

LayerRow pooling_row() {
  return {.name = "pool",
          .help = "the largest value of each square of pixels",
          .numbers = {{"SIZE", kPoolLimit}},
          .fit = fit_pooling,
          .tensors = [](const LayerPlan&) { return std::vector<LayerTensor>(); },
          .make = maker_of<Pooling>()};
}

}  // namespace starling::models
