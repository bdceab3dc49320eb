#include "optim/codec/wire_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace starling::optim {
namespace {

constexpr std::string_view kChosen = "auto";
constexpr double kPercentLeast = 0.1, kPercentMost = 50;

std::string known_names() {
  std::string names = "native";
  for (const std::string& name : wire_form_names()) names += ", " + name;
  return names;
}

// The density .05 of "5%" or "5"; nothing if `text` is no allowed percentage.
std::optional<double> density_of(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto percent = parse_number(text);
  if (!percent || *percent < kPercentLeast || *percent > kPercentMost) return std::nullopt;
  return *percent / 100;
}

}  // namespace

Result<WireForm> parse_wire_form(std::string_view text) {
  if (text == "native") return WireForm{};
  if (text == kChosen)
    return WireForm{.format = format_named("f32"), .coding = {.is_chosen = true}};
  for (const Format& row : formats())
    if (text == row.name) return WireForm{.format = &row};
  const std::string_view name = text.substr(0, text.find(':'));
  const auto rows = compressors();
  const auto row = std::ranges::find(rows, name, &Compressor::name);
  const bool has_percent = name != text;
  if (row == rows.end() || (has_percent && !row->is_sparse))
    return fail("expected one of {}", known_names());
  WireForm form{.format = format_named("f32"), .coding = {.compressor = &*row}};
  if (!row->is_sparse) return form;
  const auto density = has_percent ? density_of(text.substr(name.size() + 1)) : std::nullopt;
  if (!density)
    return fail("expected {0}:P% with P from {1} to {2}, as {0}:5%", name, kPercentLeast,
                kPercentMost);
  form.coding.density = *density;
  return form;
}

WireForm wire_form_named(std::string_view text) {
  auto form = parse_wire_form(text);
  ENSURE(form && form->format, "a codec that our code names exists");
  return *std::move(form);
}

std::string to_string(const WireForm& form) {
  const Coding& coding = form.coding;
  if (coding.is_chosen) return std::string(kChosen);
  if (!coding.compressor) return std::string(form.format->name);
  if (!coding.compressor->is_sparse) return std::string(coding.compressor->name);
  return fmt::format("{}:{:.6g}%", coding.compressor->name, 100 * coding.density);
}

std::vector<std::string> wire_form_names() {
  std::vector<std::string> names;
  for (const Format& row : formats()) names.emplace_back(row.name);
  for (const Compressor& row : compressors())
    names.push_back(fmt::format("{}{}", row.name, row.is_sparse ? ":5%" : ""));
  names.emplace_back(kChosen);
  return names;
}

}  // namespace starling::optim
