// Strays: joins that come to the wrong place. A node that gets a Join of another cluster says so in
// its answer, and the sender warns its user.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "gossip/members/seeds.h"
#include "gossip/node/gate.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Strays {
 public:
  explicit Strays(const Options& options) : cluster_(options.cluster), control_(options.control) {}

  void answer(Time now, const Gate::Stray& stray, Outbox& out);
  void receive(Time now, NodeId from, const Misdirected& note, Seeds& seeds, Outbox& out);
  // Warns of a node of another version. That node gets no answer: it could not read it.
  void note(Time now, const OtherVersion& other);
  // The recent warnings.
  std::vector<std::string> warnings(Time now) const;

 private:
  struct Told {
    std::string text;
    Time at;
  };
  void tell(Time now, const Endpoint& at, std::string text);
  // Whether this node may speak to a stranger now; then not for a while.
  bool may_say(Time now);
  Misdirected note_of(bool asks) const;

  std::string cluster_;
  Endpoint control_;
  std::map<std::string, Told> told_;  // by the address that the warning is about
  Time next_note_{};
};

}  // namespace starling::gossip
