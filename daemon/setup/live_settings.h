// LiveSettings: which settings a running node can change (Key::is_live), and what follows from new
// values. How nodes agree on them: gossip/node/setting_log.h. To add a live key: live() after its
// bind(), and take_live() of the options that it is of, or daemon/rest/api.cpp for what is no part
// of the node; where edges carry something else by it, form_of() of these options too.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "daemon/setup/config.h"
#include "gossip/io.h"
#include "gossip/status.h"

namespace starling::daemon {

// Constant: any thread.
class LiveSettings {
 public:
  // Those that the node began with, and what was read from them.
  LiveSettings(Settings settings, Config config)
      : settings_(std::move(settings)), config_(std::move(config)) {}

  // The configuration with these values in place of those of the start; see gossip::Reconfigure.
  // The error says what is not allowed.
  Result<Config> with(std::span<const Term> terms) const;
  // What a user asks for, where the others are as `now`. The error says which keys are unknown, not
  // live, or of values that are not allowed. `at_round`: as a user gave it for agreed keys, at a
  // node that has finished `round`; nothing: as soon as all nodes can know of it.
  Result<gossip::ConfigureCommand> command(std::span<const Term> changes,
                                           const gossip::SettingsStatus& now, std::uint64_t round,
                                           const std::optional<std::string>& at_round) const;

  const Settings& settings() const { return settings_; }
  // Of the start.
  const Config& config() const { return config_; }
  // {"eval.every": {"value": "10", "scope": "own", "origin": "default", "since_round": 0}, …}: the
  // live keys in `round`, as GET /v1/settings answers. A change of all nodes tells "by", and one to
  // come is "next".
  nlohmann::json to_json(const gossip::SettingsStatus& now, std::uint64_t round) const;

 private:
  std::string refusal_of(const Term& change) const;

  Settings settings_;
  Config config_;
};

// For the node that runs with these settings.
gossip::Reconfigure reconfigure_by(std::shared_ptr<const LiveSettings> settings);

}  // namespace starling::daemon
