#include "daemon/setup/legality.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "daemon/setup/config.h"
#include "daemon/setup/setting_sources.h"

using namespace starling;

namespace {

// What is wrong with these keys; empty where nothing is.
std::string verdict(std::vector<std::pair<std::string, std::string>> keys) {
  const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  const auto config = daemon::read_config(*settings, {});
  return config ? "" : config.error().text;
}

void refuses(const std::vector<std::pair<std::string, std::string>>& keys,
             const std::string& reason, const std::string& instead) {
  const std::string text = verdict(keys);
  CAPTURE(text);
  CHECK(text.find(reason) != std::string::npos);
  CHECK(text.find(instead) != std::string::npos);
}

}  // namespace

TEST_CASE("What does not go together is refused with its reason and the nearest choice") {
  refuses({{"optim.algorithm", "qg"}, {"optim.local-optimizer", "adam"}}, "momentum of its own",
          "use sgd");
  refuses({{"optim.algorithm", "ed"}, {"optim.local-optimizer", "adam"}}, "biased", "gt");
  refuses({{"optim.algorithm", "push-pull"}, {"exchange.codec", "i4"}}, "what has changed", "gt");
  refuses({{"optim.algorithm", "push-pull"}, {"exchange.codec", "f16"}}, "round a sum", "use f32");
  refuses({{"optim.algorithm", "push-pull"}, {"topology.sequence", "matching"}},
          "other edges in each round", "use still");
  refuses({{"optim.algorithm", "ed"}, {"topology.kind", "exponential"}}, "lead one way",
          "algorithm push-pull");
  CHECK(verdict({{"optim.algorithm", "push-pull"}, {"topology.kind", "exponential"}}).empty());
  for (const std::string algorithm : {"ed", "gt"}) {
    refuses({{"optim.algorithm", algorithm}, {"exchange.missing", "reuse"}}, algorithm, "use late");
  }
  for (const std::string schedule : {"ssp", "async"})
    refuses({{"optim.algorithm", "extra"}, {"exchange.schedule", schedule}}, "may diverge",
            "ed, gt or admm");
  refuses({{"optim.algorithm", "extra"}, {"exchange.quorum", ".5"}}, "may diverge",
          "ed, gt or admm");
  refuses({{"optim.algorithm", "extra"}, {"optim.local-optimizer", "adam"}}, "biased", "gt");
  for (const std::string algorithm : {"ed", "gt", "adpsgd", "pairwise-ed", "admm"})
    refuses({{"optim.algorithm", algorithm}, {"topology.kind", "exponential"}}, "one way",
            "hypercube");
  for (const std::string algorithm : {"dpsgd", "qg", "ed", "gt", "admm"})
    refuses({{"optim.algorithm", algorithm}, {"exchange.schedule", "pairwise"}}, "at once",
            "use rounds");
  for (const std::string schedule : {"rounds", "ssp", "async"})
    refuses({{"optim.algorithm", "adpsgd"}, {"exchange.schedule", schedule}}, "two at a time",
            "use pairwise");
  refuses({{"optim.algorithm", "pairwise-ed"}, {"optim.local-optimizer", "adam"}}, "biased", "gt");
  refuses({{"optim.algorithm", "admm"}, {"optim.local-optimizer", "momentum"}}, "of its own",
          "use sgd");
  refuses({{"optim.algorithm", "admm"}, {"exchange.missing", "reuse"}}, "once", "late");
  refuses({{"optim.algorithm", "adpsgd"}, {"exchange.missing", "reuse"}}, "same vectors", "late");
  refuses({{"exchange.schedule", "async"}, {"exchange.missing", "self"}}, "heard last", "reuse");
  refuses({{"exchange.schedule", "async"}, {"exchange.quorum", ".5"}}, "no quorum", "rounds");
  refuses({{"optim.algorithm", "dpsgd-pipelined"}, {"exchange.schedule", "async"}}, "gradient",
          "dpsgd");
  for (const std::string algorithm : {"ed", "led", "gt", "kgt", "extra"})
    refuses({{"optim.algorithm", algorithm}, {"optim.outer", "nesterov"}}, "diverges",
            "algorithm dpsgd");
  refuses({{"optim.algorithm", "noloco"}, {"optim.outer", "slowmo"}}, "of its own", "use none");
  refuses({{"optim.algorithm", "qg"}, {"optim.outer", "nesterov"}}, "of its own", "use none");
  for (const std::string algorithm : {"adpsgd", "pairwise-ed", "admm", "dpsgd-pipelined"})
    refuses({{"optim.algorithm", algorithm}, {"optim.outer", "nesterov"}}, algorithm, "use none");
  refuses({{"optim.outer", "nesterov"}, {"exchange.schedule", "async"}}, "ends a round", "rounds");
  refuses({{"optim.outer", "slowmo"}, {"exchange.quorum", ".5"}}, "ends a round", "quorum 1");
  refuses({{"optim.outer", "nesterov"}, {"topology.sequence", "base:2"}}, "it diverges",
          "matching");
  refuses({{"topology.sequence", "matching"}, {"exchange.missing", "reuse"}}, "earlier round",
          "late");
  refuses({{"topology.sequence", "matching"}, {"topology.kind", "exponential"}}, "exponential",
          "hypercube");
  refuses({{"topology.sequence", "matching"}, {"exchange.quorum", ".5"}}, "few neighbours",
          "use 1");
  refuses({{"topology.sequence", "one-peer"}}, "than auto", "exponential or hypercube");
  refuses({{"topology.sequence", "one-peer"},
           {"topology.kind", "exponential"},
           {"optim.algorithm", "ed"}},
          "one way", "hypercube");
  refuses({{"topology.sequence", "base:2"}, {"topology.kind", "ring"}}, "than ring", "auto");
  for (const std::string wrong : {"base", "base:1", "base:x", "matching:2", "sometimes", ":2"})
    refuses({{"topology.sequence", wrong}}, "expected", "");
  for (const gossip::ScheduleRow& row : gossip::schedules())
    if (!row.waits_for_all)
      refuses({{"topology.sequence", "matching"}, {"exchange.schedule", std::string(row.name)}},
              "no rounds", "schedule rounds");
  refuses({{"optim.algorithm", "ed"}, {"optim.local-optimizer", "adamw"}}, "biased", "gt");
}

