#include "topology/sequence.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"
#include "topology/matching.h"
#include "topology/spectrum.h"
#include "topology/weights.h"

namespace starling::topology {
namespace {

// The turns of every vertex, of one round.
using Round = std::vector<std::vector<Turn>>;

void add_edges(const Round& round, Edges& edges) {
  for (std::size_t i = 0; i < round.size(); ++i)
    for (const Turn& turn : round[i]) edges.emplace_back(static_cast<int>(i), turn.vertex);
}

// ---- matching, sample: topology/matching.h, each pair with weight 1/2

class Matchings final : public Sequence {
 public:
  // `most`: pairs of a round.
  Matchings(const SequenceRow& row, Graph graph, std::uint64_t seed,
            int most = std::numeric_limits<int>::max())
      : row_(&row),
        graph_(std::move(graph)),
        seed_(seed),
        most_(std::min(most, std::max(1, graph_.size() / 2))) {}

  const SequenceRow& row() const override { return *row_; }
  Round round(std::uint64_t round) const override {
    Round turns(graph_.in.size());
    const std::vector<int> partners = matching(graph_, seed_, round, most_);
    for (std::size_t i = 0; i < turns.size(); ++i)
      if (partners[i] >= 0) turns[i] = {{partners[i], 0.5}};
    return turns;
  }
  std::vector<Turn> turns(int vertex, std::uint64_t round) const override {
    const int partner = matching(graph_, seed_, round, most_)[static_cast<std::size_t>(vertex)];
    if (partner < 0) return {};
    return {{partner, 0.5}};
  }
  std::size_t period() const override { return 0; }
  double modulus(double share) const override { return matching_modulus(graph_, share, most_); }
  std::uint64_t rounds_a_turn() const override {
    if (!row_->rests) return 1;
    const int drawn = 2 * most_;
    return static_cast<std::uint64_t>(std::max(1, (graph_.size() + drawn - 1) / drawn));
  }

 private:
  const SequenceRow* row_;
  Graph graph_;
  std::uint64_t seed_;
  int most_;
};

std::shared_ptr<const Sequence> make_matchings(const Options& options, std::span<const Site>,
                                               const Graph& graph);

std::shared_ptr<const Sequence> make_sample(const Options& options, std::span<const Site>,
                                            const Graph& graph) {
  const SequenceChoice& choice = options.sequence;
  return std::make_shared<Matchings>(*choice.row, graph, options.seed, choice.size / 2);
}

// ---- sequences that repeat

class Periodic final : public Sequence {
 public:
  // REQUIRES one round or more.
  Periodic(const SequenceRow& row, std::vector<Round> rounds)
      : row_(&row), rounds_(std::move(rounds)) {}

  const SequenceRow& row() const override { return *row_; }

  Round round(std::uint64_t round) const override { return rounds_[round % rounds_.size()]; }
  std::vector<Turn> turns(int vertex, std::uint64_t round) const override {
    return rounds_[round % rounds_.size()][static_cast<std::size_t>(vertex)];
  }
  std::size_t period() const override { return rounds_.size(); }
  double modulus(double share) const override { return periodic_modulus(*this, share); }

