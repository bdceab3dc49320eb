#include "gossip/options.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

#include "base/bindings.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/limits.h"
#include "topology/build.h"

namespace starling::gossip {
namespace {

using namespace std::string_view_literals;
using namespace std::chrono_literals;

constexpr std::array kPresets = {"local"sv, "lan"sv, "wan"sv};
constexpr double kExpectPatienceLimit = 1e7;  // s
constexpr std::array kGoalOf = {"mean"sv, "worst"sv};
constexpr std::array kGoalKeep = {"last"sv, "best"sv};
constexpr std::array kMissing = {"late"sv, "reuse"sv, "self"sv};
constexpr std::array kAlone = {"rest"sv, "train"sv};

void read_seeds(Reader& reader, Options& options) {
  std::size_t in_dns = 0;
  for (const std::string& text : reader.list("cluster.join")) {
    auto seed = parse_seed_name(text);
    if (!seed) {
      reader.mistake("cluster.join", seed.error().text);
      continue;
    }
    in_dns += seed->is_in_dns();
    options.seeds.push_back(*std::move(seed));
  }
  if (in_dns > kSeedNamesLimit)
    reader.mistake("cluster.join", fmt::format("holds {} names of the DNS; expected at most {}",
                                               in_dns, kSeedNamesLimit));
}

const Bindings<Options>& bindings() {
  using enum Scope;
  static const auto kBindings = [] {
    Bindings<Options> all;
    all.bind("cluster.id", &Options::cluster, Text{}, own,
             "nodes of different ids ignore each other, whatever their addresses")
        .add(
            {"cluster.join", "",
             "HOST:PORT of the control address of any member, HOST:PORT#KEY for one whose public "
             "key is known, dns:NAME:PORT for all addresses that the name servers know of NAME, or "
             "dns:_SERVICE._tcp.NAME for the hosts and ports of its SRV records; may be given "
             "several times; one that is down, or a name that does not exist yet, is no error",
             true},
            read_seeds)
        .add({"cluster.preset", "lan",
              "timing of probes and retries: local (one machine), lan, wan; a slower one "
              "raises fewer false alarms and notices a death later"},
             [](Reader& reader, Options& options) {
               options.timing = timing_of(kPresets[reader.choice("cluster.preset", kPresets)]);
             })
        .among(kPresets)
        .bind(
            "cluster.expect", &Options::expect, Whole{0, kMembersLimit}, own,
            "members with data that found the model together: before the first round a node waits "
            "until so many are there; 0 starts at once")
        .add(
            {"cluster.expect-patience", "0",
             "seconds for which a node waits for the next of the members of cluster.expect; 0: for "
             "as long as it takes, and ten where somebody has trained already; starling up takes "
             "60; smaller: a late site founds nothing, and its classes are left out; larger: one "
             "that never comes holds the others up"},
            [](Reader& reader, Options& options) {
              Real{0, kExpectPatienceLimit}.read(reader, "cluster.expect-patience",
                                                 options.expect_patience);
            })
        .bind("exchange.schedule", &Options::schedule, OneRow<ScheduleRow>{schedules()}, agreed,
              help_of("when neighbours exchange", schedules()))
        .live()
        .bind("exchange.quorum", &Options::quorum, Real{1e-9, 1}, agreed,
              "part of its neighbours, above 0, up to 1, that a node of schedule rounds waits for; "
              "smaller waits less for the slow, whose vectors are averaged late")
        .live()
        .bind("exchange.staleness", &Options::staleness, Whole{0, 1'000'000}, agreed,
              "rounds that a node of schedule ssp may be ahead of its slowest neighbour; larger "
              "waits less and averages older vectors")
        .live()
        .bind("exchange.missing", &Options::missing, OneOf{kMissing}, agreed,
              "for a vector that did not come in time: late (both ends mix each pair exactly once, "
              "when it is whole: the mean of all stays), reuse (the last one heard stands in: a "
              "lower floor under heavy loss, and the mean moves) or self (its weight stays with "
              "the node); directed graphs take reuse for late")
        .live()
        .bind(
            "exchange.alone", &Options::alone, OneOf{kAlone}, own,
            "what a node does that hears no neighbour for longer than its patience, or that finds "
            "none of those it was told of: rest (it begins no further round until one is back) or "
            "train (it goes on alone, towards its own optimum); one that never had any trains")
        .bind("stop.rounds", at(&Options::goal, &Goal::rounds), Whole{0, INT64_C(1) << 40}, agreed,
              "end the run after this many rounds of the fleet: of each node where nodes go in "
              "step, else by the mean of those that train; 0: no limit")
        .live()
        .bind("stop.seconds", at(&Options::goal, &Goal::seconds), Seconds{0, 1e9}, agreed,
              "end the run so many seconds after its first round; 0: no limit; the time for which "
              "the "
              "machine sleeps does not count")
        .live()
        .bind("stop.samples", at(&Options::goal, &Goal::samples), Whole{0, INT64_C(1) << 60},
              agreed, "end the run after so many samples, of all nodes together; 0: no limit")
        .live()
        .bind("stop.loss", at(&Options::goal, &Goal::loss), Real{0, 1e300}, agreed,
              "end the run when the held-out loss of the fleet (stop.of) is at most this")
        .live()
        .bind("stop.accuracy", at(&Options::goal, &Goal::accuracy), Real{0, 1}, agreed,
              "end the run when the held-out accuracy of the fleet (stop.of), 0 to 1, is at least "
              "this")
        .live()
        .bind("stop.of", at(&Options::goal, &Goal::of), OneOf{kGoalOf}, agreed,
              "of which nodes stop.loss and stop.accuracy are judged: by the mean of all, or the "
              "worst of them")
        .live()
        .bind("stop.patience", at(&Options::goal, &Goal::patience), Whole{0, 1'000'000'000}, agreed,
              "end the run after so many evaluations in a row without a gain of the fleet's "
              "held-out loss; 0: any number; smaller: noise ends the run early")
        .live()
        .bind("stop.keep", at(&Options::goal, &Goal::keep), OneOf{kGoalKeep}, agreed,
              "with which models the run ends: the last ones, or the best, those of the evaluation "
              "at which the held-out loss of the fleet was least")
        .bind(
            "stop.epsilon", at(&Options::goal, &Goal::epsilon), Real{0, 1e6}, agreed,
            "with optim.noise, a node takes no step that would bring its epsilon above this, over "
            "all its lives, and the run ends when more nodes have come to it than may lie; empty: "
            "no limit")
        .bind("eval.every", at(&Options::evaluation, &EvaluationPace::every),
              Whole{1, 1'000'000'000}, own,
              "rounds between two evaluations, at least; fewer sees more and takes time from "
              "training")
        .live()
        .bind("eval.share", at(&Options::evaluation, &EvaluationPace::share), Real{0.001, 1}, own,
              "part of a node's time that evaluations take at most: between two more rounds than "
              "eval.every may pass; 1: only eval.every counts")
        .live();
    return all;
  }();
  return kBindings;
}

}  // namespace

Timing timing_of(std::string_view preset) {
  if (preset == "local")
    return {.period = 400ms,
            .answer = 200ms,
            .suspicion = 5500ms,
            .unreachable = 2s,
            .refused = 600ms,
            .news = 50ms,
            .exchange = 10s,
            .retry = 50ms,
            .doubt_least = 250ms,
            .patience_least = 8s,
            .patience_initial = 2s};
  if (preset == "lan")
    return {.period = 500ms,
            .answer = 300ms,
            .suspicion = 5500ms,
            .unreachable = 2s,
            .refused = 1s,
            .news = 100ms,
            .exchange = 15s,
            .retry = 100ms,
            .doubt_least = 250ms,
            .patience_least = 8s,
            .patience_initial = 3s};
  ENSURE(preset == "wan", "a preset is local, lan or wan");
  return {.period = 2s,
          .answer = 1s,
          .suspicion = 15s,
          .unreachable = 8s,
          .refused = 4s,
          .news = 250ms,
          .exchange = 60s,
          .retry = 400ms,
          .doubt_least = 1s,
          .patience_least = 20s,
          .patience_initial = 10s};
}

void describe(Schema& schema) {
  bindings().describe(schema);
}

void take_live(Options& options, const Options& from) {
  options.topology = from.topology;
  options.algorithm = from.algorithm;
  options.codec = from.codec;
  options.needs = from.needs;
  options.encodings = from.encodings;
  options.training_form = from.training_form;
  options.schedule = from.schedule;
  options.quorum = from.quorum;
  options.staleness = from.staleness;
  options.missing = from.missing;
  options.goal = from.goal;
  options.local_steps = from.local_steps;
  options.evaluation = from.evaluation;
  options.checkpoint.rounds = from.checkpoint.rounds;
  options.checkpoint.every = from.checkpoint.every;
}

std::uint64_t form_of(const Options& options) {
  return stable_hash(fmt::format("{} {} {} {} {} {} {}", options.training_form,
                                 options.schedule->name, options.quorum, options.staleness,
                                 name(options.missing), to_string(options.topology.sequence),
                                 counts_pairs(options)));
}

std::vector<Term> exchange_terms(const Options& options) {
  return bindings().agreed(options);
}

bool mixes_rounds(const Options& options) {
  return options.schedule->is_loose || options.quorum < 1;
}

bool counts_pairs(const Options& options) {
  // Each new vector replaces the one before, so that some may be lost.
  const bool takes_newest = options.needs.fanout == optim::Fanout::per_edge &&
                            options.needs.pairing == optim::Pairing::newest &&
                            options.schedule->is_loose;
  // The two vectors of a pair would go in different rounds.
  const bool goes_one_way =
      options.topology.sequence.moves() && topology::is_directed(options.topology);
  return !options.needs.sums && (options.needs.in_order || (options.missing == Missing::late &&
                                                            !takes_newest && !goes_one_way));
}

std::string_view name(Missing missing) {
  return kMissing[static_cast<std::size_t>(missing)];
}

Options read_options(Reader& reader) {
  Options options;
  bindings().read(reader, options);
  options.topology = topology::read_options(reader);
  return options;
}

}  // namespace starling::gossip
