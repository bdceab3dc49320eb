// TrainerClient: a trainer of the tests, which speaks to the port of a daemon as docs/attach.md has
// it, and can break its rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "daemon/attach/segment.h"

namespace starling::testing {

// One tensor of doubles named "x", unless the table says something else.
struct TrainerPlan {
  std::size_t numbers = 4;
  std::string table = {};                           // JSON; empty: x
  nlohmann::json hello = nlohmann::json::object();  // over what is said otherwise
  bool sealed = true, with_magic = true, with_segment = true;
};

class TrainerClient {
 public:
  // Connects and makes the segment. REQUIRES that somebody listens.
  TrainerClient(const std::string& path, const TrainerPlan& plan);
  ~TrainerClient();
  TrainerClient(const TrainerClient&) = delete;
  TrainerClient& operator=(const TrainerClient&) = delete;

  void say_hello();
  void send(const nlohmann::json& record) { send_text(record.dump()); }
  void send_text(const std::string& text);
  // A record with a memory file of these bytes, sealed or not.
  void send_file(const nlohmann::json& record, const std::string& bytes, bool sealed = true);
  // A record, perhaps empty, with a descriptor, which stays the caller's.
  void send_with(const std::string& text, int descriptor);
  // What the file held that came with the last record; empty: none came.
  const std::string& received_file() const { return received_file_; }
  // The next record; null when the other end has closed. Waits for it.
  nlohmann::json receive();
  // Attaches, answers every request by `serve`, which gives the fields of `done`, until the run
  // ends. Gives the last record.
  nlohmann::json run(const std::function<nlohmann::json(const nlohmann::json& request)>& serve);

  std::span<double> values() { return region(values_); }
  std::span<double> correction() { return region(correction_); }
  std::span<double> gradient() { return region(gradient_); }
  std::span<std::uint32_t> batch();
  // Whether the daemon waits for no more steps.
  bool is_told_over() const;

 private:
  std::span<double> region(const daemon::Region& region);

  TrainerPlan plan_;
  std::string received_file_;
  int socket_ = -1, file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  daemon::Region table_, values_, correction_, gradient_, batch_;
};

}  // namespace starling::testing
