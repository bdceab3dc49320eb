// dense: every output is a weighted sum of all inputs.
//   Z = X W + b,  A = relu(Z)
// and backwards, with D the derivative by Z: dW = X^T D, db = column sums of D, dX = D W^T.
// Parameters: W (inputs x outputs, row-major), b; no b without bias.
#include <algorithm>

#include "models/linear/gemm.h"
#include "models/linear/kernels.h"
#include "models/nets/layers/rows.h"

namespace starling::models {
namespace {

constexpr std::size_t kUnitsLimit = 65'536;

template <class S>
class Dense final : public Layer<S> {
 public:
  explicit Dense(const LayerPlan& plan)
      : inputs_(plan.in.size), outputs_(plan.out.size), relu_(plan.relu), bias_(plan.bias) {}

  void forward(const Pass<S>& pass, Mode) override {
    gemm({.rows = pass.rows, .columns = outputs_, .inner = inputs_}, pass.inputs, pass.parameters,
         pass.outputs);
    if (bias_)
      add_bias({.rows = pass.rows, .columns = outputs_}, relu_,
               pass.parameters + inputs_ * outputs_, pass.outputs);
  }

  void backward(const Pass<S>& pass, const Derivatives<S>& by) override {
    const Extent extent{.rows = pass.rows, .columns = outputs_};
    if (relu_) mask_relu(extent, pass.outputs, by.outputs);
    if (by.squares)
      add_squares(pass, by);
    else
      add_gradient(pass, by);
    if (by.inputs)
      gemm({.rows = pass.rows, .columns = inputs_, .inner = outputs_, .b_transposed = true},
           by.outputs, pass.parameters, by.inputs);
  }

 private:
  void add_gradient(const Pass<S>& pass, const Derivatives<S>& by) {
    gemm({.rows = inputs_,
          .columns = outputs_,
          .inner = pass.rows,
          .a_transposed = true,
          .accumulate = !by.first},
         pass.inputs, by.outputs, by.parameters);
    if (!bias_) return;
    S* const biases = by.parameters + inputs_ * outputs_;
    if (by.first) std::fill_n(biases, outputs_, S{0});
    add_column_sums({.rows = pass.rows, .columns = outputs_}, by.outputs, biases);
  }

  // ||x d^T||^2 + ||d||^2 = ||d||^2 (||x||^2 + 1) for the inputs x of a row and its derivative d by
  // the outputs (Goodfellow: Efficient per-example gradient computations, 2015).
  void add_squares(const Pass<S>& pass, const Derivatives<S>& by) {
    for (std::size_t r = 0; r < pass.rows; ++r)
      by.squares[r] += sum_of_squares(by.outputs + r * outputs_, outputs_) *
                       (sum_of_squares(pass.inputs + r * inputs_, inputs_) + (bias_ ? 1 : 0));
  }

  std::size_t inputs_, outputs_;
  bool relu_, bias_;
};

std::vector<LayerTensor> dense_tensors(const LayerPlan& plan) {
  std::vector<LayerTensor> tensors{
      {.name = "weight", .extents = {plan.in.size, plan.out.size}, .fan_in = plan.in.size}};
  if (plan.bias) tensors.push_back({.name = "bias", .extents = {plan.out.size}});
  return tensors;
}

}  // namespace

LayerRow dense_row() {
  return {.name = "dense",
          .help = "all inputs to each unit, and relu",
          .numbers = {{"UNITS", kUnitsLimit}},
          .relu = Relu::own,
          .fit = [](const LayerSpec& spec, const SampleShape&) -> Result<SampleShape> {
            return SampleShape(spec.numbers[0]);
          },
          .tensors = dense_tensors,
          .make = maker_of<Dense>()};
}

}  // namespace starling::models
