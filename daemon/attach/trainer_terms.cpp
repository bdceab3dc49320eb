#include "daemon/attach/trainer_terms.h"

namespace starling::daemon {
namespace {

using optim::AlgorithmRow, optim::LoopDuty;
using Allowed = optim::OptimizerRule::Allowed;

Result<void> check_duty(const TrainerTerms& terms, const Hello& hello) {
  const AlgorithmRow& algorithm = *terms.algorithm;
  if (algorithm.loop == LoopDuty::serve_gradients)
    return fail(
        "optim.algorithm = {} solves a problem of its own in each round; the trainer must "
        "serve gradients, or the run use dpsgd, ed or gt",
        algorithm.name);
  if (algorithm.loop == LoopDuty::correct_gradient && !hello.corrects)
    return fail(
        "optim.algorithm = {} adds a correction to the gradients, which this trainer does "
        "not; let it, or start all nodes with --optim.algorithm=dpsgd",
        algorithm.name);
  if (algorithm.loop == LoopDuty::correct_step && !hello.shifts)
    return fail(
        "optim.algorithm = {} adds a correction to the parameters after each step, which this "
        "trainer does not, as one of half precision; start all nodes with --optim.algorithm=gt",
        algorithm.name);
  if (algorithm.loop == LoopDuty::correct_step && terms.welcome.learning_rate == 0 &&
      !hello.learning_rate)
    return fail(
        "optim.algorithm = {} counts its corrections in learning rates, and neither "
        "optim.learning-rate (0) nor this trainer tells one; set it to that of the trainer",
        algorithm.name);
  return {};
}

std::string steps_of(const Hello& hello) {
  if (hello.steps == Allowed::linear) return "has a momentum";
  if (!hello.optimizer.empty()) return fmt::format("steps with {}", hello.optimizer);
  return "does not say what its steps are";
}

Result<void> check_steps(const AlgorithmRow& algorithm, const Hello& hello) {
  const optim::OptimizerRule& rule = algorithm.optimizers;
  if (rule.allowed == Allowed::any) return {};
  if (rule.allowed == Allowed::sgd && hello.steps == Allowed::sgd && !hello.learning_rate)
    return fail(
        "optim.algorithm = {} divides by the learning rate, which this trainer does not tell; let "
        "it, or start all nodes with --optim.algorithm={}",
        algorithm.name, rule.instead);
  if (hello.steps == Allowed::sgd) return {};
  if (rule.allowed == Allowed::sgd)
    return fail(
        "optim.algorithm = {} {}, and this trainer {}; let it step with sgd and say so "
        "(steps=\"sgd\"), or start all nodes with --optim.algorithm={}",
        algorithm.name, rule.reason, steps_of(hello), rule.instead);
  if (hello.steps == Allowed::linear) return {};
  return fail(
      "the limit of optim.algorithm = {} is biased unless each step is linear in the gradient, as "
      "with sgd and momentum, and this trainer {}; let it say that they are (steps=\"linear\"), or "
      "start all nodes with --optim.algorithm={}",
      algorithm.name, steps_of(hello), rule.instead);
}

}  // namespace

Result<void> check_terms(const TrainerTerms& terms, const Hello& hello) {
  const bool serves = hello.mode == TrainerMode::gradients;
  if (serves && hello.samples == 0)
    return fail("\"samples\" is 0; a trainer that serves gradients says how many it holds");
  if (terms.weighs_samples && hello.samples == 0)
    return fail(
        "data.weight = samples, and this trainer does not say how many it holds; let it "
        "(\"samples\"), or start all nodes with --data.weight=nodes");
  if (serves) return {};
  TRY_DO(check_duty(terms, hello));
  return check_steps(*terms.algorithm, hello);
}

}  // namespace starling::daemon
