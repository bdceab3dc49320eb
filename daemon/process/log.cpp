#include "daemon/process/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "base/utf8.h"

namespace starling::daemon::log {
namespace {

spdlog::level::level_enum translate(Level level) {
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err,
                                                          spdlog::level::off};
  return kLevels[static_cast<std::size_t>(level)];
}

}  // namespace

void set_up(Level least, std::string_view name) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(std::string(name), std::move(sink));
  logger->set_pattern("%H:%M:%S.%e %^%-7l%$ %n: %v");
  logger->set_level(translate(least));
  spdlog::set_default_logger(std::move(logger));
}

void set_level(Level least) {
  spdlog::set_level(translate(least));
}

void write(Level level, std::string_view text) {
  spdlog::log(translate(level), "{}", printable(text));
}

}  // namespace starling::daemon::log
