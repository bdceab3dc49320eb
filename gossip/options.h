// What a node is told before it starts: who it is, whom to ask, and how patient to be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/endpoint.h"
#include "base/settings.h"
#include "base/time.h"
#include "gossip/schedule.h"
#include "optim/job.h"
#include "topology/options.h"

namespace starling::gossip {

// What becomes of a vector that did not come in time: it is mixed when it comes, as a pair with the
// one it answers; the last one heard stands in; its weight stays with the node.
enum class Missing { late, reuse, self };
std::string_view name(Missing missing);

// Times of the protocol for one kind of network; everything else is measured.
struct Timing {
  Duration period;     // between two probes of a node; larger: less traffic, slower detection
  Duration answer;     // least time for an answer; measured round trips may ask for more
  Duration suspicion;  // silence after a failed probe, among up to ten members; they get more time
                       // while few have noticed; larger: slower detection, fewer false alarms
  Duration unreachable;       // the same where helpers hear nothing either and the host answers no
                              // connection; shorter: a cut of that length is taken for a death
  Duration refused;           // the same where the system says that nobody listens at the address
  Duration news;              // between two tellings of news
  Duration exchange;          // between two exchanges of whole tables with somebody
  Duration retry;             // first repetition of a hello, join or snapshot request
  Duration doubt_least;       // no neighbour is asked sooner whether it lives: the machine's jitter
  Duration patience_least;    // no round goes on sooner without a neighbour that lives: covers what
                              // TCP needs after lost packets, and the time in which a death is
                              // noticed; larger: one that hangs holds its neighbours up longer
  Duration patience_initial;  // until arrivals have been measured
};
Timing timing_of(std::string_view preset);

struct Goal {
  std::uint64_t rounds = 0;  // 0: no limit
  double seconds = 0;        // 0: no limit
  std::optional<double> loss = {}, accuracy = {};

  bool is_set() const { return rounds > 0 || seconds > 0 || loss || accuracy; }
};

struct Options {
  // identity
  std::string name;
  Endpoint control, bulk, http;   // as others reach them
  std::uint64_t incarnation = 1;  // above that of every earlier start
  std::string cluster = "starling";
  std::uint64_t seed = 1;  // of the node's own chance
  // membership
  std::vector<Endpoint> seeds;
  std::vector<Endpoint> peers;  // met in an earlier life: asked like seeds, and not missed
  Timing timing = timing_of("lan");
  std::size_t expect = 0;  // members to wait for before the first round
  Duration expect_patience = std::chrono::seconds(10);
  // training
  topology::Options topology;
  std::string algorithm;  // its name, for hellos and the status
  optim::Needs needs;     // of it
  const ScheduleRow* schedule = schedule_named("rounds");
  double quorum = 1;            // of the neighbours whose vectors a round waits for, above 0
  std::uint64_t staleness = 3;  // of ssp
  Missing missing = Missing::late;
  std::vector<Term> terms;  // what else nodes must agree on: the agreed keys of other layers
  Goal goal;
  std::uint64_t evaluate_every = 10;
};

void describe(Schema& schema);
// The agreed keys exchange.* that this layer reads, with their values.
std::vector<Term> exchange_terms(const Options& options);
// Whether vectors of different rounds are averaged as a matter of course.
bool mixes_rounds(const Options& options);
// Whether pairs of vectors are numbered, so that each is averaged exactly once at both its ends.
bool counts_pairs(const Options& options);
// Reads cluster.*, exchange.*, stop.*, eval.every and topology.*; who the node is and what it
// trains is the caller's to fill in.
Options read_options(Reader& reader);

}  // namespace starling::gossip
