#include <algorithm>

#include "tests/fuzz/target.h"

namespace starling::fuzz {

const std::vector<Target>& targets() {
  static const auto kAll = [] {
    std::vector<Target> all;
    for (const auto& some :
         {wire_targets(), codec_targets(), http_targets(), setting_targets(), table_targets(),
          file_targets(), key_targets(), attach_targets(), document_targets(), cluster_targets()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kAll;
}

const Target* find_target(std::string_view name) {
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found == targets().end() ? nullptr : &*found;
}

}  // namespace starling::fuzz
