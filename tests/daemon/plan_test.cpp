#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "gossip/schedule.h"
#include "optim/codec/format.h"
#include "optim/codec/wire_form.h"
#include "tests/daemon/planning.h"

using namespace starling;
using namespace starling::daemon;
using nlohmann::json;

namespace {

// A file that goes away with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    std::string path = (std::filesystem::temp_directory_path() / "starling-XXXXXX").string();
    ::close(::mkstemp(path.data()));
    path_ = path;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("A plan leads edges around nodes that nobody can dial") {
  const auto text =
      plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "node-2,node-3", "--json"});
  REQUIRE(text.has_value());
  const json document = json::parse(*text);
  CHECK(document["hidden"] == json{"node-2", "node-3"});
  CHECK(document["replaced"] == json{{{"from", "node-2"}, {"to", "node-3"}}});
  CHECK(document["detours"].size() == 2);
  CHECK(document["connected"] == true);
  CHECK(*plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "2", "--json"}) == *text);
  CHECK(holds(*plan(Words{"--topology.kind=ring", "-n", "4", "--hidden", "2"}),
              "2 nodes; 1 edges of two of them give way to 2 others"));
  CHECK(holds(*plan(Words{"-n", "4", "--hidden", "1", "--dot"}), "\"node-3\" [style=dashed];"));
  CHECK(holds(plan_error(Words{"-n", "4", "--hidden", "5"}), "expected 0 to 4"));
  CHECK(holds(plan_error(Words{"-n", "4", "--hidden", "node-9"}), "there is no node-9"));
}

TEST_CASE("A plan is one JSON document with what a topology costs") {
  const auto text =
      plan(Words{"--topology.kind=ring", "-n", "16", "--json", "--model-bytes", "1000"});
  REQUIRE(text.has_value());
  const json plan = json::parse(*text);
  CHECK(plan["kind"] == "ring");
  CHECK(plan["nodes"] == 16);
  CHECK(plan["edges"] == 16);
  CHECK(plan["degree"] == json{{"least", 2}, {"most", 2}, {"mean", 2.0}});
  CHECK(plan["diameter"] == 8);
  CHECK(plan["spectral_gap"].get<double>() == doctest::Approx(0.0507).epsilon(0.01));
  CHECK(plan["rounds_to_consensus"] == 225);
  CHECK(plan["bytes_per_round"] == json{{"node", 2000.0}, {"total", 32000.0}});
  CHECK(plan["codec"] == json{{"name", "f32"}, {"vector_bytes", 1000.0}, {"memory_bytes", 0.0}});
}

TEST_CASE("A plan says how many liars a graph tolerates") {
  const Words complete = {"--topology.kind=complete", "-n", "16"};
  CHECK(holds(*plan(complete), "2 of 16 (12 %) with exchange.aggregation = clip"));
  const Words ring = {"--topology.kind=ring", "-n", "16"};
  CHECK(holds(*plan(ring), "none for sure"));
  CHECK(holds(*plan(ring), "(connectivity 0.152; one asks for more than 3)"));
  const json document = json::parse(*plan(Words{"-n", "16", "--json", "--topology.kind=complete"}));
  CHECK(document["liars"] == 2);
  CHECK(document["connectivity"].get<double>() == doctest::Approx(16));
  CHECK_FALSE(holds(*plan(Words{"--topology.kind=exponential", "-n", "16"}), "liars"));
}

TEST_CASE("A plan computes the size of the model of a configuration") {
  const Words words = {"-n", "4", "--model-bytes", "auto", "--json", "--model.hidden=2"};
  CHECK(json::parse(*plan(words))["model_bytes"] == 4 * (784 * 2 + 2 + 2 * 10 + 10));
}

