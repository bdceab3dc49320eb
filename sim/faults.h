// Faults: what can go wrong in a simulation, in words that are both read and printed, and how often
// each kind really hit. To add a fault: its kind here, a rule in sim/faults.cpp, its cases in
// sim/director.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace starling::sim {

enum class FaultKind {
  lose,        // this share of all frames never arrives
  duplicate,   // this share arrives twice
  reorder,     // this share comes up to kStraggle later, and is overtaken
  spike,       // this share comes up to kSpike later, and holds up what is behind it
  drop,        // TCP loses this share of all packets and sends them again later
  limit,       // the link between the two nodes carries no more than so many Mbit/s, each way
  clog,        // the connection from the first node to the second holds everything, then delivers
  cut,         // nothing gets from the first node to the second
  part,        // nothing gets between these nodes and all others, either way
  pause,       // the node handles nothing; what comes in waits
  slow,        // its jobs take this many times as long
  crash,       // it ends without a word and starts again at the end of the fault
  wipe,        // the same, and what it had saved is lost
  rewind,      // the same, and what it had saved before that comes back
  leave,       // it says goodbye and starts again at the end of the fault
  join,        // it was not there from the beginning and starts now
  corrupt,     // one byte of this share of all frames is flipped
  forge,       // one field of this share of all frames is changed, and their checksum is right
  halt,        // its user pauses its training, and resumes it at the end of the fault
  nat_reboot,  // the NAT before this node forgets all connections, and passes nothing meanwhile
  away,        // the hidden node is cut off, and its NAT forgets its connections
  narrow,      // the link of each node carries no more than so many Mbit/s, each way
  hasten,      // all jobs take this many times less
  set,         // its user sets the change of that number (sim/director.cpp) at all nodes
};
inline constexpr Duration kSpike = std::chrono::seconds(2);
inline constexpr Duration kStraggle = std::chrono::seconds(1);

struct Fault {
  Duration at{};  // since the start of the world
  FaultKind kind = FaultKind::crash;
  std::vector<std::size_t> nodes = {};
  double amount = 0;    // a share, how many times slower, or Mbit/s
  Duration duration{};  // 0 for a join, which has no end

  bool operator==(const Fault&) const = default;
};

// What belongs to a fault of a kind.
struct FaultRule {
  FaultKind kind;
  std::string_view verb;
  std::size_t nodes_least, nodes_most;
  double amount_least, amount_most;  // both 0: it has none
  bool has_end;
  std::string_view unit = {};  // of the amount
  double share = 0.4;          // of the seeds of chaos that switch it on
  bool of_hidden = false;      // it meets a hidden node
};
const FaultRule& rule_of(FaultKind kind);
std::span<const FaultRule> fault_rules();

// "at 12.5 s: pause node-3 for 4 s", "at 3 s: lose 0.2 for 10 s", "at 9 s: join node-15".
std::string to_text(const Fault& fault);
// What to_text writes; the error says what was seen and what is allowed. `nodes` bounds the names.
Result<Fault> parse_fault(std::string_view text, std::size_t nodes);

// How often faults really hit: a frame, a node, a job; a fault that meets nobody counts nothing.
struct FaultCounts {
  // frames
  std::uint64_t lost = 0, duplicated = 0, reordered = 0, delayed = 0, clogged = 0;
  std::uint64_t cut_one_way = 0, cut_both_ways = 0;
  std::uint64_t retransmitted = 0, limited = 0, corrupted = 0, forged = 0;
  std::uint64_t vanished = 0;   // in connections that a NAT has forgotten
  std::uint64_t forgotten = 0;  // connections, by a NAT
  // nodes
  std::uint64_t crashed = 0, restarted = 0, left = 0, joined = 0, halted = 0;
  std::uint64_t paused = 0;                   // pauses that made an input wait
  std::uint64_t slowed = 0;                   // jobs
  std::uint64_t disk_lost = 0, disk_old = 0;  // starts that found it so

  FaultCounts& operator+=(const FaultCounts& other);
};
struct NamedCount {
  std::string_view name;
  std::uint64_t value;
};
std::vector<NamedCount> list(const FaultCounts& counts);
// "412 lost, 3 crashed": those that are not 0.
std::string to_text(const FaultCounts& counts);

}  // namespace starling::sim
