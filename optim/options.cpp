#include "optim/options.h"

#include <array>

#include "base/bindings.h"
#include "base/text.h"
#include "optim/codec/ladder.h"

namespace starling::optim {
namespace {

using namespace std::string_view_literals;

constexpr std::array kLocalOptimizers = {"sgd"sv, "momentum"sv, "nesterov"sv, "adam"sv, "adamw"sv};

constexpr std::array kOuterKinds = {"none"sv, "nesterov"sv, "slowmo"sv};

constexpr std::int64_t kStepsLimit = 1'000'000;
constexpr std::int64_t kPartsLimit = 1000;
constexpr std::size_t kLiarsLimit = 1000;
constexpr double kPaceLimit = 1024;

Result<std::optional<std::size_t>> parse_steps(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const auto steps = parse_integer(text);
  if (!steps || *steps < 1 || *steps > kStepsLimit)
    return fail("expected auto, or a whole number from 1 to {}", kStepsLimit);
  return std::optional(static_cast<std::size_t>(*steps));
}

std::string print_steps(std::optional<std::size_t> steps) {
  return steps ? fmt::format("{}", *steps) : "auto";
}

// native is the precision, which read_options() sets first, and the first rung of auto.
void read_codec(Reader& reader, Options& options) {
  const auto form = parse_wire_form(reader.text("exchange.codec"));
  if (!form)
    reader.mistake("exchange.codec", form.error().text);
  else if (form->coding.is_chosen)
    options.codec.coding = form->coding;
  else if (form->format)
    options.codec = *form;
}

// A pace is a number of times, or what fits: auto.
Result<std::optional<double>> parse_pace(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const auto pace = parse_number(text);
  if (!pace || !(*pace >= 1 / kPaceLimit && *pace <= kPaceLimit))
    return fail("expected auto, or a number from 1/{0} to {0}", kPaceLimit);
  return std::optional(*pace);
}

std::string print_pace(std::optional<double> pace) {
  return pace ? fmt::format("{}", *pace) : "auto";
}

std::string codec_help() {
  std::string help =
      help_of("numbers on the wire: native (those that the model computes in)", formats());
  for (const Compressor& row : compressors())
    help += fmt::format(", {}{} ({})", row.name, row.is_sparse ? ":P%" : "", row.help);
  return help + fmt::format(
                    ", auto (for each edge of {} the first that keeps the node within "
                    "optim.exchange-share)",
                    rung_names());
}

std::vector<std::string> codec_choices() {
  std::vector<std::string> choices = wire_form_names();
  choices.insert(choices.begin(), "native");
  return choices;
}

const Bindings<Options>& bindings() {
  using enum Scope;
  static const auto kBindings = [] {
    Bindings<Options> all;
    all.bind("optim.algorithm", &Options::algorithm, OneRow<AlgorithmRow>{algorithms(), true},
             agreed, help_of("how nodes agree: auto (says which and why)", algorithms()))
        .initially("auto")
        .live()
        .bind("optim.learning-rate", &Options::learning_rate, Real{0, 1e6}, agreed,
              "step size, as for one node alone; too large diverges, too small is slow, and the "
              "bias on unequal data grows with it")
        .live()
        .bind("optim.learning-rate-schedule", &Options::schedule,
              Written{parse_schedule, [](const Schedule& s) { return to_string(s); }}, agreed,
              "factor on the learning rate by round t: constant, step:R:f (times f every R "
              "rounds), cosine:R (to 0 at round R), inverse:R (1 / (1 + t / R)), warmup:R (linear "
              "up to round R)")
        .live()
        .bind("optim.momentum", &Options::momentum, Real{0, 0.999999}, agreed,
              "beta of the local optimizers momentum, nesterov and adam, beta1 of adamw; the "
              "effective step is learning-rate / (1 - beta), with adam learning-rate")
        .bind("optim.adam-beta2", &Options::adam_beta2, Real{0, 0.999999999}, agreed,
              "beta2 of adam and adamw, which average the squared gradients over about "
              "1 / (1 - beta2) steps; smaller follows them faster and takes noise for size")
        .bind(
            "optim.weight-decay", &Options::weight_decay, Real{0, 1e6}, agreed,
            "lambda of g + lambda x, with adamw of a step - learning-rate lambda x beside that of "
            "adam, on all parameters; larger pulls parameters to zero")
        .bind("optim.local-optimizer", &Options::local_optimizer, OneOf{kLocalOptimizers}, agreed,
              "sgd, momentum, nesterov, adam, adamw (adam whose weight decay is no part of the "
              "gradient)")
        .bind("optim.local-steps", at(&Options::local_steps, &StepCount::fixed),
              Written{parse_steps, print_steps}, agreed,
              "local steps between two exchanges, or auto: as few as keep each node within "
              "optim.exchange-share, the same number on all; more saves traffic and adds drift")
        .live()
        .bind("optim.pace", at(&Options::local_steps, &StepCount::pace),
              Written{parse_pace, print_pace}, own,
              "local steps of this node between two exchanges, as a multiple of optim.local-steps, "
              "or auto: 1, 2, 4, ... times as many, as fit into the time in which the node would "
              "wait for slower ones; see data.weight")
        .bind(
            "optim.exchange-share", at(&Options::local_steps, &StepCount::exchange_share),
            Real{0.001, 0.9}, own,
            "with optim.local-steps or exchange.codec = auto, the part of its time that this node "
            "may wait for the network and average; smaller takes more local steps and shorter "
            "vectors, larger exchanges more often")
        .bind(
            "optim.outer", &Options::outer, OneOf{kOuterKinds}, agreed,
            "step by what a round did to the model: none, nesterov (DiLoCo where all are "
            "neighbours), slowmo; fewer rounds where data are alike, and the same bias where they "
            "differ by node")
        .live()
        .bind(
            "optim.outer-learning-rate", &Options::outer_learning_rate, Real{0, 1000}, agreed,
            "alpha of the outer step; empty: .7, with slowmo 1; larger overshoots, smaller is slow")
        .live()
        .bind("optim.outer-momentum", &Options::outer_momentum, Real{0, 0.999999}, agreed,
              "beta of the outer step; empty: nesterov .9, slowmo .7, noloco .5; larger remembers "
              "more rounds, and swings")
        .live()
        .bind("optim.outer-pull", &Options::outer_pull, Real{0, 2}, agreed,
              "gamma of noloco: how far models that are averaged come together in a round; smaller "
              "lets them fly apart, larger swings")
        .live()
        .bind("optim.admm-penalty", &Options::penalty, Real{1e-12, 1e12}, agreed,
              "rho of admm: how much the neighbours pull; about a tenth of the largest curvature "
              "on dense graphs, the curvature itself on sparse ones")
        .live()
        .bind("optim.admm-relaxation", &Options::relaxation, Real{1e-6, 1}, agreed,
              "alpha of admm, above 0, up to 1: how far each message is followed; .9 where rounds "
              "are in step, .5 where messages come late")
        .live()
        .bind("optim.batch-size", &Options::batch_size, Whole{0, 1'000'000'000}, own,
              "samples a local step, drawn without repetition until all were seen; 0 takes all")
        .live()
        .bind("optim.clip", &Options::clip, Real{0, 1e6}, own,
              "C: the gradient of each sample is shortened to this norm before a batch is added "
              "up, and batches are drawn anew in each step, each sample on its own; 0: not. "
              "Smaller needs less noise and bends the gradient more; see docs/privacy.md")
        .bind("optim.noise", &Options::noise, Real{0, 1e6}, own,
              "sigma: Gaussian noise of deviation sigma C is added to the sum of a batch's clipped "
              "gradients, so that this node's vectors tell little of any one sample; larger tells "
              "less and learns more slowly; 0: none")
        .bind("optim.delta", &Options::delta, Real{1e-15, 0.1}, own,
              "the delta for which epsilon is computed: how likely the bound may fail; choose it "
              "well below one over the number of this node's samples")
        .add({"exchange.codec", "native", codec_help(), false, agreed}, read_codec,
             [](const Options& options) { return to_string(options.codec); })
        .among(codec_choices())
        .live()
        .bind("exchange.parts", at(at(&Options::codec, &WireForm::coding), &Coding::parts),
              Whole{1, kPartsLimit}, agreed,
              "the parts of a vector that take turns, one a round: peaks and rounds are so many "
              "times smaller, and the models come together as with so many local steps")
        .live()
        .bind("exchange.aggregation", at(&Options::aggregation, &Aggregation::rule),
              OneRow<MixRule>{mix_rules()}, agreed,
              help_of("how vectors of neighbours are averaged", mix_rules()))
        .live()
        .bind("exchange.liars", at(&Options::aggregation, &Aggregation::liars),
              Whole{1, kLiarsLimit}, agreed,
              "how many neighbours of a node may lie, with aggregation clip and trim; larger "
              "contains more of them and slows the agreement of all. Below half of the neighbours, "
              "or nothing is left; starling plan says how many a graph tolerates. With any "
              "aggregation: how many members may tell the same false round")
        .live()
        .bind("exchange.masks",
              at(at(&Options::aggregation, &Aggregation::slicing), &Slicing::is_masked), kFlag,
              agreed,
              "with schedule allreduce: a node that sums learns the sum of the others' numbers and "
              "no single node's; asks for keys and three members, and a round has no mean of a "
              "slice unless all members give their part. See docs/privacy.md")
        .bind("exchange.overlap", &Options::overlap, kFlag, agreed,
              "with exchange.parts: a part travels while the trainer takes its next steps, and is "
              "averaged after them; hides the exchange, and asks for few rounds more")
        .live()
        .bind("eval.samples", &Options::evaluation_samples, Whole{0, 1'000'000'000}, own,
              "held-out samples of an evaluation while the node trains, spread evenly over all; 0 "
              "takes all. The end, a pause, and a goal that the samples reach are judged on all");
    return all;
  }();
  return kBindings;
}

}  // namespace

void describe(Schema& schema) {
  bindings().describe(schema);
}

std::vector<Term> agreed(const Options& options) {
  return bindings().agreed(options);
}

Options read_options(Reader& reader, const Format& precision) {
  Options options;
  options.codec = {.format = &precision};
  bindings().read(reader, options);
  return options;
}

void take_live(Options& options, const Options& from) {
  options.learning_rate = from.learning_rate;
  options.schedule = from.schedule;
  options.local_steps = from.local_steps;
  options.batch_size = from.batch_size;
  options.algorithm = from.algorithm;
  options.outer = from.outer;
  options.outer_learning_rate = from.outer_learning_rate;
  options.outer_momentum = from.outer_momentum;
  options.outer_pull = from.outer_pull;
  options.penalty = from.penalty;
  options.relaxation = from.relaxation;
  options.codec = from.codec;
  auto masks = std::move(options.aggregation.slicing.masks);
  options.aggregation = from.aggregation;
  options.aggregation.slicing.masks = std::move(masks);
  options.overlap = from.overlap;
}

std::uint64_t form_of(const Options& options) {
  const Aggregation& aggregation = options.aggregation;
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  return stable_hash(fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {}", full_name(options), text(options.outer_learning_rate),
      text(options.outer_momentum), options.outer_pull, options.penalty, options.relaxation,
      to_string(options.codec), options.codec.coding.parts, aggregation.rule->name,
      aggregation.liars, aggregation.slicing.is_on, options.overlap));
}

Needs needs_of(const Options& options) {
  Needs needs = options.algorithm->needs;
  needs.overlaps = needs.overlaps || options.overlap;
  needs.liars = options.aggregation.liars;
  needs.sums_models = options.aggregation.rule->is_plain;
  const Slicing& slicing = options.aggregation.slicing;
  if (!options.codec.remembers() && !slicing.is_on) return needs;
  needs.fanout = Fanout::per_edge;
  needs.in_order = true;
  needs.is_masked = slicing.is_on && slicing.is_masked;
  needs.sums_models = needs.sums_models && !needs.is_masked;
  return needs;
}

std::vector<EncodingChoice> encodings_of(const Options& options) {
  const WireForm& form = options.codec;
  std::vector<EncodingChoice> encodings;
  for (std::size_t rung = 0; form.coding.is_chosen && rung < rung_count(); ++rung)
    encodings.push_back({rung_name(form, rung), shortening_of(form, rung)});
  return encodings;
}

std::vector<LocalOptimizerKind> local_optimizers() {
  std::vector<LocalOptimizerKind> all;
  for (std::size_t k = 0; k < kLocalOptimizers.size(); ++k)
    all.push_back(static_cast<LocalOptimizerKind>(k));
  return all;
}

bool is_linear(LocalOptimizerKind kind) {
  return kind != LocalOptimizerKind::adam && kind != LocalOptimizerKind::adamw;
}

bool allows(const OptimizerRule& rule, LocalOptimizerKind kind) {
  if (rule.allowed == OptimizerRule::Allowed::any || kind == LocalOptimizerKind::sgd) return true;
  return rule.allowed == OptimizerRule::Allowed::linear && is_linear(kind);
}

std::string_view name(LocalOptimizerKind kind) {
  return kLocalOptimizers[static_cast<std::size_t>(kind)];
}

std::string_view name(OuterKind kind) {
  return kOuterKinds[static_cast<std::size_t>(kind)];
}

std::string full_name(const Options& options) {
  std::string name(options.algorithm->name);
  if (options.outer != OuterKind::none) name += fmt::format("+{}", optim::name(options.outer));
  return name;
}

}  // namespace starling::optim