// 940584 bytes: 235146 numbers, 918 blocks of 256 with four bits a number and a scale of four
// bytes, and one of 138.
TEST_CASE("A plan says what the codec sends and remembers") {
  constexpr double kModel = 940'584, kVector = 918 * 132 + 73;
  const auto with = [](Words more) {
    Words words = {"--topology.kind=ring", "-n", "16", "--model-bytes", "940584"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    return text ? *text : text.error().text;
  };
  const auto codec = [&](Words more) {
    more.emplace_back("--json");
    return json::parse(with(more));
  };
  const json i4 = codec({"--exchange.codec=i4"});
  CHECK(i4["codec"] ==
        json{{"name", "i4"}, {"vector_bytes", kVector}, {"memory_bytes", 4 * kModel}});
  CHECK(i4["bytes_per_round"]["node"] == 2 * kVector);
  const json parts = codec({"--exchange.codec=i4", "--exchange.parts=4"});
  CHECK(parts["codec"]["vector_bytes"].get<double>() == doctest::Approx(kVector / 4).epsilon(1e-3));
  CHECK(parts["codec"]["memory_bytes"] == 4 * kModel);
  // As many numbers, of twice the size in the memory.
  const json wide = codec({"--exchange.codec=i4", "--model.precision=f64"});
  CHECK(wide["codec"]["vector_bytes"].get<double>() == doctest::Approx(kVector / 2).epsilon(1e-3));
  CHECK(wide["codec"]["memory_bytes"] == 4 * kModel);
  CHECK(codec({"--exchange.codec=bf16"})["codec"] ==
        json{{"name", "bf16"}, {"vector_bytes", kModel / 2}, {"memory_bytes", 0.0}});
  const json tracking = codec({"--exchange.codec=i4", "--optim.algorithm=gt"});
  CHECK(tracking["codec"]["vector_bytes"] == 2 * kVector);
  CHECK(tracking["codec"]["memory_bytes"] == 8 * kModel);
  CHECK(holds(with({"--exchange.codec=i4"}),
              "i4, 121 kB a vector, 7.76 x less than f32, 3.76 MB remembered a node"));
  CHECK(holds(with({}), "f32, 941 kB a vector\n"));
  CHECK(holds(with({"--exchange.codec=auto"}), "auto, 941 kB a vector, down to 121 kB"));
  CHECK(holds(with({"--exchange.codec=i5"}), "expected one of native, f32"));
}

TEST_CASE("A plan has every codec that goes with the run") {
  const auto names = [](Words more) {
    Words words = {"--topology.kind=ring", "-n", "16", "--model-bytes", "940584", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    REQUIRE(text.has_value());
    Words all;
    const json document = json::parse(*text);
    for (const json& codec : document["codecs"]) {
      all.push_back(codec["name"].get<std::string>());
      CHECK(codec["vector_bytes"].get<double>() > 0);
      CHECK(codec["memory_bytes"].get<double>() >= 0);
    }
    return all;
  };
  CHECK(names({}) == optim::wire_form_names());
  Words plain;
  for (const optim::Format& format : optim::formats()) plain.emplace_back(format.name);
  CHECK(names({"--exchange.missing=reuse"}) == plain);
}

TEST_CASE("A plan names four bits a number where they are legal and gain something") {
  const auto ways = [](Words more) {
    Words words = {"-n",      "16",          "--model-bytes", "940584", "--bandwidth",
                   "100mbit", "--step-time", "0.01",          "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto text = plan(words);
    REQUIRE(text.has_value());
    Words names;
    const json document = json::parse(*text);
    for (const json& way : document["link"]["ways"]) names.push_back(way["way"].get<std::string>());
    return names;
  };
  const auto names_i4 = [](const Words& names) {
    return std::ranges::find(names, "codec = i4") != names.end();
  };
  CHECK(names_i4(ways({"--topology.kind=ring"})));
  CHECK(names_i4(ways({"--topology.kind=ring", "--exchange.codec=bf16"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=exponential"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=ring", "--exchange.missing=reuse"})));
  CHECK_FALSE(names_i4(ways({"--topology.kind=ring", "--exchange.codec=i2"})));
}

TEST_CASE("A plan for people has a line for every figure") {
  const auto text = plan(Words{"-n", "16"});
  REQUIRE(text.has_value());
  for (const char* title :
       {"topology", "degree", "diameter", "spectral gap", "rounds to consensus", "bytes per round"})
    CHECK(holds(*text, title));
  CHECK(plan(Words{"-n", "1"}).has_value());
}

TEST_CASE("A plan says what a round takes on a link") {
  const auto text = plan(Words{"-n", "16", "--topology.kind=ring", "--model-bytes", "940584",
                               "--bandwidth", "100mbit", "--step-time", "0.01", "--json"});
  REQUIRE(text.has_value());
  const json link = json::parse(*text)["link"];
  CHECK(link["bytes_per_s"] == 12.5e6);
  const double vector_s = 940584 / 12.5e6;
  const double i8_s = (918 * 260 + 142) / 12.5e6, i4_s = (918 * 132 + 73) / 12.5e6;
  const double i2_s = (918 * 68 + 39) / 12.5e6, top_s = 23'788 / 12.5e6;
  const std::array<std::pair<const char*, double>, 12> expected = {
      {{"dpsgd", 0.01 + 2 * vector_s},
       {"dpsgd-pipelined", 2 * vector_s},
       {"adpsgd", vector_s},
       {"codec = f16", 0.01 + vector_s},
       {"codec = bf16", 0.01 + vector_s},
       {"codec = i8", 0.01 + 2 * i8_s},
       {"codec = i4", 0.01 + 2 * i4_s},
       {"codec = i2", 0.01 + 2 * i2_s},
       {"ed, codec = top:5%", 0.01 + 2 * top_s},
       {"local-steps = 8", 0.08 + 2 * vector_s},
       {"matching, local-steps = 8", 0.08 + vector_s},
       {"local-steps = 136", 1.36 + 2 * vector_s}}};
  REQUIRE(link["ways"].size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CHECK(link["ways"][k]["way"] == expected[k].first);
    CHECK(link["ways"][k]["round_s"].get<double>() ==
          doctest::Approx(expected[k].second).epsilon(1e-5));
  }
  CHECK(link["ways"][0]["computing"].get<double>() ==
        doctest::Approx(0.01 / (0.01 + 2 * vector_s)));
  CHECK(link["ways"][2]["gain"].get<double>() == doctest::Approx((0.01 + 2 * vector_s) / vector_s));
}

TEST_CASE("A plan counts the vectors that each schedule sends") {
  // n = 8 on a complete graph; adpsgd is pairwise without being told so.
  const std::map<std::string, double> expected = {
      {"rounds", 7}, {"ssp", 7}, {"async", 7}, {"pairwise", 1}, {"allreduce", 2 * 7.0 / 8}};
  for (const gossip::ScheduleRow& row : gossip::schedules()) {
    CAPTURE(row.name);
    const auto text = plan(Words{"-n", "8", "--topology.kind=complete", "--model-bytes", "4000",
                                 fmt::format("--exchange.schedule={}", row.name), "--json"});
    REQUIRE(text.has_value());
    const json plan = json::parse(*text);
    REQUIRE(expected.contains(std::string(row.name)));
    CHECK(plan["schedule"] == row.name);
    CHECK(plan["vectors_per_round"] == expected.at(std::string(row.name)));
    CHECK(plan["bytes_per_round"]["node"] == 4000 * expected.at(std::string(row.name)));
  }
  const auto pairs = plan(Words{"-n", "8", "--optim.algorithm=adpsgd", "--json"});
  REQUIRE(pairs.has_value());
  CHECK(json::parse(*pairs)["schedule"] == "pairwise");
}

TEST_CASE("A plan counts the vectors of a sequence and says when all agree") {
  struct Row {
    std::string kind, sequence;
    double vectors;
    int rounds;
  };
  for (const Row& row : {Row{"complete", "matching", 1, 0}, Row{"auto", "base:2", 1, 3},
                         Row{"hypercube", "one-peer", 1, 3}, Row{"exponential", "one-peer", 1, 3},
                         Row{"auto", "base:3", 1, 3}, Row{"auto", "base:4", 2, 2}}) {
    CAPTURE(row.sequence);
    const auto text = plan(Words{"-n", "8", "--topology.kind=" + row.kind,
                                 "--topology.sequence=" + row.sequence, "--json"});
    REQUIRE(text.has_value());
    const json plan = json::parse(*text);
    CHECK(plan["sequence"] == row.sequence);
    CHECK(plan["kind"] == (row.kind == "auto" ? row.sequence : row.kind));
    const double rounds = plan["rounds_to_consensus"];
    const bool repeats = row.sequence != "matching";
    if (repeats) CHECK(rounds == row.rounds);
    CHECK((plan["mixing_rate"] == 0) == repeats);
    CHECK(plan["vectors_to_consensus"].get<double>() ==
          doctest::Approx(rounds * plan["vectors_per_round"].get<double>()));
    CHECK(plan["vectors_per_round"].get<double>() == doctest::Approx(row.vectors));
  }
}

TEST_CASE("A plan counts masked parts with eight bytes a number") {
  for (const auto& [codec, vectors] : std::map<std::string, double>{
           {"f32", 3 * 7.0 / 8}, {"f64", 2 * 7.0 / 8}, {"bf16", 5 * 7.0 / 8}}) {
    const auto text = plan(Words{"-n", "8", "--exchange.schedule=allreduce",
                                 "--exchange.masks=true", "--exchange.codec=" + codec, "--json"});
    REQUIRE(text.has_value());
    CHECK(json::parse(*text)["vectors_per_round"] == vectors);
  }
}

TEST_CASE("A plan of allreduce is of a complete graph") {
  const auto text = plan(Words{"-n", "8", "--exchange.schedule=allreduce", "--json"});
  REQUIRE(text.has_value());
  CHECK(json::parse(*text)["kind"] == "complete");
  CHECK(holds(plan_error(Words{"-n", "8", "--topology.kind=ring", "--exchange.schedule=allreduce"}),
              "expected complete"));
}

TEST_CASE("A node that sums for hidden ones sends more than the mean") {
  const auto way = [](const Words& hidden) {
    Words words{"-n",
                "8",
                "--topology.kind=complete",
                "--model-bytes",
                "1000000",
                "--bandwidth",
                "1MB",
                "--step-time",
                "1",
                "--json"};
    words.insert(words.end(), hidden.begin(), hidden.end());
    const auto text = plan(words);
    REQUIRE(text.has_value());
    const json plan = json::parse(*text);
    for (const json& row : plan["link"]["ways"])
      if (row["way"] == "schedule = allreduce") return row["round_s"].get<double>();
    return 0.0;
  };
  CHECK(way({}) == doctest::Approx(1 + 14.0 / 8));
  CHECK(way({"--hidden", "6"}) == doctest::Approx(1 + 8.0 / 2));
}

TEST_CASE("Nothing is gained over a link that costs nothing beside the step") {
  const auto text = plan(
      Words{"-n", "4", "--model-bytes", "4", "--bandwidth", "10GB", "--step-time", "1", "--json"});
  REQUIRE(text.has_value());
  const json ways = json::parse(*text)["link"]["ways"];
  CHECK(ways.size() == 8);
  for (const json& way : ways) CHECK(way["gain"].get<double>() == doctest::Approx(1));
}

TEST_CASE("The bandwidth of a plan is a number with a unit") {
  const auto bytes_per_s = [](const std::string& rate) {
    const auto text = plan(
        Words{"-n", "4", "--model-bytes", "4", "--bandwidth", rate, "--step-time", "1", "--json"});
    return text ? json::parse(*text)["link"]["bytes_per_s"].get<double>() : -1;
  };
  CHECK(bytes_per_s("8bit") == 1);
  CHECK(bytes_per_s("10mbit") == 1.25e6);
  CHECK(bytes_per_s("1gbit") == 125e6);
  CHECK(bytes_per_s("12.5MB") == 12.5e6);
  for (const char* wrong : {"100", "mbit", "100Mb", "-1mbit", "0gbit", "1e30GB", "2000GB", ""}) {
    CAPTURE(wrong);
    CHECK(bytes_per_s(wrong) == -1);
  }
}

TEST_CASE("A plan of a link says what is missing or wrong") {
  const auto error = [](Words more) {
    Words words = {"-n", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return plan_error(words);
  };
  CHECK(holds(error({"--bandwidth", "1gbit"}), "all three"));
  CHECK(holds(error({"--step-time", "1", "--model-bytes", "4"}), "all three"));
  const Words sized = {"--model-bytes", "4", "--bandwidth"};
  const auto with = [&](const std::string& bandwidth, const std::string& step) {
    return error({sized[0], sized[1], sized[2], bandwidth, "--step-time", step});
  };
  CHECK(holds(with("7parsec", "1"), "--bandwidth \"7parsec\": expected a number and bit"));
  CHECK(holds(with("1gbit", "0"), "--step-time 0: expected seconds above 0"));
}

TEST_CASE("A plan draws its graph") {
  const auto text = plan(Words{"-n", "3", "--topology.kind=path", "--dot"});
  REQUIRE(text.has_value());
  CHECK(holds(*text, "\"node-0\" -- \"node-1\";"));
  CHECK_FALSE(holds(*text, "\"node-0\" -- \"node-2\";"));
}

TEST_CASE("A plan that cannot be says why") {
  CHECK(holds(plan_error({}), "-n"));
  CHECK(holds(plan_error({"-n", "0"}), "expected a whole number"));
  CHECK(holds(plan_error({"-n", "8", "--topology.kind=moon"}), "expected one of"));
  CHECK(holds(plan_error({"-n", "8", "--topology.knid=ring"}), "did you mean topology.kind"));
  CHECK(holds(plan_error({"-n", "6", "--topology.kind=hypercube"}), "power of two"));
  CHECK(holds(plan_error({"-n", "6", "--json", "--dot"}), "one of them"));
  CHECK(holds(plan_error({"-n", "6", "ring"}), "ring"));
  CHECK(carry_out(kPlan, Words{"-n", "six"}) == 2);
}

TEST_CASE("A plan reads an edge list") {
  const TemporaryFile line("node-0 node-1\nnode-1 node-2  # a path\n");
  const TemporaryFile stranger("node-0 node-1\nnode-1 moon\n");
  const TemporaryFile islands("node-0 node-1\nnode-2 node-3\n");
  const auto with = [](const std::string& path, const std::string& n) {
    return Words{"-n", n, "--topology.kind=file", "--topology.file=" + path, "--json"};
  };
  const auto text = plan(with(line.path(), "3"));
  REQUIRE(text.has_value());
  CHECK(json::parse(*text)["diameter"] == 2);
  CHECK(holds(plan_error(with("/nowhere/edges", "3")), "/nowhere/edges"));
  CHECK(holds(plan_error(with("/", "3")), "cannot be read"));
  CHECK(holds(plan_error(with(stranger.path(), "3")), "\"moon\""));
  CHECK(holds(plan_error(with(islands.path(), "4")), "connected"));
}
