// NodeParts: the parts of a node and their connections. Every input goes to one part (inputs.h);
// then settle() lets each part see the others once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossip/edges/exchange.h"
#include "gossip/edges/exchange_budget.h"
#include "gossip/edges/links.h"
#include "gossip/members/agreement.h"
#include "gossip/members/membership.h"
#include "gossip/node/data_share.h"
#include "gossip/node/donor.h"
#include "gossip/node/end_watch.h"
#include "gossip/node/fleet_watch.h"
#include "gossip/node/gate.h"
#include "gossip/node/life.h"
#include "gossip/node/neighborhood.h"
#include "gossip/node/run_end.h"
#include "gossip/node/saver.h"
#include "gossip/node/setting_log.h"
#include "gossip/node/settlement.h"
#include "gossip/node/startup.h"
#include "gossip/node/strays.h"
#include "gossip/node/training.h"
#include "gossip/outbox.h"

namespace starling::gossip {

// A leaving node: what it still waits for, and its deadlines.
struct Exit {
  enum class Stage { stays, settles, saves, gone };
  Stage stage = Stage::stays;
  Time until{};

  bool has_begun() const { return stage != Stage::stays; }
};

struct NodeParts {
  NodeParts(const Options& given, Time now, std::shared_ptr<const Checkpoint> resumed);

  void become_ready(Time now);
  void start_training(Time now);
  Report report();
  void settle(Time now);
  void follow_members(Time now);
  void leave(Time now);
  void end(const std::string& error);
  bool has_news() const { return neighborhood.has_news(members) && startup.is_expected(); }
  Phase phase() const {
    return startup.is_resumed() && !trains() ? Phase::resumed : life.row().told;
  }
  bool trains() const { return life.has_come_to<phases::Computing>(); }
  State state(Time now) const;

  Options options;
  Gate gate;
  Outbox outbox;
  Membership membership;
  const Roster& members = membership.roster();
  Agreement agreement;
  SettingLog settings;
  Links links;
  Exchange exchange;
  Life life;
  DataShare share;
  Startup startup;
  Strays strays;
  ExchangeBudget budget{options.local_steps, options.encodings};
  Saver saver;
  Donor donor;
  RunEnd run_end{options, exchange.rounds()};
  Settlement settlement{options, run_end, {members, links, gate}};
  Training training;
  EndWatch end_watch{options, run_end, {life, exchange, members, training.progress(), settlement}};
  FleetWatch fleet;
  Neighborhood neighborhood;
  std::optional<Checkpoint> before;  // without the state; empty when no longer needed
  std::uint64_t dealt_view = 0;      // Neighborhood::view() by which the data were assigned
  bool was_ready = false, was_introduced = false;
  std::string alone;                    // see Status
  std::vector<std::string> data_notes;  // notes that were reported
  Exit exit;
};

// What comes of some inputs.
void save_all(NodeParts& parts, Time now);
void configure(NodeParts& parts, Time now, const ConfigureCommand& command);
void donate(NodeParts& parts, Time now, optim::Done& done);
void learn_workload(NodeParts& parts, Time now, const optim::Workload& workload);

}  // namespace starling::gossip