TEST_CASE("Where rounds must have equally many steps the nodes do not choose how many") {
  const auto with = [](std::vector<std::pair<std::string, std::string>> keys) {
    keys.emplace_back("optim.local-steps", "auto");
    return keys;
  };
  refuses(with({{"optim.algorithm", "extra"}}), "diverges with more", "algorithm dpsgd or gt");
  refuses(with({{"optim.algorithm", "noloco"}}), "equally many", "use a number");
  refuses(with({{"optim.algorithm", "admm"}}), "of its own", "algorithm dpsgd or gt");
  refuses(with({{"optim.algorithm", "dpsgd-pipelined"}}), "while it steps", "use a number");
  for (const std::string outer : {"nesterov", "slowmo"})
    refuses(with({{"optim.outer", outer}}), "equally many", "optim.outer = none");
  for (const std::string schedule : {"ssp", "async", "pairwise"})
    refuses(with({{"exchange.schedule", schedule}}), schedule, "use a number, or schedule rounds");
  for (const std::string algorithm : {"dpsgd", "qg", "ed", "gt"})
    for (const std::string sequence : {"still", "matching"})
      CHECK(
          verdict(with({{"optim.algorithm", algorithm}, {"topology.sequence", sequence}})).empty());
  CHECK(verdict(with({{"model.kind", "external"}})).empty());
}

TEST_CASE("Held-out rows are trained on where there are some and rounds are in step") {
  const auto with = [](std::vector<std::pair<std::string, std::string>> keys) {
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"data.refit", "true"}, {"data.path", "x.csv"}, {"data.target", "y"}})
      keys.emplace_back(key, value);
    return keys;
  };
  refuses({{"data.refit", "true"}}, "there are none", "data.source csv");
  refuses(with({{"data.holdout", "0"}}), "there are none", "data.holdout above 0");
  refuses(with({{"data.test-path", "y.csv"}}), "there are none", "no data.test-path");
  refuses(with({{"model.kind", "external"}}), "there are none", "or false");
  refuses(with({{"stop.keep", "best"}}), "goes back to earlier ones", "stop.keep last");
  refuses(with({{"optim.clip", "1"}, {"optim.noise", "1"}}), "without noise", "optim.noise 0");
  for (const gossip::ScheduleRow& schedule : gossip::schedules()) {
    const std::string name(schedule.name);
    CAPTURE(name);
    const auto keys = with({{"exchange.schedule", name}});
    CHECK(verdict(keys).empty() == schedule.goes_in_step());
  }
}