 private:
  const SequenceRow* row_;
  std::vector<Round> rounds_;
};

// A round without turns, if there is none.
std::shared_ptr<const Sequence> periodic(const Options& options, std::vector<Round> rounds, int n) {
  if (rounds.empty()) rounds.emplace_back(static_cast<std::size_t>(n));
  return std::make_shared<Periodic>(*options.sequence.row, std::move(rounds));
}

// ---- one-peer: the edges of an exponential graph or a hypercube, one hop a round

bool has_hops(Kind kind) {
  return kind == Kind::exponential || kind == Kind::hypercube;
}

std::shared_ptr<const Sequence> make_one_peer(const Options& options, std::span<const Site>,
                                              const Graph& graph) {
  const int n = graph.size();
  std::vector<Round> rounds;
  for (int hop = 1; hop < n; hop *= 2) {
    Round round(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      std::vector<Turn>& turns = round[static_cast<std::size_t>(i)];
      const int ahead = (i + hop) % n, behind = (i + n - hop) % n;
      if (options.kind == Kind::hypercube) {
        if ((i ^ hop) < n) turns = {{i ^ hop, 0.5}};
      } else if (ahead == behind) {
        turns = {{ahead, 0.5}};
      } else {
        turns = {{ahead, 0.5, false, true}, {behind, 0.5, true, false}};
        std::ranges::sort(turns, {}, &Turn::vertex);
      }
    }
    rounds.push_back(std::move(round));
  }
  return periodic(options, std::move(rounds), n);
}

// ---- base: Takezawa, Sato, Bao, Niwa, Yamada: Beyond exponential graph, 2023, in blocks. If n is
// a product of numbers up to B, all vertices are one block. Otherwise they are cut, in their order,
// into blocks of d B^a, the digits d of n in base B, the largest first. Each block averages itself,
// factor by factor of its size. Then block by block: each vertex of the rest, all blocks after this
// one, meets another vertex of the block, and the pair weighs w = block / (block + rest). After
// that the sum of the block is right, and that of the rest too. The block averages itself once
// more, while the next one goes on.

struct Block {
  int first = 0, size = 1;
  std::vector<int> factors = {};  // of the size, each up to B
};

// Nothing if a prime factor of n is larger than B.
std::optional<Block> whole_block(int n, int base) {
  Block block{.size = n};
  for (int rest = n; rest > 1;) {
    int factor = std::min(base, rest);
    while (factor > 1 && rest % factor != 0) --factor;
    if (factor == 1) return std::nullopt;
    block.factors.push_back(factor);
    rest /= factor;
  }
  return block;
}

std::vector<Block> blocks_of(int n, int base) {
  if (auto whole = whole_block(n, base)) return {*std::move(whole)};
  std::vector<Block> blocks;
  std::vector<int> factors;
  int unit = 1;
  for (; unit <= n / base; unit *= base) factors.push_back(base);
  for (int first = 0; first < n; unit /= base) {
    if (const int copies = (n - first) / unit; copies > 0) {
      blocks.push_back({first, copies * unit, factors});
      if (copies > 1) blocks.back().factors.push_back(copies);
      first += copies * unit;
    }
    if (!factors.empty()) factors.pop_back();
  }
  return blocks;
}

class BaseRounds {
 public:
  BaseRounds(int n, int base) : n_(n) {
    if (n == 0) return;
    const std::vector<Block> blocks = blocks_of(n, base);
    for (const Block& block : blocks) average(block, 0);
    for (std::size_t k = 0; k + 1 < blocks.size(); ++k) {
      const std::size_t meeting = blocks.front().factors.size() + k;
      meet(blocks[k], meeting);
      average(blocks[k], meeting + 1);
    }
  }
  std::vector<Round> take() { return std::move(rounds_); }

 private:
  std::vector<Turn>& turns(std::size_t round, int vertex) {
    while (rounds_.size() <= round) rounds_.emplace_back(static_cast<std::size_t>(n_));
    return rounds_[round][static_cast<std::size_t>(vertex)];
  }
  void average(const Block& block, std::size_t round) {
    int stride = 1;
    for (const int factor : block.factors) {
      for (int k = 0; k < block.size; ++k) {
        const int own = k / stride % factor, least = k - own * stride;
        for (int other = 0; other < factor; ++other)
          if (other != own)
            turns(round, block.first + k)
                .push_back({block.first + least + other * stride, 1.0 / factor});
      }
      stride *= factor;
      ++round;
    }
  }
  void meet(const Block& block, std::size_t round) {
    const int next = block.first + block.size, rest = n_ - next;
    const double weight = static_cast<double>(block.size) / (block.size + rest);
    for (int k = 0; k < rest; ++k) {
      turns(round, block.first + k).push_back({next + k, weight});
      turns(round, next + k).push_back({block.first + k, weight});
    }
  }

