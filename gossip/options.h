// Options: the settings of a node: identity, members to ask, timing, exchange and goal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/result.h"
#include "base/seed_name.h"
#include "base/settings.h"
#include "base/time.h"
#include "gossip/checkpoint.h"
#include "gossip/goal.h"
#include "gossip/schedule.h"
#include "gossip/trust/credentials.h"
#include "gossip/wire/message.h"
#include "gossip/wire/record_cache.h"
#include "optim/needs.h"
#include "topology/options.h"

namespace starling::optim {
struct Options;  // optim/options.h
}

namespace starling::gossip {

struct Options;

// How to treat a vector that is late for its round. late: mix it when it comes, with the other half
// of its pair. reuse: mix the peer's last vector again. self: leave its weight with the node.
enum class Missing { late, reuse, self };
std::string_view name(Missing missing);

// What a node does that hears no neighbour, although there are some. rest: begins no further round
// until it hears one. train: goes on alone.
enum class Alone { rest, train };

// Times of the protocol for one kind of network. All other times are measured.
struct Timing {
  Duration period;     // between two probes by a node; larger: less traffic, slower detection
  Duration answer;     // least time for an answer; measured round trips may ask for more
  Duration suspicion;  // least time of a suspect to answer, among up to ten members; more while it
                       // has few accusers; larger: slower detection, fewer false alarms
  Duration unreachable;     // the same if helpers get no answer either and the host answers no
                            // connection; shorter: a network cut of that length counts as a death
  Duration refused;         // time of a suspect after its system has refused a connection
  Duration news;            // between two sendings of news
  Duration exchange;        // between two exchanges of whole tables with a member
  Duration retry;           // first pause before a hello, join, survey or terms are sent again
  Duration doubt_least;     // least delay before a round doubts a neighbour: jitter of the machine
  Duration patience_least;  // no round goes on sooner without a live neighbour; covers what TCP
                            // needs after lost packets, and the time to notice a death; larger: a
                            // node that hangs holds its neighbours up longer
  Duration patience_initial;  // patience until arrivals have been measured
};
Timing timing_of(std::string_view preset);

struct EvaluationPace {
  std::uint64_t every = 10;  // rounds between two evaluations, at least
  // The most of a node's time that evaluations take, above 0, up to 1. Larger: the series has more
  // points, and a goal is seen earlier; smaller: more of the time trains.
  double share = 0.1;
};

// What follows from new values of live keys: of `node` what take_live() takes.
struct Reconfigured {
  std::shared_ptr<const Options> node;
  std::shared_ptr<const optim::Options> training;
};
// A pure function of the terms, each a live key with its value in place of that of the start. The
// error says what is wrong with them.
using Reconfigure = std::function<Result<Reconfigured>(std::span<const Term> terms)>;

// Seeds that are names in the DNS. Larger: a node asks name servers more often.
inline constexpr std::size_t kSeedNamesLimit = 16;

struct Options {
  // identity
  std::string name;
  Endpoint control, http;         // as other nodes reach them; http of port 0: not reachable
  bool tests_address = false;     // whether others are asked to dial `control`
  std::vector<Endpoint> aliases;  // further addresses of `control`, ignored as seeds
  std::uint64_t incarnation = 1;  // above those of all earlier starts
  std::uint64_t clock = 0;        // at the start, ms since 1970; see latest_incarnation()
  std::string cluster = "starling";
  std::shared_ptr<RecordCache> records = {};      // that nodes of one process share; null: its own
  std::shared_ptr<Credentials> credentials = {};  // null: nodes prove nothing to each other
  std::uint64_t seed = 1;                         // of the node's random numbers
  Role role = Role::trainer;
  std::string group = {};  // Site::group
  // membership
  std::vector<SeedName> seeds;
  std::vector<Endpoint> peers;  // known from an earlier run; their silence is not reported
  Timing timing = timing_of("lan");
  std::size_t expect = 0;  // members with data to wait for before the first round
  // For each next of them; 0: for as long as it takes, unless somebody has trained already.
  Duration expect_patience = std::chrono::seconds(10);
  // training
  topology::Options topology;
  std::string algorithm, codec;     // their names, for people
  optim::Needs needs;               // of the algorithm
  std::uint64_t training_form = 0;  // optim::form_of()
  const ScheduleRow* schedule = schedule_named("rounds");
  double quorum = 1;            // part of the neighbours that a round waits for, above 0
  std::uint64_t staleness = 3;  // rounds that ssp may be ahead
  Missing missing = Missing::late;
  Alone alone = Alone::rest;
  std::vector<Term> terms;  // the agreed keys of other layers
  Goal goal;
  // After the agreed end half as many rounds are trained on all rows, held-out ones too.
  // REQUIRES rounds in step, and goal.keep = last.
  bool refits = false;
  EvaluationPace evaluation = {};
  CheckpointPlan checkpoint = {};
  optim::StepCount local_steps = {};
  // From which the nodes choose that of vectors; none: a setting fixes it.
  std::vector<optim::EncodingChoice> encodings = {};
  Reconfigure reconfigure = {};  // null: the node follows no change of settings
};

// Of `from` what a running node can change.
void take_live(Options& options, const Options& from);
// A hash of the values on which it depends what edges carry, and when. Edges are open between nodes
// with the same. A running node takes others only between the last use of its edges and their
// opening anew; see gossip/node/renewal.h.
std::uint64_t form_of(const Options& options);

// Whether the node has no data.
inline bool is_relay(const Options& options) {
  return options.role == Role::relay;
}

void describe(Schema& schema);
// The agreed keys exchange.* that this layer reads, with their values.
std::vector<Term> exchange_terms(const Options& options);
// Whether vectors of different rounds are averaged in normal operation.
bool mixes_rounds(const Options& options);
// Whether vectors are numbered and paired, so that each pair is averaged exactly once at both ends.
bool counts_pairs(const Options& options);
// Reads cluster.*, exchange.*, stop.*, eval.every and topology.*. The caller fills in the node's
// identity and what it trains.
Options read_options(Reader& reader);

}  // namespace starling::gossip
