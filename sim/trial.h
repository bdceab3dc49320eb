// Trial: one scenario played, and the verdict. First the chaos, then a healed phase in which all
// must agree in time and the models come together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gossip/report/summary.h"
#include "sim/checker.h"
#include "sim/scenario.h"

namespace starling::sim {

// What happened in a run, for a person: when, to whom, what.
class Timeline {
 public:
  // The events of all nodes from now on. REQUIRES that it lives as long as the world runs.
  void watch(World& world);
  void add(Time at, const Fault& fault, bool begins);
  void add(Time at, std::string_view who, std::string_view what);
  // One line an entry, in the order of time: "    12.500 s  node-3    paused for 4 s".
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Verdict {
  Scenario scenario = {};
  std::vector<Violation> violations = {};  // the run ends with the first
  FaultCounts counts = {};
  std::optional<Duration> agreed_after = {};  // the end of the chaos
  double distance = 0;                        // from the mean, at the end
  std::uint64_t rounds = 0;                   // that nodes completed, all together
  std::uint64_t events = 0, event_hash = 0;
  std::uint64_t behavior_hash = 0;  // see World

  bool passed() const { return violations.empty(); }
};

// Of `options` the nodes, the seed and the time of the chaos are replaced by the scenario's. The
// same arguments give the same verdict. What happens is told to `timeline`, and what came of it
// to `summary`, where there is one; that has a trace as often as the options say.
Verdict try_scenario(const Options& options, const TrainerFactory& make_trainer,
                     const Scenario& scenario, Timeline* timeline = nullptr,
                     gossip::Summary* summary = nullptr);

// "seed 7 fails: all agree, at 540.000000 s, node-3: …"; what is to be known of one that passed.
std::string to_text(const Verdict& verdict);

}  // namespace starling::sim
