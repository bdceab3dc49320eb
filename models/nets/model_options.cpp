#include "models/nets/model_options.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"auto", "linear", "logistic", "softmax", "mlp"};
constexpr std::array<std::string_view, 2> kPrecisions{"f32", "f64"};
constexpr std::size_t kHiddenLayersLimit = 16;
constexpr std::int64_t kHiddenUnitsLimit = 65'536;

std::vector<std::size_t> read_hidden(Reader& reader) {
  std::vector<std::size_t> hidden;
  const std::vector<std::string> words = reader.list("model.hidden");
  for (const std::string& word : words) {
    const auto units = parse_integer(word);
    if (units && *units >= 1 && *units <= kHiddenUnitsLimit)
      hidden.push_back(static_cast<std::size_t>(*units));
  }
  if (hidden.empty() || hidden.size() != words.size() || hidden.size() > kHiddenLayersLimit)
    reader.mistake("model.hidden",
                   fmt::format("expected 1 to {} sizes from 1 to {}, separated by commas",
                               kHiddenLayersLimit, kHiddenUnitsLimit));
  return hidden;
}

}  // namespace

void describe_model(Schema& schema) {
  schema.add(
      {"model.kind", "auto",
       "What is learned: linear (regression, squared error), logistic (two classes), softmax "
       "(any number of classes), mlp (relu layers, for classes or regression), or auto: mlp "
       "for images, linear for regression, softmax for a csv of classes, logistic or softmax for "
       "libsvm."});
  schema.add({"model.hidden", "64",
              "Units of each hidden layer of an mlp, first to last. More learn more, but time and "
              "traffic grow with the product of neighbouring layers.",
              true});
  schema.add({"model.l2", "0",
              "Adds l2 / 2 |weights|^2, biases excluded, to the loss. Larger keeps weights small "
              "and makes the problem better conditioned; too large underfits."});
  schema.add({"model.precision", "f32",
              "f32 or f64: of parameters, gradients and what is sent. f64 doubles the traffic and "
              "is for problems solved to more than six digits."});
  schema.add({"model.from", "",
              "The file of a model to start from, the same on every node: what features mean is "
              "taken from it, and so is model.kind = auto. Empty: from nothing."});
}

ModelOptions read_model_options(Reader& reader) {
  ModelOptions options;
  options.kind = static_cast<ModelKind>(reader.choice("model.kind", kKinds));
  options.hidden = read_hidden(reader);
  options.l2 = reader.number("model.l2", 0, 1e6);
  options.precision = static_cast<Precision>(reader.choice("model.precision", kPrecisions));
  options.from = reader.text("model.from");
  return options;
}

std::string_view to_string(ModelKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

// As doubles, which cannot overflow.
Result<void> check_size(const ModelOptions& model, std::size_t width, std::size_t classes) {
  const auto outputs = static_cast<double>(std::max<std::size_t>(classes, 1));
  auto inputs = static_cast<double>(width);
  double parameters = 0;
  if (model.kind == ModelKind::mlp)
    for (const std::size_t units : model.hidden) {
      parameters += (inputs + 1) * static_cast<double>(units);
      inputs = static_cast<double>(units);
    }
  parameters += (inputs + 1) * outputs;
  if (parameters > static_cast<double>(kParametersLimit))
    return fail("model.kind = {} has {:.0f} parameters on this data, expected at most {}",
                to_string(model.kind), parameters, kParametersLimit);
  return {};
}

}  // namespace starling::models
