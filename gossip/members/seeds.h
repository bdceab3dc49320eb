// Seeds: the addresses at which a node looks for members, and what came of it. A seed is asked for
// ever, with pauses that double; one that is down is no error, and has its reason.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "base/time.h"
#include "gossip/outbox.h"

namespace starling::gossip {

class Seeds {
 public:
  // `own` is the address of this node, which is no seed; `pause` that behind the first question.
  Seeds(Endpoint own, Duration pause) : own_(std::move(own)), pause_(pause) {}

  // One that a person named is missed when it does not answer; one that was met in an earlier life
  // is not.
  void add(const Endpoint& seed, bool is_named, Time now);
  bool empty() const { return seeds_.empty(); }

  using Known = std::function<bool(const Endpoint&)>;
  // Asks those whose time has come and at whose address no member is known.
  void ask(Time now, const Known& is_known, const Member& self, Outbox& out);
  // One that a person named may still tell of members: no member is known at its address, and
  // nothing was found out about it.
  bool is_awaited(const Known& is_known) const;
  // Asks all at the next occasion.
  void hurry(Time now);

  // ---- what was found out about an address
  void refused(const Endpoint& at);
  void unanswered(const Endpoint& at);
  // A host name stands for this address now. True: that is new, and the seed is to be asked.
  bool resolved(Time now, const Endpoint& at, const Endpoint& address);
  void unresolved(const Endpoint& at, const std::string& problem);
  // What listens there has said itself what is wrong.
  void has_told(const Endpoint& at);

  // Why seeds that were named gave no members. `is_connected`: some member has answered, so that
  // one of the silent may be known by another address.
  std::vector<std::string> reasons(Time now, bool is_connected) const;

 private:
  struct Seed {
    Endpoint endpoint;  // as it was named
    Endpoint address;   // without a name
    bool is_named = false;
    Time since{};  // asked since then
    Time next{};
    Duration pause{};
    bool is_met = false;    // a member was known there
    bool has_told = false;  // what is wrong, itself
    std::string finding{};  // the same, as far as this node found it out
  };

  std::string silence(const Seed& seed) const;
  template <class Change>
  void change(const Endpoint& at, Change change);

  Endpoint own_;
  Duration pause_;
  std::vector<Seed> seeds_;
};

}  // namespace starling::gossip
