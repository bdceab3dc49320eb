// KeyQuestions: requests nodes' certificates over UDP, which name the key that the other end of a
// connection must prove (see key_answers.h). Never blocks. Used by the thread of the loop only.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "base/endpoint.h"
#include "base/keys.h"
#include "daemon/process/open_file.h"
#include "gossip/transport/guard.h"

namespace starling::daemon {

class KeyQuestions {
 public:
  using Clock = std::chrono::steady_clock;

  // `guard` judges the certificates; it must outlive this.
  explicit KeyQuestions(gossip::Guard& guard) : guard_(guard) {}

  // The key of the node that listens at the address; nothing until it has answered. Sends the next
  // question once kAskEvery has passed. REQUIRES an address, not a host name.
  std::optional<PublicKey> find_or_ask(const Endpoint& at, Clock::time_point now = Clock::now());
  // Whether kTriesLeast questions or more, over kPatience, have had no answer.
  bool is_overdue(const Endpoint& at, Clock::time_point now = Clock::now()) const;
  // Reads the answers that have arrived.
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
  // Longer: a firewall is reported later. Shorter: a lost packet is reported as one.
  static constexpr std::chrono::milliseconds kPatience{1500};
  static constexpr int kTriesLeast = 3;
  static constexpr std::size_t kLimit = 64;

  gossip::Guard& guard_;
  std::map<Key, Question> questions_;
};

}  // namespace starling::daemon
