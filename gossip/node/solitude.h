// Solitude: whether a node has anybody to average with. One that hears none of its neighbours waits
// for them: alone it would only train towards its own optimum, and its rounds would mean nothing. A
// node that waits for nobody is a fleet of one: it never had a neighbour, or all others have left
// or finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "gossip/edges/links.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"

namespace starling::gossip {

class Solitude {
 public:
  explicit Solitude(const Options& options)
      : rests_(options.alone == Alone::rest), was_told_(!options.seeds.empty()) {}

  // Whom to wait for: the neighbours that have not finished; without neighbours all members with
  // data that have trained and have neither left nor finished, the dead among them, as they may
  // only be cut off. Members with which no edge can open are strangers, which keep no node from
  // training but one that was told to join and has averaged with nobody.
  void follow(const Links& links, const Roster& members);
  // The node begins with another's model.
  void begin_new() { stepless_ = kStepless + 1; }
  void begin_round() { end(), stepless_ -= stepless_ > 0; }
  // It takes no step before that model was averaged with somebody's, or nobody is left, or so many
  // rounds have heard somebody without a pair: some algorithms offer nothing before a step.
  bool may_step() const { return stepless_ == 0; }
  void averaged() { stepless_ = 0, has_averaged_ = true; }
  // The round has waited enough; `is_heard`: for somebody. Returns whether it may end.
  bool lets_end(Time now, bool is_heard);
  void end() { since_.reset(); }

  // The round stays open, for nobody is heard.
  bool is_alone() const { return since_.has_value(); }
  // For so long that people should know.
  bool is_news(Time now) const { return since_ && now - *since_ >= kNews; }
  // "alone for 12 s: waits for node-1, node-2"
  std::string reason(Time now) const;

 private:
  // Shorter: a change of edges makes news. Longer: people wonder what a node waits for.
  static constexpr Duration kNews = std::chrono::seconds(2);
  static constexpr int kStepless = 8;  // as many as a node catches up

  bool rests_, was_told_;
  bool has_averaged_ = false;                         // in this life
  int stepless_ = 0;                                  // rounds that it takes no step in yet
  bool is_opening_ = false;                           // some edge
  std::pair<std::uint64_t, std::uint64_t> versions_;  // of links and members, as last followed
  std::vector<std::string> awaited_;                  // by name
  std::optional<Time> since_;
};

}  // namespace starling::gossip
