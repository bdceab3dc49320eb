#include "daemon/attach/loop_watch.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace starling::daemon {

void LoopWatch::begin(const Hello& hello, const TensorTable& table, bool is_corrected) {
  *this = {};
  optimizer_ = hello.optimizer;
  is_corrected_ = is_corrected;
  std::size_t begin = 0;
  for (const TrainerTensor& tensor : table.tensors()) {
    if (!tensor.is_exchanged()) continue;
    const std::size_t end = begin + tensor.numbers;
    if (tensor.role == TensorRole::averaged)
      tensors_.push_back({begin, end, tensor.name, tensor.is_frozen});
    begin = end;
  }
}

LoopWatch::Finding LoopWatch::end(const TrainerAnswer& answer, std::size_t count) {
  const std::uint64_t steps = answer.steps.value_or(count);
  has_ever_moved_ = has_ever_moved_ || has_moved_;
  const Fault fault = fault_of(answer, steps);
  if (fault != fault_) rounds_ = 0, steps_ = 0;
  fault_ = fault;
  ++rounds_;
  steps_ += count;
  Finding finding;
  if (fault == Fault::none && steps > 0 && has_moved_) finding.note = note_on_tensors();
  rounds_at_rest_ = answer.learning_rate == 0 ? rounds_at_rest_ + 1 : 0;
  if (rounds_at_rest_ == kRestRounds)
    finding.note =
        fmt::format("the learning rate of its trainer has been 0 for {} rounds", kRestRounds);
  const bool is_early = fault == Fault::no_step && steps_ < kStepsLeast;
  if (fault != Fault::none && !is_early) finding.fault = text_of(fault);
  finding.is_lasting = fault != Fault::none && rounds_ >= kRoundsLimit &&
                       (fault != Fault::no_step || steps_ >= kStepsLimit);
  has_moved_ = false;
  next_ = 0;
  return finding;
}

LoopWatch::Fault LoopWatch::fault_of(const TrainerAnswer& answer, std::uint64_t steps) {
  const bool is_still = should_move(answer) && !has_moved_;
  if (steps == 0 && answer.left_out > 0) return Fault::none;
  if (steps == 0 && has_moved_) return is_corrected_ ? Fault::elsewhere : Fault::none;
  if (steps == 0) return Fault::no_step;
  return is_still ? Fault::still : Fault::none;
}

// A loop whose loss stays the same may have come to its end, and one of rate 0 moves nothing.
bool LoopWatch::should_move(const TrainerAnswer& answer) {
  const double part = has_ever_moved_ ? kSlight : 0;
  const double rate = answer.learning_rate.value_or(most_rate_);
  most_rate_ = std::max(most_rate_, rate);
  const bool is_slow = answer.learning_rate && rate <= part * most_rate_;
  const auto before = std::exchange(loss_, answer.loss);
  if (!before || !loss_) return false;
  most_loss_ = std::max({most_loss_, std::abs(*before), std::abs(*loss_)});
  return !is_slow && std::abs(*loss_ - *before) > part * most_loss_;
}

std::string LoopWatch::text_of(Fault fault) const {
  if (fault == Fault::no_step)
    return fmt::format(
        "the optimizer that was handed over ({}) takes no step: optimizer.step() is missing, or a "
        "copy of the model is trained",
        optimizer_);
  if (fault == Fault::elsewhere)
    return fmt::format(
        "the tensors move, but not by the optimizer that was handed over ({}), whose steps are "
        "corrected",
        optimizer_);
  return fmt::format(
      "steps are taken and the loss changes, but no tensor that was attached moves ({}{}): a copy "
      "of the model is trained",
      tensors_.empty() ? "" : tensors_.front().name, tensors_.size() > 1 ? ", …" : "");
}

// What has not moved in the first rounds with steps; once.
std::string LoopWatch::note_on_tensors() {
  if (!is_naming() || ++tensor_rounds_ < kTensorRounds) return {};
  std::string names;
  std::size_t still = 0;
  for (const Watched& tensor : tensors_)
    if (!tensor.has_moved && ++still <= kNamedLimit) names += (still > 1 ? ", " : "") + tensor.name;
  if (still == 0) return {};
  return fmt::format(
      "{} of {} tensors have not moved in {} rounds of steps ({}{}): they were copied or replaced "
      "after attach, no optimizer steps them, or the loss does not depend on them",
      still, tensors_.size(), kTensorRounds, names, still > kNamedLimit ? ", …" : "");
}

}  // namespace starling::daemon
