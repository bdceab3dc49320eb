// Identity: this node's own record, and its right to its name. Others speak of the name in two
// ways:
//   at this node's control address: it is this node. A later incarnation (an older clock at this
//     start, a clock far in the future at an earlier one) is outdone by the incarnation after it,
//     an accusation by a higher version of the record.
//   at another address: it is a namesake. The first of two stays. A node that the members have not
//     accepted yet waits until the namesake is found dead, and ends when the namesake itself says
//     that it lives. An accepted node goes on; when others took a namesake for it, it asks the
//     namesake, which ends or is gone, and then outdoes the namesake's incarnation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "gossip/options.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Identity {
 public:
  explicit Identity(const Options& options);

  // Its address stays.
  const Member& record() const { return self_; }

  // What a rumor of this node's name means. True: the record has changed, which is news.
  bool hear(Time now, const Rumor& rumor, Outbox& out);
  // A message of another node of this name, from that node itself.
  void meet(Time now, const Join& join, Outbox& out);
  void meet(Time now, const Table& table, Outbox& out);
  // A member has answered, and names no namesake: this node has its name.
  void accepted();
  // Nobody listens at that address. True: the record has changed.
  bool refused(const Endpoint& at, Outbox& out);
  // Asks the namesake, and forgets one that is gone. True: the record has changed.
  bool tick(Time now, Outbox& out);
  Time deadline() const;

  // What others shall know of this node. True: it is news.
  bool update(Phase phase, std::uint64_t round, double loss);
  void leave();

  // Not accepted yet, and a namesake may live: nothing is said but that this node is there.
  bool is_contested() const { return rival_ && !is_accepted_; }
  // Its address; REQUIRES is_contested().
  const Endpoint& contested_by() const { return rival_->member.control; }
  // Another node that runs under this name, while it was heard of lately.
  std::optional<Endpoint> namesake() const;
  // Why this node has to end; empty: it has not.
  const std::string& defeat() const { return defeat_; }

 private:
  struct Rival {
    Member member;
    Time heard{};          // the last word of it
    bool is_told = false;  // its existence is certain, or others take it for this node
    // Since when it was asked and has not answered, and when it is asked again; never where no
    // other member takes it for this node.
    Time asked_since = kNever, next_ask = kNever;
  };

  bool hear_of_self(const Rumor& rumor, Outbox& out);
  void note(Time now, const Member& rival);
  void tell(Outbox& out);
  void outdo(std::uint64_t incarnation, Outbox& out);
  bool outdo_rival(Outbox& out);
  bool is_before(const Member& other) const;

  Member self_;
  bool is_accepted_;
  std::optional<Rival> rival_;
  std::string defeat_;
};

}  // namespace starling::gossip
