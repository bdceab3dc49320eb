#include "models/nets/layer_registry.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"
#include "models/nets/layers/rows.h"

namespace starling::models {
namespace {

std::string all_forms() {
  std::vector<std::string> forms;
  for (const LayerRow& row : layer_rows()) forms.push_back(form_of(row));
  return fmt::format("{}", fmt::join(forms, ", "));
}

Result<LayerSpec> parse_layer(const std::string& text) {
  const std::vector<std::string> words = split(text, ':');
  const std::span<const LayerRow> rows = layer_rows();
  const auto row =
      std::ranges::find(rows, words.empty() ? std::string() : words.front(), &LayerRow::name);
  if (row == rows.end()) return fail("expected one of {}", all_forms());
  LayerSpec spec{.row = &*row};
  bool is_sound = words.size() == row->numbers.size() + 1;
  std::vector<std::string> limits;
  for (std::size_t k = 0; k < row->numbers.size(); ++k) {
    const auto [name, most] = row->numbers[k];
    const auto number = k + 1 < words.size() ? parse_exactly<std::size_t>(words[k + 1]) : 0;
    is_sound = is_sound && number && *number >= 1 && *number <= most;
    spec.numbers[k] = number.value_or(0);
    limits.push_back(fmt::format("{} from 1 to {}", name, most));
  }
  if (!is_sound)
    return fail("expected {}{}{}", form_of(*row), limits.empty() ? "" : " with ",
                fmt::join(limits, " and "));
  return spec;
}

}  // namespace

std::span<const LayerRow> layer_rows() {
  static const std::array kRows{convolution_row(), pooling_row(), dense_row(), normalization_row()};
  return kRows;
}

std::string form_of(const LayerRow& row) {
  std::string form(row.name);
  for (const LayerNumber& number : row.numbers) form += fmt::format(":{}", number.name);
  return form;
}

std::string to_string(const LayerSpec& spec) {
  std::string text(spec.row->name);
  for (std::size_t k = 0; k < spec.row->numbers.size(); ++k)
    text += fmt::format(":{}", spec.numbers[k]);
  return text;
}

Result<std::vector<LayerSpec>> parse_layers(std::span<const std::string> texts) {
  if (texts.empty() || texts.size() > kLayersLimit)
    return fail("expected 1 to {} layers, separated by commas, each one of {}", kLayersLimit,
                all_forms());
  std::vector<LayerSpec> layers;
  for (const std::string& text : texts) {
    const auto spec = parse_layer(text);
    if (!spec) return fail("\"{}\" (layer {}): {}", text, layers.size() + 1, spec.error().text);
    layers.push_back(*spec);
  }
  return layers;
}

LayerSpec dense_layer(std::size_t units) {
  static const LayerRow& kDense = *std::ranges::find(layer_rows(), "dense", &LayerRow::name);
  return {.row = &kDense, .numbers = {units}};
}

bool is_dense(const LayerSpec& spec) {
  return spec.row == dense_layer(0).row;
}

}  // namespace starling::models