TEST_CASE("Only what one node sums for all is masked and only between nodes with keys") {
  for (const gossip::ScheduleRow& schedule : gossip::schedules()) {
    const std::string name(schedule.name);
    CAPTURE(name);
    const std::vector<std::pair<std::string, std::string>> keys = {{"exchange.schedule", name},
                                                                   {"exchange.masks", "true"}};
    if (!schedule.is_in_slices) refuses(keys, "in schedule " + name, "schedule allreduce");
    CHECK(verdict(keys).empty() == schedule.is_in_slices);
  }
  refuses({{"exchange.schedule", "allreduce"},
           {"exchange.masks", "true"},
           {"security.insecure", "true"}},
          "mask by their keys", "use false");
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    CAPTURE(std::string(row.name));
    const auto verdict_with = [&](const char* masks) {
      return verdict({{"optim.algorithm", std::string(row.name)},
                      {"exchange.schedule", "allreduce"},
                      {"exchange.masks", masks}});
    };
    CHECK(verdict_with("true") == verdict_with("false"));
  }
  for (const std::string rule : {"clip", "trim"})
    refuses({{"exchange.schedule", "allreduce"},
             {"exchange.masks", "true"},
             {"exchange.aggregation", rule}},
            "shows no node the whole vector", "mean");
  refuses({{"exchange.masks", "maybe"}}, "exchange.masks", "true");
}

TEST_CASE("Nodes take unequal steps only where the limit stays what they weigh") {
  for (const optim::AlgorithmRow& row : optim::algorithms())
    for (const std::string weight : {"nodes", "samples", "steps"})
      for (const std::string pace : {"1", "4"}) {
        const bool by_steps = weight == "steps";
        const bool is_usual = pace == "1" && !by_steps;
        const std::string text = verdict({{"optim.algorithm", std::string(row.name)},
                                          {"data.weight", weight},
                                          {"optim.pace", pace}});
        CAPTURE(text);
        CHECK(text.empty() == (is_usual || allows_unequal_steps(row, by_steps)));
      }
  refuses({{"optim.algorithm", "dpsgd"}, {"optim.pace", "2"}}, "leans to nodes", "algorithm ed");
  refuses({{"optim.outer", "nesterov"}, {"optim.pace", "2"}}, "equally many", "use 1");
  refuses({{"optim.algorithm", "admm"}, {"data.weight", "steps"}}, "by their steps", "samples");
  for (const std::string schedule : {"async", "ssp"})
    refuses({{"optim.algorithm", "gt"}, {"optim.pace", "auto"}, {"exchange.schedule", schedule}},
            "optim.pace", "use a number, or schedule rounds");
  for (const std::string pace : {"0", "-1", "2000", "many"})
    refuses({{"optim.pace", pace}}, "expected auto, or a number", "1024");
}

TEST_CASE("Nodes choose how short vectors are where a round waits for them") {
  for (const std::string schedule : {"ssp", "async", "pairwise"})
    refuses({{"exchange.codec", "auto"}, {"exchange.schedule", schedule}}, schedule,
            "use i8, or schedule rounds");
  refuses({{"exchange.codec", "auto"}, {"exchange.missing", "reuse"}}, "auto tells what changed",
          "use late");
  for (const std::string sequence : {"still", "matching"})
    for (const std::string algorithm : {"dpsgd", "ed", "gt", "admm", "noloco"})
      CHECK(verdict({{"exchange.codec", "auto"},
                     {"optim.algorithm", algorithm},
                     {"topology.sequence", sequence}})
                .empty());
}

TEST_CASE("Only parts travel during the next steps and only where the algorithm allows it") {
  const auto with = [](std::vector<std::pair<std::string, std::string>> keys) {
    keys.emplace_back("exchange.overlap", "true");
    return keys;
  };
  refuses(with({{"optim.algorithm", "ed"}}), "a round late", "exchange.parts = 2");
  for (const std::string algorithm : {"dpsgd", "extra", "admm", "pairwise-ed", "dpsgd-pipelined"})
    refuses(with({{"optim.algorithm", algorithm}, {"exchange.parts", "2"}}), algorithm,
            "algorithm ed or gt");
  for (const std::string schedule : {"ssp", "async"})
    refuses(
        with({{"optim.algorithm", "gt"}, {"exchange.parts", "2"}, {"exchange.schedule", schedule}}),
        schedule, "schedule rounds");
  for (const std::string key : {"optim.local-steps", "exchange.codec"})
    refuses(with({{"optim.algorithm", "ed"}, {"exchange.parts", "2"}, {key, "auto"}}), "hides",
            "a number and i4");
  for (const std::string algorithm : {"ed", "gt"})
    for (const std::string sequence : {"still", "matching"})
      CHECK(verdict(with({{"optim.algorithm", algorithm},
                          {"exchange.parts", "2"},
                          {"topology.sequence", sequence}}))
                .empty());
}

