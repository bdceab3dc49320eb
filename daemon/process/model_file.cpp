#include "daemon/process/model_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/process/json_text.h"
#include "daemon/process/safetensors.h"
#include "daemon/process/version.h"
#include "models/data/csv.h"
#include "models/data/gz_file.h"
#include "models/nets/layer_registry.h"

namespace starling::daemon {
namespace {

using models::ColumnForm;
using models::ColumnSurvey;
using models::Content;
using models::Moments;
using nlohmann::json;
using ordered = nlohmann::ordered_json;

constexpr std::string_view kKey = "starling";
// The names of the first N values of an enumeration, as in the settings.
template <class E, std::size_t N>
std::array<std::string_view, N> names() {
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) names[i] = models::to_string(static_cast<E>(i));
  return names;
}
constexpr std::size_t kKinds = static_cast<std::size_t>(models::ModelKind::net) + 1;
constexpr std::size_t kSources = static_cast<std::size_t>(models::Source::libsvm) + 1;
constexpr std::array<std::string_view, 3> kLosses{"squared", "logistic", "cross_entropy"};
constexpr std::array<std::string_view, 3> kContents{"empty", "number", "words"};
constexpr std::array<std::string_view, 3> kOrders{"unknown", "day-first", "month-first"};
constexpr double kSquaresLimit = 1e200;

ordered moments_json(const Moments& moments) {
  return {{"mean", moments.mean},
          {"deviation", moments.deviation()},
          {"count", moments.count},
          {"squares", moments.squares}};
}

ordered form_json(const ColumnForm& form) {
  return {{"kind", form.kind->name()},
          {"unit", form.unit},
          {"dates", kOrders[static_cast<std::size_t>(form.order)]},
          {"decimal_comma", form.decimal_comma},
          {"has_limits", form.has_limits},
          {"has_times", form.has_times}};
}

ordered column_json(const ColumnSurvey& column, unsigned hash_bits) {
  ordered entry = {{"name", column.name},
                   {"kind", kContents[static_cast<std::size_t>(column.content)]}};
  if (!column.of.empty()) entry["of"] = column.of;
  if (column.form.kind) entry["cells"] = form_json(column.form);
  if (column.content == Content::numbers) entry.update(moments_json(column.moments));
  if (column.content == Content::words && hash_bits == 0) entry["words"] = column.words;
  if (column.content == Content::words && hash_bits > 0) entry["hash_bits"] = hash_bits;
  return entry;
}

// The sizes from inputs to outputs; for a network on images the layers as in model.layers.
ordered layers_json(const models::NetworkShape& shape) {
  if (shape.is_dense()) return models::dense_sizes(shape);
  ordered layers = json::array();
  for (const models::LayerSpec& layer : shape.layers) layers.push_back(to_string(layer));
  return layers;
}

ordered card_json(const models::ModelCard& card) {
  ordered document = {{"format", kModelFormat},
                      {"version", kVersion},
                      {"source", models::to_string(card.source)},
                      {"model",
                       {{"kind", models::to_string(card.kind)},
                        {"layers", layers_json(card.shape)},
                        {"loss", kLosses[static_cast<std::size_t>(card.shape.loss)]},
                        {"bias", card.shape.bias},
                        {"l2", card.l2}}},
                      {"classes", card.classes}};
  if (const auto& part = card.part)
    document["columns_of"] = {{"site", part->site},
                              {"key", part->key},
                              {"target_at", part->holder},
                              {"sites", part->sites}};
  if (const auto& image = card.shape.input.image)
    document["model"]["image"] = {image->height, image->width, image->channels};
  if (!card.table) return document;
  const models::Survey& table = *card.table;
  document["rows"] = table.rows;
  document["hash_bits"] = table.hash_bits;
  document["decimal_comma"] = table.decimal_comma;
  document["missing"] = table.missing;
  document["missing_cells"] = table.missing_cells;
  document["folds_case"] = table.folds_case;
  for (const ColumnSurvey& column : table.columns)
    document["columns"].push_back(column_json(column, table.hash_bits));
  if (table.trial)
    document["l2_trial"] = {{"rows", table.trial->rows}, {"excess", table.trial->excess}};
  document["target"] =
      table.classifies ? ordered{{"classes", table.classes}} : moments_json(table.amounts);
  document["target"]["name"] = table.target;
  if (table.target_form.kind) document["target"]["cells"] = form_json(table.target_form);
  if (table.is_log) document["target"]["scale"] = "log";
  if (!table.class_rows.empty()) document["target"]["rows"] = table.class_rows;
  return document;
}

// Reads values from an arbitrary document; remembers whether any was invalid.
class Taker {
 public:
  explicit Taker(const json& document) : document_(document) {}

