#include "daemon/cli/offline/codec_plan.h"

#include <array>

#include "optim/algorithms/registry.h"
#include "optim/codec/channel.h"

namespace starling::daemon {
namespace {

constexpr std::array<std::string_view, 2> kPrecisions = {"f32", "f64"};
constexpr std::int64_t kPartsMost = 1000;  // as exchange.parts is read

}  // namespace

bool CodecPlan::is_native() const {
  return !form.remembers() && form.format->width == number_bytes;
}

double CodecPlan::vector_bytes(std::int64_t model_bytes) const {
  return static_cast<double>(vectors) * vector_bytes(model_bytes, form);
}

double CodecPlan::vector_bytes(std::int64_t model_bytes, const optim::WireForm& other) const {
  const double numbers = static_cast<double>(model_bytes) / static_cast<double>(number_bytes);
  if (!other.remembers()) return numbers * static_cast<double>(other.format->width);
  optim::WireForm whole = other;
  whole.segments = {{static_cast<std::size_t>(numbers)}};
  return static_cast<double>(optim::Channel<float>(whole).bytes(2));
}

double CodecPlan::memory_bytes(std::int64_t model_bytes, int neighbors) const {
  if (!form.remembers()) return 0;
  return 2.0 * neighbors * static_cast<double>(vectors) * static_cast<double>(model_bytes);
}

CodecPlan CodecPlan::with(std::string_view codec) const {
  CodecPlan other = *this;
  const optim::WireForm form_of_it = optim::wire_form_named(codec);
  other.form.coding = form_of_it.coding;
  other.form.coding.parts = form.coding.parts;
  if (!form_of_it.coding.is_chosen) other.form.format = form_of_it.format;
  return other;
}

std::vector<CodecPlan> alternatives(const CodecPlan& plan, bool may_remember) {
  std::vector<CodecPlan> plans;
  for (const std::string& name : optim::wire_form_names())
    if (CodecPlan other = plan.with(name); may_remember || !other.form.remembers())
      plans.push_back(std::move(other));
  return plans;
}

CodecPlan read_codec_plan(Reader& reader) {
  CodecPlan plan;
  // As models::read_learner_options() has it.
  const bool is_wide =
      reader.is_default("model.precision") && reader.text("data.split") == "columns";
  const std::string_view precision =
      is_wide ? "f64" : kPrecisions[reader.choice("model.precision", kPrecisions)];
  plan.form = optim::wire_form_named(precision);
  plan.number_bytes = plan.form.format->width;
  const auto form = optim::parse_wire_form(reader.text("exchange.codec"));
  if (!form)
    reader.mistake("exchange.codec", form.error().text);
  else if (form->coding.is_chosen)
    plan.form.coding = form->coding;
  else if (form->format)
    plan.form = *form;
  plan.form.coding.parts =
      static_cast<std::size_t>(reader.integer("exchange.parts", 1, kPartsMost));
  // What `auto` chooses depends on the data; it counts as one vector.
  if (const auto* algorithm = optim::find_algorithm(reader.text("optim.algorithm")))
    plan.vectors = algorithm->vectors_offered;
  return plan;
}

}  // namespace starling::daemon