  int n_;
  std::vector<Round> rounds_;
};

Graph base_edges(const Options& options, std::span<const Site> sites) {
  const auto n = static_cast<int>(sites.size());
  Edges edges;
  for (const Round& round : BaseRounds(n, options.sequence.size).take()) add_edges(round, edges);
  return undirected(n, edges);
}

std::shared_ptr<const Sequence> make_base(const Options& options, std::span<const Site>,
                                          const Graph& graph) {
  return periodic(options, BaseRounds(graph.size(), options.sequence.size).take(), graph.size());
}

// ---- clusters: after Lin, Stich, Patel, Jaggi: Don't use large mini-batches, use local SGD, 2020
// (hierarchical local SGD), without a centre. In all rounds but each K-th a group averages over a
// graph of its own, of topology.kind; auto: complete. In the K-th one vertex of each two groups
// meet; the vertices of a group take turns in it.

using Groups = std::vector<std::vector<int>>;

// In the order of their first vertices.
Groups groups_of(std::span<const Site> sites) {
  Groups groups;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t k = 0; k < sites.size(); ++k) {
    const std::string& name = sites[k].group;
    const auto found = name.empty() ? known.end() : known.find(name);
    const std::size_t group = found == known.end() ? groups.size() : found->second;
    if (group == groups.size()) groups.emplace_back();
    if (!name.empty()) known.emplace(name, group);
    groups[group].push_back(static_cast<int>(k));
  }
  return groups;
}

class Clusters final : public Sequence {
 public:
  Clusters(const Options& options, std::span<const Site> sites)
      : row_(options.sequence.row),
        every_(static_cast<std::size_t>(options.sequence.size)),
        inner_(sites.size()) {
    const Groups groups = groups_of(sites);
    std::size_t largest = 1;
    for (const std::vector<int>& group : groups) {
      largest = std::max(largest, group.size());
      average(group, graph_inside(options, sites, group));
    }
    for (std::size_t turn = 0; turn < largest; ++turn) outer_.push_back(meeting(groups, turn));
  }

  const SequenceRow& row() const override { return *row_; }
  Round round(std::uint64_t round) const override { return at(round); }
  std::vector<Turn> turns(int vertex, std::uint64_t round) const override {
    return at(round)[static_cast<std::size_t>(vertex)];
  }
  std::size_t period() const override { return every_ * outer_.size(); }
  double modulus(double share) const override { return periodic_modulus(*this, share); }
  // Of all rounds.
  Graph edges() const {
    Edges edges;
    add_edges(inner_, edges);
    for (const Round& round : outer_) add_edges(round, edges);
    return undirected(static_cast<int>(inner_.size()), edges);
  }

 private:
  const Round& at(std::uint64_t round) const {
    return round % every_ + 1 < every_ ? inner_ : outer_[round / every_ % outer_.size()];
  }
  static Graph graph_inside(const Options& options, std::span<const Site> sites,
                            const std::vector<int>& group) {
    Options inside = options;
    inside.sequence = {};
    if (inside.kind == Kind::automatic) inside.kind = Kind::complete;
    std::vector<Site> members;
    for (const int vertex : group) {
      members.push_back(sites[static_cast<std::size_t>(vertex)]);
      members.back().is_hidden = false;  // rounds are led around hidden sites by sequence_of()
    }
    auto graph = build(inside, members);
    ENSURE(graph.has_value(), "the degree of the options is that of their kind");
    return *std::move(graph);
  }
  void average(const std::vector<int>& group, const Graph& graph) {
    const Weights weights = metropolis_weights(graph);
    for (std::size_t i = 0; i < group.size(); ++i)
      for (std::size_t k = 0; k < graph.in[i].size(); ++k)
        inner_[static_cast<std::size_t>(group[i])].push_back(
            {group[static_cast<std::size_t>(graph.in[i][k])], weights.from[i][k]});
  }
  // A pair weighs 1 / (1 + the larger number of pairs of its ends).
  Round meeting(const Groups& groups, std::size_t turn) const {
    Round round(inner_.size());
    const auto delegate = [&](std::size_t group, std::size_t towards) {
      return groups[group][(turn + towards) % groups[group].size()];
    };
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = 0; b < groups.size(); ++b)
        if (a != b) round[static_cast<std::size_t>(delegate(a, b))].push_back({delegate(b, a), 0});
    for (std::vector<Turn>& turns : round) {
      for (Turn& one : turns) {
        const std::size_t other = round[static_cast<std::size_t>(one.vertex)].size();
        one.weight = 1 / (1 + static_cast<double>(std::max(turns.size(), other)));
      }
      std::ranges::sort(turns, {}, &Turn::vertex);
    }
    return round;
  }

