#include "daemon/attach/trainer_notes.h"

#include <utility>

namespace starling::daemon {

void RecentTexts::add(Time now, std::string text) {
  while (!notes_.empty() && now - notes_.front().at > kMemory) notes_.pop_front();
  if (notes_.size() < kLimit) notes_.push_back({now, std::move(text)});
}

void RecentTexts::append_to(std::vector<std::string>& texts, Time now) const {
  for (const Note& note : notes_)
    if (now - note.at <= kMemory) texts.push_back(note.text);
}

std::vector<std::string> TrainerNotes::recent(Time now) const {
  std::vector<std::string> texts;
  refused.append_to(texts, now);
  said.append_to(texts, now);
  return texts;
}

}  // namespace starling::daemon
