// SettingChange: new values of agreed settings, which all nodes take before the same round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "base/settings.h"

namespace starling::gossip {

struct SettingChange {
  std::uint64_t round = 0;       // the first with the new values
  std::uint64_t number = 0;      // above those of all changes that its author knew, from 1
  std::string author = {};       // the name of the node that a user told
  std::vector<Term> terms = {};  // keys and their new values
  std::string certificate = {};  // with keys: the author's, encoded
  std::string signature = {};    // with keys: of all of this; see trust/notary.h

  // Of two changes of one key the later in this order counts, at every node.
  auto order() const { return std::tie(round, number, author, terms); }
};

// As a message holds them, for a checkpoint. The error says that the bytes are not such.
std::string encode(const std::vector<SettingChange>& changes);
Result<std::vector<SettingChange>> decode_setting_changes(std::span<const std::byte> bytes);

}  // namespace starling::gossip
