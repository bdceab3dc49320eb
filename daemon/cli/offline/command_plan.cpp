#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"
#include "daemon/cli/help/options.h"
#include "daemon/cli/offline/commands.h"
#include "daemon/cli/offline/plan_question.h"
#include "daemon/cli/terminal/table.h"
#include "daemon/rest/status_json.h"
#include "topology/build.h"
#include "topology/connectivity.h"
#include "topology/plan.h"

namespace starling::daemon {
namespace {

using nlohmann::json;

// To six digits of the weights, as measured (docs/columns.md).
constexpr int kRoundsOfColumns = 300, kMostRoundsOfColumns = 1000;

// ---- the answer

struct BytesPerRound {
  double node = 0;  // what one node receives, on average, and sends
  double total = 0;
};

// REQUIRES the size of the model.
BytesPerRound bytes_per_round(const topology::Plan& plan, const Question& question) {
  const double vector_bytes = question.codec.vector_bytes(*question.model_bytes);
  const double node = question.traffic.mean_vectors(plan) * vector_bytes;
  return {.node = node, .total = node * plan.n};
}

// As a row names it: "codec = i4", "ed, codec = top:5%".
std::string way_with(const CodecPlan& codec) {
  const bool is_sparse = codec.form.coding.compressor && codec.form.coding.compressor->is_sparse;
  return fmt::format("{}codec = {}", is_sparse ? "ed, " : "", codec.name());
}

// REQUIRES a link. Its rows are of algorithms that offer one vector.
std::vector<RoundTime> round_times(const topology::Plan& plan, const Question& question) {
  LinkOptions link = *question.link;
  link.neighbors = plan.degree.most;
  const CodecPlan& codec = question.codec;
  const std::int64_t model_bytes = *question.model_bytes;
  link.vector_bytes = codec.vector_bytes(model_bytes, codec.form);
  if (plan.kind == topology::to_string(topology::Kind::complete) && plan.n > 2 &&
      !codec.form.remembers())
    link.in_slices = question.traffic.with("allreduce").most_vectors(plan);
  if (!codec.form.remembers())
    for (const CodecPlan& other : alternatives(codec, question.may_remember))
      if (const double bytes = other.vector_bytes(model_bytes, other.form);
          !other.form.coding.is_chosen && bytes < link.vector_bytes)
        link.codecs.emplace_back(way_with(other), bytes);
  return plan_rounds(link);
}

json to_json(const CodecPlan& codec, std::int64_t model_bytes, int neighbors) {
  return {{"name", codec.name()},
          {"vector_bytes", codec.vector_bytes(model_bytes)},
          {"memory_bytes", codec.memory_bytes(model_bytes, neighbors)}};
}

json to_json(const std::vector<CodecPlan>& codecs, std::int64_t model_bytes, int neighbors) {
  json list = json::array();
  for (const CodecPlan& codec : codecs) list.push_back(to_json(codec, model_bytes, neighbors));
  return list;
}

json to_json(const std::vector<RoundTime>& rounds, const LinkOptions& link) {
  json ways = json::array();
  for (const RoundTime& round : rounds)
    ways.push_back({{"way", round.way},
                    {"local_steps", round.steps},
                    {"round_s", round.round_s},
                    {"computing", round.computing},
                    {"steps_per_s", round.steps_per_s},
                    {"gain", round.gain}});
  return {{"bytes_per_s", link.bytes_per_s}, {"step_s", link.step_s}, {"ways", std::move(ways)}};
}

json names_of(const Question& question, const topology::Edges& edges) {
  json list = json::array();
  for (const auto& [from, to] : edges)
    list.push_back({{"from", question.sites[from].name}, {"to", question.sites[to].name}});
  return list;
}

// Nothing if no node is hidden.
void put_hidden(json& object, const Question& question, const topology::Detours& detours) {
  json hidden = json::array();
  for (const topology::Site& site : question.sites)
    if (site.is_hidden) hidden.push_back(site.name);
  if (hidden.empty()) return;
  object["hidden"] = std::move(hidden);
  object["replaced"] = names_of(question, detours.replaced);
  object["detours"] = names_of(question, detours.added);
}

// That a node sends, on average. REQUIRES a graph that agrees.
double vectors_to_consensus(const topology::Plan& plan, const Question& question) {
  return static_cast<double>(*plan.rounds_to_consensus) * question.traffic.mean_vectors(plan);
}

json to_json(const topology::Plan& plan, const Question& question) {
  json object = {
      {"kind", plan.kind},
      {"nodes", plan.n},
      {"edges", plan.edges},
      {"directed", plan.directed},
      {"connected", plan.connected},
      {"degree",
       {{"least", plan.degree.least}, {"most", plan.degree.most}, {"mean", plan.degree.mean}}},
      {"mixing_rate", plan.lambda2},
      {"spectral_gap", plan.spectral_gap},
      {"schedule", question.traffic.schedule->name},
      {"sequence", topology::to_string(question.topology.sequence)},
      {"vectors_per_round", question.traffic.mean_vectors(plan)}};
  if (plan.connectivity) {
    object["connectivity"] = *plan.connectivity;
    object["liars"] = topology::tolerated_liars(*plan.connectivity);
  }
  if (plan.diameter) object["diameter"] = *plan.diameter;
  if (plan.rounds_to_consensus) {
    object["rounds_to_consensus"] = *plan.rounds_to_consensus;
    object["vectors_to_consensus"] = vectors_to_consensus(plan, question);
  }
  if (const auto& model_bytes = question.model_bytes) {
    const BytesPerRound bytes = bytes_per_round(plan, question);
    object["model_bytes"] = *model_bytes;
    object["codec"] = to_json(question.codec, *model_bytes, plan.degree.most);
    object["codecs"] = to_json(alternatives(question.codec, question.may_remember), *model_bytes,
                               plan.degree.most);
    object["bytes_per_round"] = {{"node", bytes.node}, {"total", bytes.total}};
  }
  if (question.is_by_columns) object["rounds_of_columns"] = kRoundsOfColumns;
  if (question.link) object["link"] = to_json(round_times(plan, question), *question.link);
  if (question.privacy) object["privacy"] = to_json(*question.privacy);
  return object;
}

std::string degree_text(const topology::DegreeRange& degree) {
  if (degree.least == degree.most) return fmt::format("{}", degree.least);
  return fmt::format("{} to {}, {:.3g} on average", degree.least, degree.most, degree.mean);
}

// "i4, 121 kB a vector, 7.76 x less than f32, 3.76 MB remembered a node"
std::string codec_text(const topology::Plan& plan, const Question& question) {
  const CodecPlan& codec = question.codec;
  if (!question.model_bytes) return codec.name() + " (its bytes with --model-bytes)";
  const std::int64_t model_bytes = *question.model_bytes;
  const double vector = codec.vector_bytes(model_bytes);
  const double offered = static_cast<double>(codec.vectors) * static_cast<double>(model_bytes);
  std::string text = fmt::format("{}, {} a vector", codec.name(), human_bytes(vector));
  if (codec.form.coding.is_chosen)
    text += fmt::format(", down to {} as the link asks",
                        human_bytes(codec.with("i4").vector_bytes(model_bytes)));
  else if (!codec.is_native())
    text += fmt::format(", {:.3g} x less than {}", offered / vector,
                        codec.number_bytes == sizeof(float) ? "f32" : "f64");
  if (codec.form.remembers())
    text += fmt::format(", {} remembered a node",
                        human_bytes(codec.memory_bytes(model_bytes, plan.degree.most)));
  return text;
}

// "f32 941 kB, …, i4 121 kB, … a vector; from i8 on 3.76 MB remembered a node"
std::string codecs_text(const topology::Plan& plan, const Question& question) {
  std::vector<std::string> each;
  std::string memory;
  for (const CodecPlan& codec : alternatives(question.codec, question.may_remember)) {
    if (codec.form.coding.is_chosen) continue;  // its vectors are those of others
    each.push_back(codec.name() + " " + human_bytes(codec.vector_bytes(*question.model_bytes)));
    if (memory.empty() && codec.form.remembers())
      memory =
          fmt::format("; from {} on {} remembered a node", codec.name(),
                      human_bytes(codec.memory_bytes(*question.model_bytes, plan.degree.most)));
  }
  return fmt::format("{} a vector{}", fmt::join(each, ", "), memory);
}

std::string cost_text(const topology::Plan& plan, const Question& question) {
  if (!question.model_bytes)
    return fmt::format("{:.3g} vectors a node (in bytes with --model-bytes)",
                       question.traffic.mean_vectors(plan));
  const BytesPerRound bytes = bytes_per_round(plan, question);
  return fmt::format("{} a node, {} in all", human_bytes(bytes.node), human_bytes(bytes.total));
}

// "2 of 16 (12 %) with exchange.aggregation = clip (connectivity 16)"
std::string liars_text(double connectivity, int nodes) {
  const std::size_t liars = topology::tolerated_liars(connectivity);
  const std::string graph = fmt::format("connectivity {:.3g}", connectivity);
  if (liars == 0) return fmt::format("none for sure ({}; one asks for more than 3)", graph);
  return fmt::format("{} of {} ({:.0f} %) with exchange.aggregation = clip ({})", liars, nodes,
                     100 * static_cast<double>(liars) / nodes, graph);
}

// Empty: nothing bounds the learning rate for parts.
std::string parts_text(const topology::Plan& plan, const Question& question) {
  const topology::SequenceChoice& sequence = question.topology.sequence;
  if (question.codec.form.coding.parts == 1 || !sequence.moves() || !sequence.row->bounds_parts)
    return {};
  return fmt::format(
      "diverges above a learning rate of about {:.2g} / L (the spectral gap over the curvature of "
      "the loss); ed and admm allow larger ones",
      plan.spectral_gap);
}

std::string columns_text(const topology::Plan& plan, const Question& question) {
  std::string text =
      fmt::format("up to {} rounds with 2 to 5 sites, {} where their columns repeat each other",
                  kRoundsOfColumns, with_commas(kMostRoundsOfColumns));
  if (question.model_bytes)
    text += fmt::format("; {} rounds are {} a node", kRoundsOfColumns,
                        human_bytes(kRoundsOfColumns * bytes_per_round(plan, question).node));
  return text;
}

std::string consensus_text(const topology::Plan& plan, const Question& question) {
  if (!plan.rounds_to_consensus) return "never: not connected";
  return fmt::format("{} (to a millionth of the initial disagreement), {:.4g} vectors a node",
                     *plan.rounds_to_consensus, vectors_to_consensus(plan, question));
}

std::string to_lines(const topology::Plan& plan, const Question& question,
                     const topology::Detours& detours) {
  std::string text;
  const auto line = [&text](std::string_view title, const std::string& content) {
    text += fmt::format("{:<20}{}\n", title, content);
  };
  line("topology", fmt::format("{}, {} nodes, {} {}edges", plan.kind, plan.n, plan.edges,
                               plan.directed ? "directed " : ""));
  if (question.topology.sequence.moves())
    line("sequence", topology::to_string(question.topology.sequence));
  if (const auto hidden = std::ranges::count_if(question.sites, &topology::Site::is_hidden))
    line("not dialled",
         fmt::format("{} nodes; {} edges of two of them give way to {} others{}", hidden,
                     detours.replaced.size(), detours.added.size(),
                     question.topology.sequence.moves() ? "; rounds are matchings" : ""));
  line("degree", degree_text(plan.degree));
  line("diameter", plan.diameter
                       ? fmt::format("{} hop{}", *plan.diameter, *plan.diameter == 1 ? "" : "s")
                       : "never: not connected");
  line("spectral gap", fmt::format("{:.4g} (mixing rate {:.4g})", plan.spectral_gap, plan.lambda2));
  line("rounds to consensus", consensus_text(plan, question));
  if (plan.connectivity) line("liars", liars_text(*plan.connectivity, plan.n));
  if (const std::string bound = parts_text(plan, question); !bound.empty())
    line("gt with parts", bound);
  line("bytes per round", cost_text(plan, question));
  if (question.is_by_columns) line("columns apart", columns_text(plan, question));
  if (question.model_bytes || !question.codec.is_native())
    line("codec", codec_text(plan, question));
  if (question.model_bytes) line("any codec", codecs_text(plan, question));
  if (question.link) text += to_lines(round_times(plan, question));
  if (question.privacy) text += to_lines(*question.privacy);
  return text;
}

Outcome<int> run_plan(const CommandLine& line) {
  TRY(const std::string text, plan_text(line));
  fmt::print("{}", text);
  return kExitDone;
}

constexpr auto kPlanOptions = join(
    {{"nodes,n", "N", "nodes; they are named node-0, node-1, ..."},
     {"config,c", "FILE",
      "configuration, INI, of which the topology, the codec and the schedule are read"},
     {"topology.kind", "KIND",
      "who exchanges with whom, such as ring, torus and random; see starling config"},
     {"topology.degree", "K", "neighbours of a node, for the kinds that are drawn with so many"},
     {"topology.probability", "P", "of an edge, for the kinds that draw edges by it"},
     {"topology.seed", "S", "for the kinds that are drawn"},
     {"topology.file", "FILE", "for kind file: two node names a line"},
     {"topology.sequence", "NAME",
      "which of the edges a round uses, such as matching and base:2; see starling config"},
     {"hidden", "N|NAMES",
      "nodes that nobody can dial, as behind a NAT: the last N, or node-3,node-5"},
     {"groups", "N",
      "for topology.sequence=clusters: values of node.group, which nodes have in turn"},
     {"exchange.codec", "CODEC", "numbers on the wire, such as f32, bf16, i4 and top:5%"},
     {"exchange.schedule", "NAME",
      "when neighbours exchange, such as rounds and async; see starling config"},
     {"model-bytes", "B|auto",
      "size of the model as it is computed: 4 bytes a parameter, or 8 with model.precision = f64; "
      "auto: of that of the configuration, whose data are read"},
     {"bandwidth", "RATE",
      "of a node's own link, each way: 10mbit, 1gbit, 12.5MB; the units are bit, kbit, mbit, gbit, "
      "B, kB, MB and GB, a second"},
     {"step-time", "S",
      "of a local step, in seconds: of starling status --json, time.compute_s divided by "
      "run.steps"},
     {"privacy", "",
      "epsilon of each node by rounds, with optim.noise and optim.clip; the whole configuration is "
      "checked, and its data are read"},
     {"samples", "N", "with --privacy: samples of each node, and no data are read"}},
    kPrintingJson, {{"dot", "", "print the graph in the DOT language"}});

}  // namespace

Result<std::string> plan_text(const CommandLine& line) {
  TRY(Question question, read_question(line));
  TRY(const topology::Graph graph, topology::build(question.topology, question.sites));
  const auto sequence = topology::sequence_of(question.topology, question.sites, graph);
  if (sequence) question.traffic.sequence = topology::traffic(*sequence, graph.size());
  if (line.has("dot")) return topology::dot(graph, question.sites);
  const topology::Plan plan = topology::plan(
      graph, topology::graph_name(question.topology, question.sites.size()), sequence.get());
  const topology::Detours detours = topology::detours(question.topology, question.sites, graph);
  if (!line.has("json")) return to_lines(plan, question, detours);
  json object = to_json(plan, question);
  put_hidden(object, question, detours);
  return to_text(object) + "\n";
}

constinit const ProgramCommand kPlan = {
    .name = "plan",
    .summary = "what a topology costs and how fast it agrees",
    .usage = R"(starling plan -n N [-c FILE] [--topology.KEY=VALUE ...] [--hidden N|NAMES]
                     [--model-bytes B|auto] [--privacy [--samples N]] [--json | --dot]
       starling plan -n N --model-bytes B --bandwidth RATE --step-time S ...)",
    .description = R"(Computes, before anything is deployed: degree, diameter, spectral gap, the
rounds until the nodes agree up to a millionth of their initial disagreement, the bytes a round
costs, and what the codec of the configuration (exchange.codec) sends and remembers. With a
bandwidth and the time of a local step: how long a round takes, how much of that is computing, and
how many steps a second dpsgd-pipelined, adpsgd, i4 or more local steps would gain. With --privacy:
the epsilon that each node comes to, by rounds.)",
    .options = kPlanOptions,
    .notes = R"(Example: does a random graph of degree 4 beat the torus on 64 nodes?

  starling plan -n 64 --topology.kind=torus
  starling plan -n 64 --topology.kind=random --topology.degree=4

And if 48 of them are behind NATs?

  starling plan -n 64 --topology.kind=random --topology.degree=4 --hidden 48

What does a link of 100 Mbit/s cost?

  starling plan -n 16 --topology.kind=ring --model-bytes 940584 --bandwidth 100mbit --step-time 0.01

What does a round of a convolutional network cost?

  starling plan -n 8 -c configs/mnist-cnn.ini --data.path=FOLDER --model-bytes auto

What do 1,000 noisy rounds tell of a row, at a site that has 5,000?

  starling plan -n 4 --privacy --samples 5000 --optim.clip=1 --optim.noise=1.1 --stop.rounds=1000

What do four bits a number send, and take of the memory?

  starling plan -n 16 --topology.kind=ring --model-bytes 940584 --exchange.codec=i4
)",
    .exits = "0 done, 2 wrong usage or a topology that N nodes cannot have.",
    .settings = "*",
    .run = run_plan};

}  // namespace starling::daemon
