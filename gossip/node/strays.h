// Strays: words that come to the wrong place. A node that is asked by one of another cluster, or at
// its bulk port, says so, and whoever hears it tells its people.
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
  explicit Strays(const Options& options)
      : cluster_(options.cluster), control_(options.control), bulk_(options.bulk) {}

  void answer(Time now, const Gate::Stray& stray, Outbox& out);
  void receive(Time now, const Misdirected& word, Seeds& seeds, Outbox& out);
  // It learns nothing: its version does not read this one's.
  void note(Time now, const OtherVersion& other);
  // What was told lately.
  std::vector<std::string> warnings(Time now) const;

 private:
  struct Told {
    std::string text;
    Time at;
  };
  void tell(Time now, const Endpoint& at, std::string text);
  void say(Time now, const Endpoint& to, Misdirected word, Outbox& out);

  std::string cluster_;
  Endpoint control_, bulk_;
  std::map<std::string, Told> told_;  // by the address it is of
  Time next_word_{};
};

}  // namespace starling::gossip