  bool is_sound() const { return sound_; }
  void refuse() { sound_ = false; }

  const json& at(const char* key) { return at(document_, key); }
  const json& at(const json& object, const char* key) {
    static const json kNothing;
    if (object.is_object() && object.contains(key)) return object[key];
    sound_ = false;
    return kNothing;
  }
  double number(const json& value, double least, double most) {
    if (value.is_number() && value.get<double>() >= least && value.get<double>() <= most)
      return value.get<double>();
    sound_ = false;
    return 0;
  }
  std::size_t whole(const json& value, std::size_t most) {
    const double found = number(value, 0, static_cast<double>(most));
    if (found != std::floor(found)) sound_ = false;
    return static_cast<std::size_t>(found);
  }
  std::string text(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    sound_ = false;
    return {};
  }
  const json& list(const json& value) {
    static const json kNothing = json::array();
    if (value.is_array()) return value;
    sound_ = false;
    return kNothing;
  }
  template <std::size_t N>
  std::size_t choice(const json& value, const std::array<std::string_view, N>& names) {
    const auto found = std::ranges::find(names, text(value));
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    sound_ = false;
    return 0;
  }
  std::vector<std::string> ascending(const json& value) {
    std::vector<std::string> words;
    for (const json& item : value.is_array() ? value : json::array()) words.push_back(text(item));
    if (!value.is_array() || !std::ranges::is_sorted(words, std::ranges::less_equal()))
      sound_ = false;
    return words;
  }
  Moments moments(const json& value) {
    constexpr auto kCount = static_cast<double>(models::kRowsMergedLimit);
    return {.count = number(at(value, "count"), 0, kCount),
            .mean = number(at(value, "mean"), -1e100, 1e100),
            .squares = number(at(value, "squares"), 0, kSquaresLimit)};
  }
  models::PenaltyTrial trial(const json& value) {
    models::PenaltyTrial trial;
    trial.rows = number(at(value, "rows"), 0, static_cast<double>(models::kRowsMergedLimit));
    const json& excess = list(at(value, "excess"));
    if (excess.size() != trial.excess.size()) sound_ = false;
    for (std::size_t k = 0; k < std::min(excess.size(), trial.excess.size()); ++k)
      trial.excess[k] = number(excess[k], 0, kSquaresLimit);
    return trial;
  }

