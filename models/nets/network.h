// Network: layers one after the other, and a loss on the outputs of the last. Of one fully
// connected layer it is linear regression, logistic regression or softmax regression, after its
// loss.
//
// Parameters in memory: those of the first layer, of the second, …; see tensors().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/linear/loss.h"
#include "models/nets/network_shape.h"

namespace starling::models {

// Rows of inputs, row-major, with their labels or targets.
template <class S>
struct Block {
  std::size_t rows = 0;
  const S* inputs = nullptr;
  Truth<S> truth;
};

template <class S>
class Network {
 public:
  // REQUIRES layers that fit.
  explicit Network(NetworkShape shape);

  const NetworkShape& shape() const { return shape_; }
  std::size_t dimension() const { return dimension_; }
  // Numbers of the largest layer for one row, or of the inputs.
  std::size_t widest() const { return widest_; }
  // Zero for a single layer, where every start has the same limit. Otherwise weights are normal of
  // variance 2 / fan-in (He, Zhang, Ren, Sun: Delving deep into rectifiers, 2015), 1 / fan-in for
  // the last layer, and the other parameters what their tensors say.
  void initialize(std::span<S> x, std::uint64_t seed) const;

  // The outputs for the block's inputs, rows x outputs, row-major, before any loss; valid until the
  // next call.
  std::span<const S> outputs(std::span<const S> x, const Block<S>& block);
  // Of the last outputs(), which it overwrites.
  Score score_outputs(const Block<S>& block) { return take_outputs(block, S{1}); }
  Score score(std::span<const S> x, const Block<S>& block);
  // Adds `scale` times the gradient of the block's summed loss; overwrites instead if `first`.
  // `scale` is one over the rows of the batch that the block is of.
  Score add_gradient(std::span<const S> x, const Block<S>& block, S scale, bool first,
                     std::span<S> gradient);
  // The same without scale, but with the gradient of each row scaled to a norm of at most `bound`;
  // one whose norm is not finite counts as zero (Li et al.: Large language models can be strong
  // differentially private learners, 2021, for the second way back in place of a gradient for each
  // row). REQUIRES layers that treat each row by itself.
  Score add_clipped_gradient(std::span<const S> x, const Block<S>& block, double bound, bool first,
                             std::span<S> gradient);
  // l2 / 2 times the squares of the weights, whose gradient is added.
  double add_penalty(std::span<const S> x, double l2, std::span<S> gradient) const;

 private:
  struct Level {
    std::unique_ptr<Layer<S>> layer;
    LayerPlan plan;
    std::size_t offset = 0;     // of its parameters
    std::vector<S> values;      // of its outputs; block rows x outputs
    std::vector<S> derivative;  // of the loss by these; empty for the last level
  };

  // Calls see(tensor, offset) for each of a level's tensors.
  void for_each_tensor(const Level& level, auto see) const;
  Pass<S> pass(std::size_t level, std::span<const S> x, const Block<S>& block);
  void forward(std::span<const S> x, const Block<S>& block, Mode mode);
  // The loss of what forward() gave, whose derivative takes its place.
  Score take_outputs(const Block<S>& block, S scale);
  // From the derivative by the outputs, in the place of the last values, down to the first level.
  // `way(offset)`: what a level writes beside the derivative by its inputs.
  void pass_down(std::span<const S> x, const Block<S>& block, auto way);

  NetworkShape shape_;
  std::vector<Level> levels_;
  std::size_t dimension_ = 0;
  std::size_t widest_ = 0;
  std::vector<double> squares_;  // of the norms of a block's rows; a buffer
  std::vector<S> by_outputs_;    // a buffer
};

extern template class Network<float>;
extern template class Network<double>;

}  // namespace starling::models
