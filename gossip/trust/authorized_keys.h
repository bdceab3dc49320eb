// AuthorizedKeys: the names and public keys of a handful of nodes that have no cluster key. A text
// with a line for each: NAME KEY. Empty lines, and lines that begin with #, are left out.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/keys.h"
#include "base/limits.h"
#include "base/result.h"

namespace starling::gossip {

inline constexpr std::size_t kAuthorizedKeysBytesLimit = 1 << 20;

class AuthorizedKeys {
 public:
  // Each name and each key stands once. The error begins with the number of the line.
  static Result<AuthorizedKeys> parse(std::string_view text);

  // Null if the name has none.
  const PublicKey* find(std::string_view name) const;
  std::size_t size() const { return keys_.size(); }

 private:
  Result<void> add(std::string_view line);

  std::map<std::string, PublicKey, std::less<>> keys_;
};

}  // namespace starling::gossip
