// KeyQuestions: asks nodes for their certificates, to know which key the other end of a connection
// must prove (see key_answers.h). Never waits. Used by the thread of the loop only.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "base/endpoint.h"
#include "base/keys.h"
#include "daemon/process/guard.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

class KeyQuestions {
 public:
  using Clock = std::chrono::steady_clock;

  // Judges certificates; outlives this.
  explicit KeyQuestions(Guard& guard) : guard_(guard) {}

  // The key of the node that listens at the address; nothing as long as it has not answered. Asks
  // where it has not been asked lately. REQUIRES an address, not a host name.
  std::optional<PublicKey> find(const Endpoint& at, Clock::time_point now = Clock::now());
  // Whether it has been asked for kPatience, more than once, and has not answered.
  bool is_overdue(const Endpoint& at, Clock::time_point now = Clock::now()) const;
  // Takes the answers that have come.
  void take(Clock::time_point now = Clock::now());
  // Whether a question has no answer yet.
  bool is_waiting() const;

 private:
  struct Question {
    OpenFile socket = OpenFile();  // until the answer
    std::optional<PublicKey> key = {};
    Clock::time_point last_use{}, next_try{}, answered{}, first_try{};
    int tries = 0;
  };
  using Key = std::pair<std::string, std::uint16_t>;

  void read(Question& question, const Key& at, Clock::time_point now);

  // Larger: a node that got another key is dialled with the old one for longer.
  static constexpr std::chrono::seconds kKept{10};
  static constexpr std::chrono::milliseconds kAskEvery{250};
  // Longer: a firewall is told of later. Shorter: so is one packet that was lost.
  static constexpr std::chrono::milliseconds kPatience{1500};
  static constexpr int kTriesLeast = 3;
  static constexpr std::size_t kLimit = 64;

  Guard& guard_;
  std::map<Key, Question> questions_;
};

}  // namespace starling::daemon