TEST_CASE("What goes together is not refused") {
  for (const std::string algorithm : {"dpsgd", "dpsgd-pipelined", "qg", "ed", "gt", "extra",
                                      "noloco", "adpsgd", "pairwise-ed", "admm"})
    CHECK(verdict({{"optim.algorithm", algorithm}}).empty());
  for (const std::string algorithm : {"dpsgd", "qg", "led", "kgt", "extra", "noloco", "admm"})
    CHECK(verdict({{"optim.algorithm", algorithm}, {"topology.sequence", "matching"}}).empty());
  for (const std::string outer : {"nesterov", "slowmo"})
    for (const std::string sequence : {"still", "matching"})
      CHECK(verdict({{"optim.outer", outer}, {"topology.sequence", sequence}}).empty());
  for (const std::string algorithm : {"dpsgd", "qg", "ed", "led", "gt", "admm"})
    for (const std::string schedule : {"rounds", "ssp", "async"})
      CHECK(verdict({{"optim.algorithm", algorithm}, {"exchange.schedule", schedule}}).empty());
  for (const std::string algorithm : {"ed", "gt"})
    CHECK(verdict({{"optim.algorithm", algorithm}, {"exchange.quorum", ".5"}}).empty());
  CHECK(verdict({{"optim.algorithm", "gt"}, {"optim.local-optimizer", "adam"}}).empty());
  CHECK(verdict({{"optim.algorithm", "ed"}, {"optim.local-optimizer", "momentum"}}).empty());
  CHECK(verdict({{"optim.algorithm", "dpsgd"}, {"topology.kind", "exponential"}}).empty());
}

TEST_CASE("More nodes than reference problems are refused with the key that makes more") {
  const std::vector<std::pair<std::string, std::string>> keys = {{"data.source", "reference"}};
  const auto settings = daemon::load_settings(daemon::schema(), {}, keys);
  REQUIRE(settings);
  const auto config = daemon::read_config(*settings, {});
  REQUIRE(config);
  CHECK(daemon::validate_cluster(*config, 16));
  const auto refused = daemon::validate_cluster(*config, 17);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text ==
        "17 nodes: data.reference.n = 16 makes 16 problems, one a node; expected at most 16 nodes, "
        "or data.reference.n = 17");
}

// Tables that are cut by columns are learned by the dual of linear models.
TEST_CASE("What columns apart cannot have is refused with its reason") {
  using Keys = std::vector<std::pair<std::string, std::string>>;
  const Keys columns{{"data.path", "x.csv"},
                     {"data.target", "y"},
                     {"data.split", "columns"},
                     {"data.key", "id"}};
  CHECK(verdict(columns).empty());
  const auto with = [&](const std::string& key, const std::string& value) {
    Keys keys = columns;
    std::erase_if(keys, [&](const auto& pair) { return pair.first == key; });
    keys.emplace_back(key, value);
    return keys;
  };
  refuses(with("data.key", ""), "matches rows by a key", "name its column");
  refuses(with("data.key", "y"), "is the target too", "another column");
  refuses(with("data.source", "digits"), "no columns to cut", "csv");
  refuses(with("data.test-path", "t.csv"), "no row is held out", "expected none");
  refuses(with("data.shard", "0/2"), "shares no rows out", "expected auto");
  refuses(with("data.partition", "by-label"), "shares no rows out", "expected iid");
  refuses(with("data.weight", "samples"), "one loss", "expected nodes");
  refuses(with("data.refit", "true"), "no row is held out", "expected false");
  refuses(with("data.suppress-below", "5"), "tells no words", "use 0");
  refuses(with("model.kind", "mlp"), "dual of linear models alone", "auto");
  refuses(with("model.l2", "0"), "l2 above 0", "auto or a number");
  refuses(with("model.class-weight", "balanced"), "every row as much", "an empty one");
  refuses(with("optim.weight-decay", "0.1"), "in place of weights", "model.l2");
  refuses(with("optim.algorithm", "gt"), "steps by gradients", "auto or admm");
}

TEST_CASE("An accuracy is no goal where the targets are numbers") {
  const auto settings = daemon::load_settings(
      daemon::schema(), {},
      std::vector<std::pair<std::string, std::string>>{{"stop.accuracy", ".9"}});
  REQUIRE(settings);
  const auto config = daemon::read_config(*settings, {});
  REQUIRE(config);
  models::Data data;
  const auto refused = daemon::validate_goal(*config, data);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("stop.loss") != std::string::npos);
  data.train.classes = 2;
  CHECK(daemon::validate_goal(*config, data));
}

