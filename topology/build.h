// build: the graph of the members, in the natural order of their names. Nodes that know the same
// members compute the same graph without a message.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "topology/graph.h"
#include "topology/options.h"

namespace starling::topology {

struct Site {
  NodeId id;
  std::string name;
  bool is_hidden = false;  // nobody can dial it
  // Of those with a fast network between them; empty: a group of its own.
  std::string group = {};
};

// The kind that auto selects for n nodes; any other kind itself.
Kind resolve(Kind kind, std::size_t n);

// What people call the graph of n nodes: its kind, the one that auto selects, or the sequence if
// that has edges of its own.
std::string graph_name(const Options& options, std::size_t n);

// Whether the edges of the kind lead one way.
bool is_directed(Kind kind);
// The same of the options: an edge list may hold some that lead one way.
bool is_directed(const Options& options);

// The graph of the present members; vertex k is the k-th site. Members come and go, so a number
// that does not fit the kind is no error: the result is the nearest connected graph (see shapes.h
// and drawn.h), led around hidden sites (see hidden.h). Kind file keeps the listed edges whose two
// ends are present. Of a sequence of graphs (sequence.h) the edges of all rounds. The only error is
// a degree that the kind cannot have. REQUIRES different ids.
Result<Graph> build(const Options& options, std::span<const Site> sites);

// What hidden sites change in the graph of build(). An undirected edge counts once.
struct Detours {
  Edges replaced;  // edges of two hidden sites that the kind has
  Edges added;     // those in their place, and those that give a hidden site two open neighbours
};
// Both are empty if no site is hidden. REQUIRES the graph of build().
Detours detours(const Options& options, std::span<const Site> sites, const Graph& graph);

// The neighbours of one vertex; ascending, without the vertex itself or duplicates.
struct Neighbors {
  std::vector<int> out;  // the vertex sends to these
  std::vector<int> in;   // the vertex receives from these

  bool operator==(const Neighbors&) const = default;
};

// The vertex's neighbours in the graph of build(), in O(n); every node calls this whenever a member
// comes or goes. Only small-world and random-regular build the whole graph, because distant
// vertices affect the neighbours, and all kinds where a site is hidden, and sequences with edges of
// their own. REQUIRES a vertex of the sites.
Result<Neighbors> neighbors(const Options& options, std::span<const Site> sites, int vertex);

// For a planned number of nodes, before anything starts: refuses kinds that n does not fit.
Result<void> validate(const Options& options, std::size_t n);
// The same, and the edge list must be connected and name exactly these sites.
Result<void> validate(const Options& options, std::span<const Site> sites);

}  // namespace starling::topology
