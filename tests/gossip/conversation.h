// A conversation of a few nodes, told by command lines:
//   all KEY=VALUE...                 how nodes start, where a start says nothing else
//   start NODE [KEY=VALUE...]        restart: as at its last start, but for what is said
//       join=NODE  expect=2  clock=-10s  schedule=rounds|ssp|async|pairwise  staleness=2
//       quorum=.5  missing=late|reuse|self  algorithm=NAME  topology=path  rounds=5
//       cluster=NAME  step=200ms  bytes=8  schema=TEXT  survey=TEXT
//   run 500ms                        tells all that happens
//   skip 5s                          tells only events and changes of state, and counts the rest
//   pass 2s                          tells nothing of it and counts messages and jobs
//   kill NODE, leave NODE, join NODE NODE
//   drop | repeat | interrupt next KIND from NODE to NODE
//   hold vectors from NODE to NODE for 3s
//   cut NODE NODE, heal
//   status                           what each node says of itself
// Times are in ms since the start. What only repeats something is counted.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/gossip/few_nodes.h"
#include "tests/gossip/wording.h"

namespace starling::test {

class Conversation {
 public:
  Conversation();

  // Does what the line says and returns what happened meanwhile, in lines. Throws a
  // std::runtime_error that holds a line which cannot be understood.
  std::string play(const std::string& line);

 private:
  using Words = std::vector<std::string>;
  using Settings = std::map<std::string, std::string>;
  struct Edge {
    std::string state;
    std::map<std::string, std::uint64_t> rejected;
  };
  // What was told of a node.
  struct Told {
    std::string state;
    std::map<std::string, Edge> edges;
    std::map<std::string, std::map<std::string, std::uint64_t>> rejected;
  };

  bool command(const Words& words);
  bool command_on_network(const Words& words);
  void start(const std::string& node, Settings settings);
  void saw(const std::string& node, const gossip::Output& output, const std::string& fate);
  void compare(const std::string& node);
  void tell(const std::string& text);
  void tell_detail(std::string_view kind, const std::string& text);
  void tell_counts();
  void tell_status();

  FewNodes nodes_;
  Wording wording_;
  Settings defaults_;
  std::map<std::string, Settings> settings_;  // of the last start
  std::map<std::string, Told> told_;
  std::string text_;
  enum class Detail { none, changes, all };
  Detail detail_ = Detail::all;
  std::map<std::string, std::size_t> counts_;  // of what is not told
};

}  // namespace starling::test
