#include "gossip/trust/authorized_keys.h"

#include <algorithm>

#include "base/node_name.h"
#include "base/text.h"
#include "gossip/wire/wire.h"

namespace starling::gossip {

Result<AuthorizedKeys> AuthorizedKeys::parse(std::string_view text) {
  if (text.size() > kAuthorizedKeysBytesLimit)
    return fail("{} bytes; expected at most {}", text.size(), kAuthorizedKeysBytesLimit);
  AuthorizedKeys keys;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (const auto added = keys.add(line); !added)
      return fail("line {}: {}", number, added.error().text);
  }
  return keys;
}

// A name may have blanks, a key has none: the key is what follows the last one.
Result<void> AuthorizedKeys::add(std::string_view line) {
  const std::size_t blank = line.find_last_of(" \t");
  if (blank == std::string_view::npos) return fail("expected NAME KEY, got one word");
  const std::string_view name = trim(line.substr(0, blank));
  if (name.size() > kNameBytesLimit || !is_node_name(name))
    return fail("a name has at most {} bytes of {}", kNameBytesLimit, kNodeNameLaw);
  TRY(const PublicKey key, parse_public_key(line.substr(blank + 1)));
  if (keys_.size() == kMembersLimit) return fail("expected at most {} keys", kMembersLimit);
  const auto same = std::ranges::find(keys_, key, [](const auto& entry) { return entry.second; });
  if (same != keys_.end()) return fail("the key of {} again; each node has its own", same->first);
  if (!keys_.emplace(name, key).second) return fail("{} again; a node has one key", name);
  return {};
}

const PublicKey* AuthorizedKeys::find(std::string_view name) const {
  const auto found = keys_.find(name);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace starling::gossip
