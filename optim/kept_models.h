// KeptModels: the models of earlier evaluations, with one of which a run may end; see Job::keeps. A
// learner that measures by itself does so during its steps, and measures what they began with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "optim/job.h"
#include "optim/local/learner.h"

namespace starling::optim {

template <class S>
class KeptModels {
 public:
  // Steps of the job begin with x.
  void begin_steps(const Job& job, std::span<const S> x) {
    if (job.keeps && (!has_stepped_ || count_)) begun_.assign(x.begin(), x.end());
  }
  void end_steps(const Job& job, const Report& report) {
    has_stepped_ = true;
    const auto before = std::exchange(count_, report.measurements);
    if (!count_) is_earlier_ = false;
    if (!count_ || *count_ == before.value_or(0)) return;
    is_earlier_ = true;
    round_ = round_before(job);
    std::swap(measured_, begun_);
  }
  // The job, whose model is x, has this evaluation: says of which round it is, and keeps the model.
  void add(const Job& job, std::span<const S> x, Evaluation& evaluation) {
    evaluation.round = is_earlier_ ? round_ : round_before(job);
    if (!job.keeps) return;
    std::erase_if(models_, [&](const auto& kept) {
      return std::ranges::find(*job.keeps, kept.first) == job.keeps->end();
    });
    models_[evaluation.round] = is_earlier_ ? measured_ : std::vector<S>(x.begin(), x.end());
  }
  // By round.
  const std::map<std::uint64_t, std::vector<S>>& models() const { return models_; }

 private:
  static std::uint64_t round_before(const Job& job) { return job.round > 0 ? job.round - 1 : 0; }

  std::map<std::uint64_t, std::vector<S>> models_;
  bool has_stepped_ = false;
  std::optional<std::uint64_t> count_;  // as the last steps reported it
  // Of the learner's own last measurement, if it has made one.
  bool is_earlier_ = false;
  std::uint64_t round_ = 0;
  std::vector<S> measured_, begun_;  // begun_: with which the last steps began
};

}  // namespace starling::optim
