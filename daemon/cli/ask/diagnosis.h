// Diagnosis: finds problems of a node, or of a peer's port, and their remedies, in observations.
// Pure; command_doctor makes the observations.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "daemon/process/port_probe.h"

namespace starling::daemon {

enum class Severity { ok, warn, fail };
std::string_view name(Severity severity);  // "ok", "warn", "FAIL"

struct Finding {
  Severity severity = Severity::ok;
  std::string check = {};   // the subject: one word
  std::string seen = {};    // in words
  std::string advice = {};  // what to do; empty if all is well

  bool operator==(const Finding&) const = default;
};

// An answer of the REST interface.
struct Answer {
  int status = 0;                     // 0: none came
  std::string problem = {};           // why none came
  nlohmann::json document = nullptr;  // null: not JSON
};

// A port of another node, as it looks from here.
struct SeenPort {
  std::string node = {};  // its name
  Endpoint at = {};
  PortState state = PortState::silent;
};

struct Space {
  double free_bytes = 0, total_bytes = 0;
};

struct Folder {
  std::string path = {};     // node.data-dir
  std::string problem = {};  // why it could not be looked at
  std::optional<Space> space = {};
};

// All observations of a node.
struct SeenNode {
  Endpoint at = {};
  PortState port = PortState::silent;
  bool has_token = false;  // one was given
  bool is_local = false;   // the node is on this machine
  Answer health = {}, status = {}, members = {}, neighbors = {};
  Answer later = {};                         // /v1/status once more
  double between_s = 1;                      // from one to the other
  std::optional<double> clock_ahead_s = {};  // of the node, beside this machine
  std::vector<SeenPort> ports = {};          // of neighbours and other members
  std::optional<Folder> folder = {};         // where one is set and the node is local
  std::optional<Space> memory = {};          // where the node is local
};

// The port of a peer.
struct SeenPeer {
  Endpoint at = {};
  PortState state = PortState::silent;
  bool is_rest = false;  // it answers HTTP as a node does
};

// At least one finding; if the node cannot be asked, that is the last.
std::vector<Finding> diagnose(const SeenNode& seen);
std::vector<Finding> diagnose(const SeenPeer& seen);

// A larger difference of clocks is reported. Smaller: a slow answer looks like a wrong clock.
inline constexpr double kClockApart_s = 5;
// Less free space than the first is a warning, than the second a failure: a node keeps a few kB.
inline constexpr double kFolderLow_bytes = 64e6, kFolderFull_bytes = 64e3;
// The share of the memory below which the system may end processes.
inline constexpr double kMemoryLow = 0.05;
// The share of the descriptors below which a node may soon have none.
inline constexpr double kDescriptorsLow = 0.1;
// A node of a page, a few members and a few clients needs more.
inline constexpr double kDescriptorsFew = 256;

}  // namespace starling::daemon
