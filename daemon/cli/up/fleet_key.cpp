#include "daemon/cli/up/fleet_key.h"

#include <unistd.h>

#include <filesystem>

#include "daemon/setup/key_file.h"

namespace starling::daemon {

Result<FleetKey> FleetKey::in(const std::string& folder, bool is_temporary) {
  const std::string path = folder + "/cluster.key";
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    TRY_DO(load_key_file(path, KeyKind::cluster));
  } else {
    TRY_DO(save_key_file(path, KeyKind::cluster, new_key()));
  }
  return FleetKey(path, is_temporary);
}

FleetKey::~FleetKey() {
  if (is_temporary_) ::unlink(path_.c_str());
}

}  // namespace starling::daemon
