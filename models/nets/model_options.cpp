#include "models/nets/model_options.h"

#include <fmt/format.h>

#include <array>

#include "base/bindings.h"
#include "base/ids.h"
#include "base/text.h"
#include "models/nets/layer_registry.h"
#include "models/nets/model_card.h"

namespace starling::models {
namespace {

constexpr std::array<std::string_view, 7> kModelKinds{"auto", "linear", "logistic", "softmax",
                                                      "mlp",  "net",    "external"};
constexpr std::array<std::string_view, 2> kPrecisions{"f32", "f64"};
constexpr std::size_t kHiddenLayersLimit = 16;
constexpr std::int64_t kHiddenUnitsLimit = 65'536;

void read_hidden(Reader& reader, ModelOptions& options) {
  options.hidden.clear();
  const std::vector<std::string> words = reader.list("model.hidden");
  for (const std::string& word : words) {
    const auto units = parse_integer(word);
    if (units && *units >= 1 && *units <= kHiddenUnitsLimit)
      options.hidden.push_back(static_cast<std::size_t>(*units));
  }
  if (options.hidden.empty() || options.hidden.size() != words.size() ||
      options.hidden.size() > kHiddenLayersLimit)
    reader.mistake("model.hidden",
                   fmt::format("expected 1 to {} sizes from 1 to {}, separated by commas",
                               kHiddenLayersLimit, kHiddenUnitsLimit));
}

void read_class_weights(Reader& reader, ModelOptions& options) {
  auto weights = parse_class_weights(reader.list("model.class-weight"));
  if (weights)
    options.class_weights = *std::move(weights);
  else
    reader.mistake("model.class-weight", weights.error().text);
}

void read_layers(Reader& reader, ModelOptions& options) {
  auto layers = parse_layers(reader.list("model.layers"));
  if (layers)
    options.layers = *std::move(layers);
  else
    reader.mistake("model.layers", layers.error().text);
}

std::string print_layers(const ModelOptions& options) {
  std::vector<std::string> texts;
  for (const LayerSpec& layer : options.layers) texts.push_back(to_string(layer));
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string help_of_layers() {
  std::string help =
      "Layers of a net on images, first to last; the output layer comes by itself after them";
  const char* before = ": ";
  for (const LayerRow& row : layer_rows()) {
    help += fmt::format("{}{} ({})", before, form_of(row), row.help);
    before = ", ";
  }
  return help + ". More channels and units learn more and cost more time and traffic.";
}

constexpr double kL2Limit = 1e6;

Result<std::optional<double>> parse_l2(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const auto l2 = parse_number(text);
  if (!l2 || !(*l2 >= 0 && *l2 <= kL2Limit))
    return fail("expected auto, or a number from 0 to {:.0f}", kL2Limit);
  return l2;
}

std::string print_l2(std::optional<double> l2) {
  return l2 ? fmt::format("{}", *l2) : "auto";
}

// The file's contents; its path may differ by node.
std::string print_start(const ModelOptions& options) {
  if (!options.start) return {};
  const std::vector<double>& x = options.start->parameters;
  const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double));
  return fmt::format("{} parameters (#{:08x})", x.size(), stable_hash(bytes) >> 32);
}

const Bindings<ModelOptions>& model_bindings() {
  using enum Scope;
  static const auto kBindings = [] {
    Bindings<ModelOptions> all;
    all.bind("model.kind", &ModelOptions::kind, OneOf{kModelKinds}, agreed,
             "What is learned: linear (regression, squared error), logistic (two classes), softmax "
             "(any number of classes), mlp (relu layers, for classes or regression), net (images, "
             "by the layers of model.layers), or auto: mlp for images, linear for regression, "
             "softmax for a csv of classes, logistic or softmax for libsvm. external: what a "
             "trainer of your own beside the daemon trains; the keys of section data do not matter "
             "then.")
        .add({"model.hidden", "64",
              "Units of each hidden layer of an mlp, first to last. More learn more, but time and "
              "traffic grow with the product of neighbouring layers.",
              true, agreed},
             read_hidden,
             [](const ModelOptions& o) { return fmt::format("{}", fmt::join(o.hidden, ",")); })
        .add({"model.layers", print_layers({}), help_of_layers(), true, agreed}, read_layers,
             print_layers)
        .bind("model.l2", &ModelOptions::l2, Written{parse_l2, print_l2}, agreed,
              "Adds l2 / 2 |weights|^2, biases excluded, to the loss. Larger keeps weights small "
              "and makes the problem better conditioned; too large underfits. auto: for a table "
              "the best of 1, 3, 10, 30 and 100 over the number of all rows (for amounts 0.001, "
              "0.1, 1, 10 and 100), by the loss on rows that founders leave out of short fits of "
              "their own; with data.split = columns 1 over the number of rows; else 0.")
        .initially("auto")
        .add({"model.class-weight", "",
              "How much a row counts in training, by its class: balanced (each class as much as "
              "another, by the rows of all nodes), or a list such as no:1,yes:10, where others "
              "count 1. Larger weights of a rare class find more of its rows, take more rows of "
              "others for it, and make probabilities too large. Empty: all count 1.",
              true, agreed},
             read_class_weights, [](const ModelOptions& o) { return to_string(o.class_weights); })
        .bind("model.precision", &ModelOptions::precision, OneOf{kPrecisions}, agreed,
              "f32 or f64: of parameters, gradients and what is sent. f64 doubles the traffic and "
              "is for problems solved to more than six digits; with data.split = columns it is the "
              "default.")
        .bind("model.from", &ModelOptions::from, Text{}, agreed,
              "The file of a model to start from, the same on every node: what features mean is "
              "taken from it, and so is model.kind = auto. Empty: from nothing.")
        .agrees_on(print_start);
    return all;
  }();
  return kBindings;
}

}  // namespace

std::vector<LayerSpec> usual_layers() {
  static const std::vector<std::string> kTexts{"conv:16:5", "pool:2", "conv:32:5", "pool:2",
                                               "dense:128"};
  return *parse_layers(kTexts);
}

void describe_model(Schema& schema) {
  model_bindings().describe(schema);
}

ModelOptions read_model_options(Reader& reader) {
  ModelOptions options;
  model_bindings().read(reader, options);
  return options;
}

std::vector<Term> agreed(const ModelOptions& options) {
  return model_bindings().agreed(options);
}

std::string_view to_string(ModelKind kind) {
  return kModelKinds[static_cast<std::size_t>(kind)];
}

}  // namespace starling::models
