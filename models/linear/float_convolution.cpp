#include "models/linear/float_convolution.h"

#include <algorithm>
#include <functional>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "models/linear/one_thread.h"

namespace starling::models {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// Numbers of rows whose primitives are kept: of batches and of what is evaluated.
constexpr std::size_t kPrimitivesLimit = 8;

dnnl::engine& processor() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::desc numbers(memory::dims extents, Tag tag) {
  return {std::move(extents), memory::data_type::f32, tag};
}

memory::dim as_dim(std::size_t size) {
  return static_cast<memory::dim>(size);
}

// Ours, wherever it is: the caller sets the address. oneDNN takes no pointers to const.
memory unplaced(const memory::desc& shape) {
  return {shape, processor(), nullptr};
}

void place(memory& where, const float* numbers) {
  where.set_data_handle(const_cast<float*>(numbers));
}

dnnl::stream& stream() {
  static thread_local dnnl::stream stream(processor());
  return stream;
}

void reorder(memory& from, memory& to) {
  dnnl::reorder(from, to).execute(stream(), from, to);
}

// It refuses only impossible shapes.
void without_error(auto act) {
  try {
    act();
  } catch (const dnnl::error&) {
    ENSURE(false, "oneDNN has a convolution for every shape");
  }
}

// For a shape and a number of rows. oneDNN chooses how weights lie, apart for each primitive.
struct Primitives {
  Primitives(const ConvolutionShape& shape, std::size_t rows);

  memory images, outputs, weights, biases;  // the caller's
  dnnl::convolution_forward forward;
  dnnl::convolution_backward_data backward;
  dnnl::convolution_backward_weights gradient;
  memory forward_weights, backward_weights, gradient_weights;
};

Primitives::Primitives(const ConvolutionShape& shape, std::size_t rows) {
  const auto of_images = [&](const ImageShape& image) {
    return numbers(
        {as_dim(rows), as_dim(image.channels), as_dim(image.height), as_dim(image.width)},
        Tag::nhwc);
  };
  const memory::dims kernels{as_dim(shape.channels), as_dim(shape.image.channels),
                             as_dim(shape.kernel), as_dim(shape.kernel)};
  const memory::dims stride{1, 1}, padding{0, 0};
  const memory::desc from = of_images(shape.image), to = of_images(shape.outputs());
  const memory::desc any = numbers(kernels, Tag::any);
  const memory::desc bias = numbers({as_dim(shape.channels)}, Tag::a);
  constexpr auto kDirect = dnnl::algorithm::convolution_direct;
  dnnl::primitive_attr attributes;
  if (shape.relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(relu);
  }
  const dnnl::convolution_forward::primitive_desc ahead(
      {dnnl::prop_kind::forward_training, kDirect, from, any, bias, to, stride, padding, padding},
      attributes, processor());
  const dnnl::convolution_backward_data::primitive_desc back(
      {kDirect, from, any, to, stride, padding, padding}, processor(), ahead);
  const dnnl::convolution_backward_weights::primitive_desc learn(
      {kDirect, from, any, bias, to, stride, padding, padding}, processor(), ahead);
  forward = dnnl::convolution_forward(ahead);
  backward = dnnl::convolution_backward_data(back);
  gradient = dnnl::convolution_backward_weights(learn);
  images = unplaced(from);
  outputs = unplaced(to);
  weights = unplaced(numbers(kernels, Tag::oihw));
  biases = unplaced(bias);
  forward_weights = memory(ahead.weights_desc(), processor());
  backward_weights = memory(back.weights_desc(), processor());
  gradient_weights = memory(learn.diff_weights_desc(), processor());
}

}  // namespace

struct FloatConvolution::State {
  Primitives& at(std::size_t rows) {
    stay_on_this_thread();
    const auto found = primitives.find(rows);
    if (found != primitives.end()) return found->second;
    if (primitives.size() == kPrimitivesLimit) primitives.clear();
    return primitives.emplace(rows, Primitives(shape, rows)).first->second;
  }

  ConvolutionShape shape;
  std::map<std::size_t, Primitives> primitives = {};  // by rows
  std::vector<float> added = {};                      // a gradient that is added to another
};

FloatConvolution::FloatConvolution(const ConvolutionShape& shape)
    : state_(std::make_unique<State>(State{.shape = shape})) {}

FloatConvolution::~FloatConvolution() = default;

void FloatConvolution::forward(std::size_t rows, const float* images, const float* parameters,
                               float* outputs) {
  without_error([&] {
    Primitives& p = state_->at(rows);
    place(p.images, images);
    place(p.outputs, outputs);
    place(p.weights, parameters);
    place(p.biases, parameters + state_->shape.weights());
    reorder(p.weights, p.forward_weights);
    p.forward.execute(stream(), {{DNNL_ARG_SRC, p.images},
                                 {DNNL_ARG_WEIGHTS, p.forward_weights},
                                 {DNNL_ARG_BIAS, p.biases},
                                 {DNNL_ARG_DST, p.outputs}});
  });
}

void FloatConvolution::backward(std::size_t rows, const float* delta, const float* parameters,
                                float* below) {
  without_error([&] {
    Primitives& p = state_->at(rows);
    place(p.outputs, delta);
    place(p.images, below);
    place(p.weights, parameters);
    reorder(p.weights, p.backward_weights);
    p.backward.execute(stream(), {{DNNL_ARG_DIFF_DST, p.outputs},
                                  {DNNL_ARG_WEIGHTS, p.backward_weights},
                                  {DNNL_ARG_DIFF_SRC, p.images}});
  });
}

// oneDNN overwrites, so what is added goes through a buffer.
void FloatConvolution::add_gradient(std::size_t rows, const float* images, const float* delta,
                                    bool first, float* gradient) {
  const ConvolutionShape& shape = state_->shape;
  const std::size_t count = shape.weights() + shape.channels;
  if (!first) state_->added.resize(count);
  float* const written = first ? gradient : state_->added.data();
  without_error([&] {
    Primitives& p = state_->at(rows);
    place(p.images, images);
    place(p.outputs, delta);
    place(p.weights, written);
    place(p.biases, written + shape.weights());
    p.gradient.execute(stream(), {{DNNL_ARG_SRC, p.images},
                                  {DNNL_ARG_DIFF_DST, p.outputs},
                                  {DNNL_ARG_DIFF_WEIGHTS, p.gradient_weights},
                                  {DNNL_ARG_DIFF_BIAS, p.biases}});
    reorder(p.gradient_weights, p.weights);
  });
  if (!first) std::transform(gradient, gradient + count, written, gradient, std::plus<>());
}

}  // namespace starling::models
