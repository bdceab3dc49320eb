#include "gossip/members/look_alikes.h"

#include <fmt/core.h>

#include <unordered_map>

namespace starling::gossip {
namespace {

// The name with its ASCII letters in lower case.
std::string folded(std::string name) {
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

}  // namespace

std::string look_alikes(const Roster& members) {
  std::unordered_map<std::string, const Member*> seen;
  for (const Member* member : members.present()) {
    const auto [first, is_new] = seen.try_emplace(folded(member->name), member);
    if (!is_new)
      return fmt::format(
          "the names of {} and {} differ in large and small letters alone; give one of them "
          "another "
          "node.name",
          first->second->name, member->name);
  }
  return {};
}

}  // namespace starling::gossip
