// Harness: the real program in real processes, on free ports of the loopback address. Tests wait
// on conditions with a deadline that is far beyond what any machine needs.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/endpoint.h"
#include "daemon/process/child_process.h"

namespace starling::testing {

struct Outcome {
  int exit_code = -1;
  std::string out, err;
  std::size_t error_lines() const;
};

// The path of `starling`: TEST_PROGRAM in the environment, or else the one of this build.
const std::string& program();

// Runs `starling ARGUMENTS` to its end, in that folder.
Outcome run(const std::string& arguments, const std::string& in = STARLING_ROOT);

// A file in a folder that the process takes away when it ends.
std::string temporary_file(const std::string& name, const std::string& text);

bool eventually(const std::function<bool()>& condition,
                std::chrono::seconds deadline = std::chrono::seconds(60));

// One `starling run` on free ports.
class Daemon {
 public:
  // REQUIRES that it comes up.
  Daemon(const std::string& name, const std::vector<std::string>& arguments);

  // Null when it does not answer.
  nlohmann::json get(const std::string& resource) const;
  int post(const std::string& resource, const std::string& body) const;
  // The answer to a POST; null when there is none.
  nlohmann::json ask(const std::string& resource, const nlohmann::json& body) const;
  std::uint64_t round() const;
  std::size_t members(const std::string& state) const;

  const std::string& name() const { return name_; }
  daemon::ChildProcess& process() { return process_; }
  const Endpoint& control() const { return control_; }
  const Endpoint& http() const { return http_; }

 private:
  std::string name_;
  daemon::ChildProcess process_;
  Endpoint control_, http_;
};

}  // namespace starling::testing