TEST_CASE("Every rule of averaging is legal where the differences that it counts are there") {
  for (const optim::MixRule& rule : optim::mix_rules())
    for (const optim::AlgorithmRow& row : optim::algorithms()) {
      const std::string text =
          verdict({{"exchange.aggregation", std::string(rule.name)},
                   {"optim.algorithm", std::string(row.name)},
                   {"exchange.schedule", row.needs.is_pairwise ? "pairwise" : "rounds"}});
      CAPTURE(rule.name);
      CAPTURE(row.name);
      CAPTURE(text);
      const bool is_trim_refused = rule.is_trimmed && (row.is_exact || row.needs.is_pairwise);
      CHECK(text.empty() == (rule.is_plain || (row.distance_refusal.empty() && !is_trim_refused)));
    }
  const std::pair<std::string, std::string> clip{"exchange.aggregation", "clip"};
  const std::pair<std::string, std::string> trim{"exchange.aggregation", "trim"};
  refuses({clip, {"optim.algorithm", "admm"}}, "duals", "use mean, or algorithm ed");
  refuses({clip, {"optim.algorithm", "ed"}, {"exchange.parts", "2"}}, "one part", "parts = 1");
  refuses({clip,
           {"optim.algorithm", "dpsgd"},
           {"exchange.schedule", "allreduce"},
           {"topology.kind", "complete"}},
          "whole vector", "schedule rounds");
  const std::pair<std::string, std::string> dpsgd{"optim.algorithm", "dpsgd"};
  const std::pair<std::string, std::string> matching{"topology.sequence", "matching"};
  for (const char* outer : {"nesterov", "slowmo"})
    refuses({clip, dpsgd, matching, {"optim.outer", outer}}, "one neighbour pulled",
            "sequence still");
  refuses({clip, dpsgd, {"topology.sequence", "one-peer"}, {"topology.kind", "exponential"}},
          "one way alone", "kind hypercube");
  refuses({trim, {"optim.algorithm", "gt"}}, "both ends", "use clip");
  refuses({trim, {"optim.algorithm", "dpsgd"}, {"topology.sequence", "matching"}},
          "one neighbour at a time", "use clip");
  refuses({trim, {"optim.algorithm", "dpsgd"}, {"exchange.codec", "i8"}}, "whole vectors",
          "codec bf16");
}

TEST_CASE("What would tell of rows beside clipped and noisy gradients is refused") {
  refuses({{"optim.noise", "1.5"}}, "1.5 is in units of optim.clip",
          "use optim.clip above 0, or noise 0");
  refuses({{"stop.epsilon", "3"}}, "3 bounds what noisy steps tell", "use optim.noise above 0");
  refuses({{"optim.clip", "1"}, {"optim.algorithm", "admm"}}, "admm solves for all samples",
          "use 0, or algorithm ed or gt");
  refuses({{"optim.clip", "1"}, {"model.kind", "external"}}, "not seen by the daemon",
          "use 0, and clip in the trainer");
  refuses({{"optim.clip", "1"}, {"optim.noise", "1"}, {"data.source", "reference"}},
          "evaluations, which others are told", "use data.test-path or data.holdout above 0");
  refuses({{"optim.clip", "1"},
           {"optim.noise", "1"},
           {"data.target", "price"},
           {"data.path", "a.csv"},
           {"data.holdout", "0"}},
          "(data.holdout = 0)", "or noise 0");
}

TEST_CASE("Every algorithm that takes its steps by gradients may clip them") {
  for (const optim::AlgorithmRow& row : optim::algorithms()) {
    if (row.loop == optim::LoopDuty::serve_gradients) continue;
    const std::string name(row.name);
    CAPTURE(name);
    CHECK(verdict({{"optim.clip", "1"}, {"optim.noise", "1"}, {"optim.algorithm", name}}).empty());
  }
  CHECK(verdict({{"optim.clip", "1"}, {"data.source", "reference"}}).empty());
  // auto takes an algorithm that can be private, also where admm would be first.
  CHECK(verdict({{"optim.clip", "1"},
                 {"optim.noise", "1"},
                 {"data.partition", "by-label"},
                 {"topology.kind", "ring"},
                 {"cluster.preset", "wan"}})
            .empty());
  CHECK(
      verdict({{"node.role", "relay"}, {"optim.clip", "1"}, {"optim.algorithm", "admm"}}).empty());
}

TEST_CASE("A group has a name as nodes have") {
  CHECK(verdict({{"node.group", "Zürich 2"}}).empty());
  for (const std::string& group : {std::string("a/b"), std::string(" a"), std::string(65, 'a')})
    CHECK(verdict({{"node.group", group}}).find("node.group") != std::string::npos);
}
