#include "daemon/attach/external_objective.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace starling::daemon {
namespace {

constexpr char kGone[] = "the trainer is gone";

}  // namespace

optim::Evaluation evaluation_of(const Metrics& metrics, double loss) {
  return {.loss = metrics.loss.value_or(loss), .accuracy = metrics.accuracy, .rmse = metrics.rmse};
}

template <class S>
double ExternalObjective<S>::refuse(std::string reason) {
  refusal_ = std::move(reason);
  return std::numeric_limits<double>::quiet_NaN();
}

template <class S>
double ExternalObjective<S>::loss_and_gradient(std::span<const S> x,
                                               std::span<const std::uint32_t> batch,
                                               std::span<S> gradient) {
  refusal_.clear();
  std::ranges::fill(gradient, S{0});
  const auto trainer = port_->await({});
  if (!trainer) return refuse(kGone);
  const Hello& hello = trainer->hello;
  if (batch.size_bytes() > hello.batch.bytes)
    return refuse(fmt::format("the trainer has room for {} samples of a batch; it needs {}",
                              hello.batch.bytes / sizeof(std::uint32_t), batch.size()));
  write_vector<S>(trainer->table, x, trainer->segment.at(hello.values));
  if (!batch.empty())
    std::memcpy(trainer->segment.at(hello.batch).data(), batch.data(), batch.size_bytes());
  const auto answer = port_->ask(*trainer, GradientRequest{.batch = batch.size()});
  if (!answer) return refuse(kGone);
  if (!answer->refusal.empty()) return refuse("the trainer: " + answer->refusal);
  if (!answer->loss) return refuse("the trainer gave no finite loss");
  const S weight = static_cast<S>(data_->weight());
  for_each_tile<S>(trainer->table, trainer->segment.at(hello.gradient),
                   [&](std::size_t first, std::span<const S> values) {
                     std::ranges::transform(values, gradient.subspan(first).begin(),
                                            [weight](S value) { return weight * value; });
                   });
  return loss_ = *answer->loss;
}

template <class S>
optim::Evaluation ExternalObjective<S>::evaluate(std::span<const S> x, std::size_t limit) {
  const auto trainer = port_->await({});
  if (!trainer || !trainer->hello.evaluates) return evaluation_of(port_->metrics(), loss_);
  write_vector<S>(trainer->table, x, trainer->segment.at(trainer->hello.values));
  const auto answer = port_->ask(*trainer, EvaluateRequest{limit});
  if (!answer || !answer->refusal.empty()) return evaluation_of(port_->metrics(), loss_);
  return evaluation_of({answer->loss, answer->accuracy, answer->rmse}, loss_);
}

template class ExternalObjective<float>;
template class ExternalObjective<double>;

}  // namespace starling::daemon