  const SequenceRow* row_;
  std::size_t every_;
  Round inner_;
  std::vector<Round> outer_;
};

Graph cluster_edges(const Options& options, std::span<const Site> sites) {
  return Clusters(options, sites).edges();
}

std::shared_ptr<const Sequence> make_clusters(const Options& options, std::span<const Site> sites,
                                              const Graph&) {
  return std::make_shared<Clusters>(options, sites);
}

bool is_automatic(Kind kind) {
  return kind == Kind::automatic;
}

bool leads_both_ways(Kind kind) {
  return !is_directed(kind);
}

bool is_drawn_both_ways(Kind kind) {
  return leads_both_ways(kind) && kind != Kind::file;
}

constexpr SequenceRow kSequences[] = {
    {.name = "still", .help = "every round uses all edges"},
    {.name = "matching",
     .help = "one neighbour a round, drawn anew in every round: the least traffic a round",
     .spreads_flows = true,
     .bears_momentum = true,
     .bounds_parts = true,
     .allows = leads_both_ways,
     .kinds = "one whose edges lead both ways, such as hypercube and random",
     .make = make_matchings},
    {.name = "sample",
     .help = "sample:K K nodes drawn anew in every round train and average by pairs of neighbours; "
             "the others rest until they are drawn: for large fleets of weak machines",
     .least = 2,
     .most = 1'000'000,
     .step = 2,
     .spreads_flows = true,
     .rests = true,
     .bounds_parts = true,
     .allows = leads_both_ways,
     .kinds = "one whose edges lead both ways, such as hypercube and random",
     .make = make_sample},
    {.name = "one-peer",
     .help = "one neighbour a round, in turn by hops of 1, 2, 4, ...: the exact average after "
             "log2 n rounds, where n is a power of two",
     .theta = 0.25,
     .allows = has_hops,
     .kinds = "exponential or hypercube",
     .make = make_one_peer},
    {.name = "base",
     .help = "base:2 at most one neighbour a round, base:B up to B - 1, in blocks: the exact "
             "average after 2 log_B n + 1 rounds or fewer, for every n",
     .least = 2,
     .most = 16,
     .theta = 0.25,
     .allows = is_automatic,
     .kinds = "auto, for it has edges of its own",
     .edges = base_edges,
     .make = make_base},
    {.name = "clusters",
     .help =
         "clusters:K the nodes of one node.group average with each other (auto: each with all), "
         "and in each K-th round in their place one node of each two groups: for sites with thin "
         "links between them",
     .least = 2,
     .most = 1000,
     .theta = 0.5,
     .is_by_group = true,
     .bounds_parts = true,
     .allows = is_drawn_both_ways,
     .kinds = "auto, or that of the graph inside each group, such as ring and random",
     .edges = cluster_edges,
     .make = make_clusters},
};

std::shared_ptr<const Sequence> make_matchings(const Options& options, std::span<const Site>,
                                               const Graph& graph) {
  const auto* row = std::ranges::find(kSequences, "matching", &SequenceRow::name);
  return std::make_shared<Matchings>(*row, graph, options.seed);
}

}  // namespace

std::span<const SequenceRow> sequences() {
  return kSequences;
}

std::shared_ptr<const Sequence> sequence_of(const Options& options, std::span<const Site> sites,
                                            const Graph& graph) {
  if (!options.sequence.moves()) return nullptr;
  if (std::ranges::any_of(sites, &Site::is_hidden)) return make_matchings(options, sites, graph);
  return options.sequence.row->make(options, sites, graph);
}

Traffic traffic(const Sequence& sequence, int n) {
  constexpr std::size_t kRoundsDrawn = 64;  // of a sequence that does not repeat
  const std::size_t rounds = sequence.period() > 0 ? sequence.period() : kRoundsDrawn;
  Traffic traffic;
  for (std::uint64_t t = 0; t < rounds; ++t)
    for (const std::vector<Turn>& turns : sequence.round(t)) {
      const auto come = static_cast<int>(std::ranges::count_if(turns, &Turn::in));
      traffic.mean_turns += static_cast<double>(come) / n / static_cast<double>(rounds);
      traffic.most_turns = std::max(traffic.most_turns, come);
    }
  return traffic;
}

}  // namespace starling::topology