 private:
  const json& document_;
  bool sound_ = true;
};

// Models of earlier versions do not state how the cells are written.
ColumnForm take_form(Taker& taker, const json& entry, Content content, bool decimal_comma) {
  if (!entry.is_object() || !entry.contains("cells"))
    return models::plain_form(content, decimal_comma);
  const json& cells = entry["cells"];
  ColumnForm form{
      .kind = models::column_kind_named(taker.text(taker.at(cells, "kind"))),
      .decimal_comma = taker.at(cells, "decimal_comma") == json(true),
      .order = static_cast<models::DateOrder>(taker.choice(taker.at(cells, "dates"), kOrders)),
      .unit = taker.text(taker.at(cells, "unit")),
      .has_limits = taker.at(cells, "has_limits") == json(true),
      .has_times = taker.at(cells, "has_times") == json(true)};
  if (!form.kind) taker.refuse();
  return form.kind ? form : models::plain_form(content, decimal_comma);
}

// Models of earlier versions have no rows by class.
void take_classes(Taker& taker, const json& target, models::Survey& table) {
  table.classes = taker.ascending(target["classes"]);
  if (!target.contains("rows")) return;
  const json& rows = taker.list(target["rows"]);
  if (rows.size() != table.classes.size()) return;
  for (const json& count : rows)
    table.class_rows.push_back(static_cast<double>(taker.whole(count, models::kRowsMergedLimit)));
}

void take_amounts(Taker& taker, const json& target, models::Survey& table) {
  table.amounts = taker.moments(target);
  if (!target.is_object() || !target.contains("scale")) return;
  table.is_log = true;
  taker.choice(target["scale"], std::array<std::string_view, 1>{"log"});
}

models::Survey take_table(Taker& taker, const json& document) {
  models::Survey table;
  table.is_fixed = true;
  table.rows = static_cast<double>(taker.whole(taker.at("rows"), models::kRowsMergedLimit));
  table.hash_bits =
      static_cast<unsigned>(taker.whole(taker.at("hash_bits"), models::kHashBitsLimit));
  // Models of earlier versions have none of these.
  table.decimal_comma = document.value("decimal_comma", json()) == json(true);
  if (document.contains("missing")) table.missing = taker.ascending(document["missing"]);
  table.missing_cells = models::default_missing_words();
  std::ranges::sort(table.missing_cells);
  if (document.contains("missing_cells"))
    table.missing_cells = taker.ascending(document["missing_cells"]);
  table.folds_case = document.value("folds_case", json()) == json(true);
  if (document.contains("l2_trial")) table.trial = taker.trial(document["l2_trial"]);
  const json& columns = taker.at("columns");
  for (const json& entry : columns.is_array() ? columns : json::array()) {
    ColumnSurvey& column = table.columns.emplace_back();
    column.name = taker.text(taker.at(entry, "name"));
    column.content = static_cast<Content>(taker.choice(taker.at(entry, "kind"), kContents));
    if (entry.contains("of")) column.of = taker.text(entry["of"]);
    column.form = take_form(taker, entry, column.content, table.decimal_comma);
    if (column.content == Content::numbers) column.moments = taker.moments(entry);
    if (column.content == Content::words && table.hash_bits == 0)
      column.words = taker.ascending(taker.at(entry, "words"));
  }
  const json& target = taker.at("target");
  table.target = taker.text(taker.at(target, "name"));
  table.target_form = take_form(taker, target, Content::numbers, table.decimal_comma);
  table.classifies = target.is_object() && target.contains("classes");
  if (table.classifies)
    take_classes(taker, target, table);
  else
    take_amounts(taker, target, table);
  return table;
}

// Only models of columns apart have it.
std::optional<models::ColumnPart> take_part(Taker& taker, const json& document) {
  if (!document.is_object() || !document.contains("columns_of")) return std::nullopt;
  const json& entry = document["columns_of"];
  models::ColumnPart part{.key = taker.text(taker.at(entry, "key")),
                          .site = taker.text(taker.at(entry, "site")),
                          .holder = taker.text(taker.at(entry, "target_at")),
                          .sites = {}};
  for (const json& site : taker.list(taker.at(entry, "sites")))
    part.sites.push_back(taker.text(site));
  return part;
}

models::NetworkShape take_shape(Taker& taker, const json& model) {
  models::NetworkShape shape;
  const json& layers = taker.list(taker.at(model, "layers"));
  if (!model.contains("image")) {
    std::vector<std::size_t> sizes;
    for (const json& size : layers) sizes.push_back(taker.whole(size, models::kColumnsLimit));
    if (sizes.size() >= 2 && std::ranges::count(sizes, std::size_t{0}) == 0)
      shape = models::dense_network(sizes);
  } else {
    std::vector<std::size_t> sides;
    for (const json& side : taker.list(model["image"]))
      sides.push_back(taker.whole(side, models::kImageSideLimit));
    sides.resize(3);
    shape.input = models::SampleShape(
        models::ImageShape{.height = sides[0], .width = sides[1], .channels = sides[2]});
    std::vector<std::string> texts;
    for (const json& layer : layers) texts.push_back(taker.text(layer));
    shape.layers = models::parse_layers(texts).value_or(shape.layers);
  }
  shape.loss = static_cast<models::Loss>(taker.choice(taker.at(model, "loss"), kLosses));
  shape.bias = taker.at(model, "bias") == json(true);
  return shape;
}

Result<models::ModelCard> read_card(const json& document) {
  Taker taker(document);
  const std::size_t format = taker.whole(taker.at("format"), 1'000'000);
  if (format != kModelFormat)
    return fail("has format {}, expected {}; version {} of the program wrote it", format,
                kModelFormat, document.value("version", json("?")).dump());
  models::ModelCard card;
  const json& model = taker.at("model");
  card.kind = static_cast<models::ModelKind>(
      taker.choice(taker.at(model, "kind"), names<models::ModelKind, kKinds>()));
  card.source = static_cast<models::Source>(
      taker.choice(taker.at("source"), names<models::Source, kSources>()));
  card.shape = take_shape(taker, model);
  card.classes = taker.whole(taker.at("classes"), models::kColumnsLimit);
  if (model.contains("l2")) card.l2 = taker.number(model["l2"], 0, kSquaresLimit);
  if (card.source == models::Source::csv) card.table = take_table(taker, document);
  card.part = take_part(taker, document);
  if (card.part && !card.table) taker.refuse();
  if (!taker.is_sound() || !models::check_shape(card.kind, card.shape))
    return fail("its metadata \"{}\" is damaged", kKey);
  return card;
}

}  // namespace

