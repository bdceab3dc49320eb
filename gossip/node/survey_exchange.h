// SurveyExchange: spreads the surveys of all founders to each of them, by anti-entropy. Up to
// kFoundersTold other founders get messages directly. In a larger crowd a founder sends a few
// random others the list of surveys that it holds, and each of the two sends what the other lacks.
// The number of turns grows with the logarithm of the number of founders.
//
// Surveys travel as they are and are merged by the trainers of all founders in the same order. Sums
// merged on the way would depend on the path, but founders need numbers equal to the bit. With keys
// each carries its founder's signature: no founder can say what another found.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "gossip/members/roster.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class SurveyExchange {
 public:
  using Founders = std::vector<const Member*>;

  // Larger: more messages a turn. Smaller: more turns until a crowd of founders knows all surveys.
  static constexpr std::size_t kFoundersTold = 16;

  explicit SurveyExchange(const Options& options);

  // This node's survey.
  void set_own(const std::string& statistics) {
    Survey& own = surveys_[self_];
    own.founder = self_;
    own.statistics = statistics;
  }
  // Drops the surveys of others, to gather them anew.
  void forget_others();
  // Whether the surveys of all these founders are known, each of the life that the founder is in.
  bool has_all(const Founders& founders) const;
  // Returns the statistics of those founders whose surveys are known, in their order.
  std::vector<std::string> of(const Founders& founders) const;
  // One turn: sends the other `founders` the surveys that they seem to lack. `relays`: also the
  // surveys of others, if all founders get messages directly.
  void tell(const Founders& founders, bool relays, Outbox& out);
  // Takes surveys. Only the founder itself can replace its survey. In a crowd, and as a relay,
  // replies with what the sender lacks. With `is_past`, this node founds already, and sends a
  // founder that is late its own survey.
  void receive(const Surveys& message, NodeId from, const Founders& founders, bool is_past,
               Outbox& out);

 private:
  // The own survey is always of the life that the node is in.
  void renew_own(const Outbox& out);
  void keep(const Survey& heard, NodeId teller, Notary& notary);
  bool is_news(const Survey& heard, NodeId teller) const;
  void forget_earlier_lives(const Founders& founders);
  bool holds(NodeId founder, NodeId survey) const;
  std::vector<NodeId> known() const;
  Surveys lacked_by(NodeId founder, bool relays) const;
  void send(NodeId founder, Surveys message, Outbox& out);
  void tell_some(const Founders& founders, Outbox& out);

  NodeId self_;
  bool is_relay_;
  Prng prng_;
  std::map<NodeId, Survey> surveys_;
  std::size_t bytes_ = 0;                       // of the surveys of others
  std::map<NodeId, std::vector<NodeId>> held_;  // the surveys that each founder holds, ascending
};

}  // namespace starling::gossip
