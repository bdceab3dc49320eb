// Identity: this node's own record, and its right to its name. A rumor of this name is about one of
// two nodes:
//   at this node's control address, or with its mark if it cannot be dialled (see Member): this
//     node. A later incarnation (an older clock at this start, a clock far in the future at an
//     earlier one) is exceeded by the next incarnation; an accusation is refuted by a higher
//     version of the record.
//   at another address: a namesake. The first of the two stays. A node that the members have not
//     accepted yet waits until the namesake is found dead, and ends when the namesake itself says
//     that it lives. An accepted node continues; if other members took the namesake for it, it asks
//     the namesake, which ends or is gone, and then exceeds the namesake's incarnation.
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
  Identity(const Options& options, Time now);

  // The reference stays valid; the record changes.
  const Record& record() const { return self_; }

  // Whether the record's incarnation can be exceeded (see latest_incarnation()); otherwise the
  // member could never override it.
  bool is_credible(Time now, const Member& member) const;
  // Handles a rumor of this node's name. REQUIRES a credible one, as meet(). Returns whether this
  // node's record changed.
  bool hear(Time now, const Rumor& rumor, Outbox& out);
  // Handles a message sent by another node of this name.
  void meet(Time now, const Join& join, Outbox& out);
  // REQUIRES a table with a rumor.
  void meet(Time now, const Table& table, Outbox& out);
  // A member answered and named no namesake: this node may use its name.
  void accepted();
  // No process listens at that address. Returns whether the record changed.
  bool refused(const Endpoint& at, Outbox& out);
  // Asks the namesake, and forgets it when it is gone. Returns whether the record changed.
  bool tick(Time now, Outbox& out);
  Time deadline() const;

  // Sets the report. Returns whether it must be disseminated, and why. state: the phase, the round
  // to save or to end at or the model of the end changed, or the node has saved what all nodes save
  // together. waits: its rounds began or ceased to wait for others, or its wish changed.
  enum class News { none, waits, state };
  News update(const Report& report);
  // Others cannot dial this node's addresses, or can again. The record changes.
  void set_unreachable(bool is_unreachable);
  void leave();

  // Whether this node is not accepted yet and a namesake may live: the node only announces itself.
  bool is_contested() const { return rival_ && !is_accepted_; }
  // The namesake's address. REQUIRES is_contested().
  const Endpoint& contested_by() const { return rival_->member->control; }
  // The address of another node with this name, if rumors named it recently.
  std::optional<Endpoint> namesake() const;
  // Why this node has to end; empty if it need not.
  const std::string& defeat() const { return defeat_; }

 private:
  struct Rival {
    Record member;
    Time heard{};          // when the last message or rumor of it arrived
    bool is_told = false;  // reported: it exists, or members mistake it for this node
    // Since when it has not answered, and when it is asked next; kNever: no member mistakes it for
    // this node.
    Time asked_since = kNever, next_ask = kNever;
  };

  bool hear_of_self(const Rumor& rumor, Outbox& out);
  void note(Time now, const Record& rival);
  void tell(Outbox& out);
  void outdo(std::uint64_t incarnation, Outbox& out);
  bool outdo_rival(Outbox& out);
  bool is_before(const Member& other) const;

  const std::uint64_t clock_;  // the wall clock in ms at started_
  const Time started_;
  Record self_;
  bool is_accepted_;
  std::optional<Rival> rival_;
  std::string defeat_;
};

}  // namespace starling::gossip