std::string write_model(const models::ModelCard& card, std::span<const double> parameters,
                        models::Precision precision,
                        const std::map<std::string, std::string>& origin) {
  std::map<std::string, std::string> metadata = origin;
  metadata[std::string(kKey)] = card_json(card).dump();
  return safetensors(models::tensors(card.shape), parameters, precision, metadata);
}

Result<models::TrainedModel> parse_model(std::string_view bytes) {
  TRY(const auto metadata, read_safetensors_metadata(bytes));
  const auto found = metadata.find(std::string(kKey));
  if (found == metadata.end() && metadata.contains("node"))
    return fail(
        "holds the tensors of a trainer of your own, which alone knows how to predict with them; "
        "{}",
        kHowToLoad);
  if (found == metadata.end())
    return fail("is no model of this program: its metadata have no \"{}\"", kKey);
  TRY(const Safetensors file, read_safetensors(bytes));
  const json document = parse_json(found->second);
  if (document.is_discarded()) return fail("its metadata \"{}\" are not JSON", kKey);
  models::TrainedModel model;
  TRY(model.card, read_card(document));
  for (const optim::ParameterBlock& place : models::tensors(model.card.shape)) {
    const auto tensor = file.tensors.find(place.name);
    if (tensor == file.tensors.end() || tensor->second.extents != place.extents)
      return fail("has no tensor {} of shape {}", place.name, fmt::join(place.extents, " x "));
    if (!std::ranges::all_of(tensor->second.numbers, [](double x) { return std::isfinite(x); }))
      return fail("tensor {} holds a number that is not finite", place.name);
    std::ranges::copy(tensor->second.numbers, std::back_inserter(model.parameters));
  }
  return model;
}

Result<models::TrainedModel> read_model(const std::string& path) {
  TRY(const std::string bytes, models::read_text(path));
  auto model = parse_model(bytes);
  if (!model) return fail("{}: {}", path, model.error().text);
  return model;
}

}  // namespace starling::daemon
