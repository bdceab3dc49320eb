// TrainerNotes: what happened at the trainer's port and people should see for a while.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "base/time.h"

namespace starling::daemon {

// The newest of one kind.
class RecentTexts {
 public:
  // Drops the text if there are enough of the last minute.
  void add(Time now, std::string text);
  // Appends those of the last minute, oldest first.
  void append_to(std::vector<std::string>& texts, Time now) const;

 private:
  // Longer: a note is shown for longer. More: a trainer that repeats itself takes more of the log.
  static constexpr Duration kMemory = std::chrono::seconds(60);
  static constexpr std::size_t kLimit = 4;

  struct Note {
    Time at{};
    std::string text;
  };
  std::deque<Note> notes_;
};

struct TrainerNotes {
  RecentTexts said, refused;  // by trainers; of trainers

  std::vector<std::string> recent(Time now) const;
};

}  // namespace starling::daemon
