// The file of a trained model: safetensors, with the tensors of each layer by name, and a JSON
// document in the metadata "starling" with everything needed for prediction (docs/use-model.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "models/nets/model_card.h"
#include "models/nets/model_options.h"

namespace starling::daemon {

// What to type in Python to use the model of the user's own trainer.
inline constexpr std::string_view kHowToLoad =
    "in Python starling.load(FILE, model) puts them into a module of PyTorch, and "
    "starling.load(FILE) gives arrays by name";

inline constexpr int kModelFormat = 1;

// `origin` says where the model comes from, for people: node, round. REQUIRES as many parameters as
// the card's shape has.
std::string write_model(const models::ModelCard& card, std::span<const double> parameters,
                        models::Precision precision,
                        const std::map<std::string, std::string>& origin);

// These read outside data: the error says what is wrong.
Result<models::TrainedModel> parse_model(std::string_view bytes);
Result<models::TrainedModel> read_model(const std::string& path);

}  // namespace starling::daemon
