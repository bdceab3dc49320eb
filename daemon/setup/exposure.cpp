#include "daemon/setup/exposure.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/masks.h"

namespace starling::daemon {
namespace {

constexpr std::string_view kWhatToDo =
    "give it keys with a ticket of starling invite (docs/keys.md), or trust everybody who reaches "
    "it with security.insecure = true";

bool has_key_file(const Config& config) {
  std::error_code ignored;
  return !config.data_dir.empty() && std::filesystem::exists(config.data_dir + "/key", ignored);
}

}  // namespace

Result<void> check_exposure(const Config& config, const Endpoint& listens) {
  if (config.node.credentials && config.is_insecure)
    return fail("security.insecure = true: this node has keys; expected false, or no keys");
  if (config.node.credentials || config.is_insecure || is_loopback(listens)) return {};
  return fail("listen.control = \"{}\": others can reach it, and this node has no keys; {}",
              to_string(listens), kWhatToDo);
}

Result<void> make_masks(Config& config) {
  optim::Slicing& slicing = config.learner.optim.aggregation.slicing;
  if (!slicing.is_masked) return {};
  if (!config.node.credentials)
    return fail(
        "exchange.masks = true: members mask by their keys, and this node has none; give it keys "
        "with a ticket of starling invite (docs/keys.md), or use false");
  slicing.masks = std::make_shared<Masks>(config.node.credentials->key.curve_secret());
  return {};
}

std::optional<std::string> lack_of_keys(const Config& config) {
  if (is_loopback(config.listen_control) || config.is_insecure || !config.authorized_keys.empty() ||
      has_key_file(config))
    return std::nullopt;
  return fmt::format(
      "listen.control = \"{}\": others can reach it, and this configuration names no keys: "
      "starling "
      "run starts with --ticket-file FILE, with --join TICKET, or with security.insecure = true",
      to_string(config.listen_control));
}

}  // namespace starling::daemon
