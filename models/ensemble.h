// Ensemble: what several models say of the same rows together, and how far their opinions lie
// apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/predictor.h"

namespace starling::models {

// mean: of the amounts, or of the probabilities. vote: each model has one voice for a class, and
// the mean of the probabilities decides between equals; amounts have no votes.
enum class Poll { mean, vote };

struct Opinion {
  std::string model;                      // its name, for messages
  std::vector<std::string> classes = {};  // empty: amounts
  Predictions predictions;
};

struct JointOpinion {
  std::vector<std::string> classes = {};  // that any model knows, ascending; others give it 0
  // With the spread: of each row the standard deviation over the models, of the amount or of the
  // probability of the class that is predicted.
  Predictions predictions;
};

// REQUIRES an opinion. The error says which models do not go together.
Result<JointOpinion> join_opinions(std::span<const Opinion> opinions, Poll poll);

}  // namespace starling::models
