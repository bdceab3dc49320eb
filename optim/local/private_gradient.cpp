#include "optim/local/private_gradient.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/prng.h"
#include "optim/privacy/noise.h"

namespace starling::optim {
namespace {

Secret chance_key(const Options& options, std::uint64_t stream) {
  if (options.noise_key) return copy_secret(options.noise_key->bytes());
  Secret key(KeyStream::kKeySize);
  Prng prng = Prng::derive(options.seed, mix64(stream));
  for (std::size_t at = 0; at < key.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t number = prng.next();
    std::memcpy(key.bytes().data() + at, &number, sizeof number);
  }
  return key;
}

}  // namespace

template <class S>
PrivateGradient<S>::PrivateGradient(const Options& options, std::uint64_t stream)
    : clip_(options.clip),
      noise_(options.noise),
      batch_size_(options.batch_size),
      chance_(chance_key(options, stream)),
      ledger_(options.delta) {
  ENSURE(clip_ > 0, "a private gradient has a bound");
}

template <class S>
std::size_t PrivateGradient<S>::write(Objective<S>& objective, std::span<const S> x,
                                      std::span<S> g) {
  const std::size_t samples = objective.samples();
  const std::size_t expected = batch_size_ == 0 ? samples : std::min(batch_size_, samples);
  const double rate = static_cast<double>(expected) / static_cast<double>(samples);
  draw_samples(samples, rate, chance_, drawn_);
  const Clip clip{.bound = clip_, .divisor = static_cast<double>(expected)};
  const double sensitivity = objective.clipped_gradient(x, drawn_, clip, g);
  ENSURE(sensitivity > 0, "a model that clips gradients says how long one may be");
  if (noise_ > 0) add_noise(noise_ * sensitivity, chance_, g);
  ledger_.add({.rate = rate, .noise = noise_});
  return expected;
}

template <class S>
std::optional<PrivacySpent> PrivateGradient<S>::spent(std::uint64_t more) const {
  if (noise_ == 0) return std::nullopt;
  return ledger_.spent(more);
}

template class PrivateGradient<float>;
template class PrivateGradient<double>;

}  // namespace starling::optim
