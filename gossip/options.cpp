#include "gossip/options.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

#include "base/check.h"

namespace starling::gossip {
namespace {

using namespace std::string_view_literals;
using namespace std::chrono_literals;

constexpr std::array kPresets = {"local"sv, "lan"sv, "wan"sv};
constexpr std::array kMissing = {"late"sv, "reuse"sv, "self"sv};
constexpr std::array kSchedules = {"rounds"sv, "ssp"sv, "async"sv, "pairwise"sv};

std::optional<double> read_optional(Reader& reader, std::string_view name, double high) {
  if (reader.text(name).empty()) return std::nullopt;
  return reader.number(name, 0, high);
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
  schema.add({"cluster.id", "starling",
              "nodes of different ids ignore each other, whatever their addresses"});
  schema.add({"cluster.join", "",
              "HOST:PORT of the control address of any member; may be given several times; one "
              "that is down is no error",
              true});
  schema.add({"cluster.preset", "lan",
              "timing of probes and retries: local (one machine), lan, wan; a slower one "
              "raises fewer false alarms and notices a death later"});
  schema.add(
      {"cluster.expect", "0",
       "members to wait for before the first round; 0 starts at once; who does not come within ten "
       "seconds of the one before is not waited for"});
  schema.add({"exchange.schedule", "rounds",
              "when neighbours exchange: rounds (each waits for its neighbours' vectors of the "
              "same round, no longer than its patience), ssp (runs ahead by up to "
              "exchange.staleness rounds), async (waits for any one neighbour, whoever is first), "
              "pairwise "
              "(two at a time, for adpsgd and pairwise-ed, whose default it is)"});
  schema.add({"exchange.quorum", "1",
              "part of its neighbours, above 0, up to 1, that a node of schedule rounds waits for; "
              "smaller waits less for the slow, whose vectors are averaged late"});
  schema.add({"exchange.staleness", "3",
              "rounds that a node of schedule ssp may be ahead of its slowest neighbour; larger "
              "waits less and averages older vectors"});
  schema.add({"exchange.missing", "late",
              "for a vector that did not come in time: late (both ends mix each pair exactly once, "
              "when it is whole: the mean of all stays), reuse (the last one heard stands in: a "
              "lower floor under heavy loss, and the mean moves) or self (its weight stays with "
              "the node); directed graphs take reuse for late"});
  schema.add({"stop.rounds", "0", "finish after this many rounds; 0: no limit"});
  schema.add({"stop.seconds", "0", "finish after training this long, s; 0: no limit"});
  schema.add({"stop.loss", "", "finish when the evaluation loss is at most this"});
  schema.add(
      {"stop.accuracy", "", "finish when the evaluation accuracy, 0 to 1, is at least this"});
  schema.add({"eval.every", "10",
              "rounds between two evaluations; fewer sees more and takes time from training"});
}

std::string_view name(Schedule schedule) {
  return kSchedules[static_cast<std::size_t>(schedule)];
}

bool mixes_rounds(const Options& options) {
  return is_loose(options.schedule) || options.quorum < 1;
}

bool counts_pairs(const Options& options) {
  // What each is told anew all the time need not come every time.
  const bool takes_newest =
      options.needs.delivery == optim::Delivery::per_edge && is_loose(options.schedule);
  return options.missing == Missing::late && !takes_newest;
}

std::string_view name(Missing missing) {
  return kMissing[static_cast<std::size_t>(missing)];
}

Options read_options(Reader& reader) {
  Options options;
  options.cluster = reader.text("cluster.id");
  for (const std::string& seed : reader.list("cluster.join")) {
    const auto endpoint = parse_endpoint(seed);
    if (!endpoint)
      reader.mistake("cluster.join", endpoint.error().text);
    else if (endpoint->port == 0)
      reader.mistake("cluster.join",
                     fmt::format("\"{}\" has port 0; expected the port of a member", seed));
    else
      options.seeds.push_back(*endpoint);
  }
  options.timing = timing_of(kPresets[reader.choice("cluster.preset", kPresets)]);
  options.expect = static_cast<std::size_t>(reader.integer("cluster.expect", 0, 4096));
  options.schedule = static_cast<Schedule>(reader.choice("exchange.schedule", kSchedules));
  options.quorum = reader.number("exchange.quorum", 1e-9, 1);
  options.staleness =
      static_cast<std::uint64_t>(reader.integer("exchange.staleness", 0, 1'000'000));
  options.missing = static_cast<Missing>(reader.choice("exchange.missing", kMissing));
  options.goal.rounds =
      static_cast<std::uint64_t>(reader.integer("stop.rounds", 0, INT64_C(1) << 40));
  options.goal.seconds = reader.number("stop.seconds", 0, 1e9);
  options.goal.loss = read_optional(reader, "stop.loss", 1e300);
  options.goal.accuracy = read_optional(reader, "stop.accuracy", 1);
  options.evaluate_every =
      static_cast<std::uint64_t>(reader.integer("eval.every", 1, 1'000'000'000));
  options.topology = topology::read_options(reader);
  return options;
}

}  // namespace starling::gossip
