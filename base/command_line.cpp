#include "base/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <utility>

#include "base/base64url.h"
#include "base/keys.h"
#include "base/text.h"

namespace starling {

namespace po = boost::program_options;

std::optional<std::string> CommandLine::value(std::string_view name) const {
  auto found = options.find(name);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> CommandOption::flags() const {
  const std::string_view full = long_name();
  std::vector<std::string> flags;
  if (full != name) flags.push_back(fmt::format("-{}", name.substr(full.size() + 1)));
  flags.push_back(fmt::format("--{}", full));
  return flags;
}

namespace {

constexpr CommandOption kHelp{"help,h", "", ""};

// "; did you mean --watch?", when one is close.
std::string meant_option(std::string_view written, std::span<const CommandOption> options) {
  std::vector<std::string> names = {std::string(kHelp.long_name())};
  for (const CommandOption& option : options)
    if (!option.is_key()) names.emplace_back(option.long_name());
  written.remove_prefix(std::min(written.find_first_not_of('-'), written.size()));
  const std::string best = nearest(written, names);
  return best.empty() ? "" : fmt::format("; did you mean --{}?", best);
}

void describe(const CommandOption& option, po::options_description& description) {
  const std::string name(option.name);
  if (option.value.empty())
    description.add_options()(name.c_str(), "");
  else
    description.add_options()(name.c_str(), po::value<std::vector<std::string>>(), "");
}

// Moves the keys out of the arguments: the schema checks their names.
Result<std::vector<std::string>> split_keys(std::span<const std::string> arguments,
                                            CommandLine& line) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--") || argument.substr(0, equals).find('.') == std::string::npos) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      line.keys.emplace_back(argument.substr(2, equals - 2), argument.substr(equals + 1));
    } else if (i + 1 < arguments.size()) {
      line.keys.emplace_back(argument.substr(2), arguments[i + 1]);
      ++i;
    } else {
      return fail("{} has no value; write {}=VALUE", argument, argument);
    }
  }
  return rest;
}

// A public key is an argument, also one that begins with a dash, as one in 64 does.
std::vector<po::option> take_key(std::vector<std::string>& rest) {
  std::array<std::byte, kKeyBytes> bytes;
  if (!rest.front().starts_with('-') || !read_base64url(rest.front(), bytes)) return {};
  po::option argument;
  argument.value = argument.original_tokens = {rest.front()};
  rest.erase(rest.begin());
  return {std::move(argument)};
}

Result<void> check_rest(const CommandLine& line, const ProgramCommand& command) {
  if (!line.keys.empty() && command.settings.empty())
    return fail("--{}: keys belong to starling run and up", line.keys.front().first);
  const std::size_t count = line.positional.size();
  if (count > 0 && command.arguments.empty())
    return fail("\"{}\": expected options only", line.positional.front());
  const bool has_more = !command.arguments.empty() && command.arguments.back().ends_with("...");
  if (count < command.arguments_least || (count > command.arguments.size() && !has_more))
    return fail("expected {}{}, got {} arguments", fmt::join(command.arguments, " and "),
                command.arguments_least == 0 ? " or nothing" : "", count);
  return {};
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       const ProgramCommand& command) {
  po::options_description description;
  describe(kHelp, description);
  for (const CommandOption& option : command.options)
    if (!option.is_key()) describe(option, description);
  CommandLine line{.command = command.name, .options = {}, .positional = {}, .keys = {}};
  TRY(const std::vector<std::string> rest, split_keys(arguments, line));
  try {
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed = po::command_line_parser(rest)
                                          .options(description)
                                          .style(style)
                                          .extra_style_parser(take_key)
                                          .run();
    for (const po::option& option : parsed.options) {
      std::vector<std::string>& values =
          option.position_key >= 0 ? line.positional : line.options[option.string_key];
      values.insert(values.end(), option.value.begin(), option.value.end());
    }
  } catch (const po::unknown_option& error) {
    return fail("{}{}", error.what(), meant_option(error.get_option_name(), command.options));
  } catch (const po::error& error) {
    return fail("{}", error.what());
  }
  if (!line.has("help")) {
    TRY_DO(check_rest(line, command));
  }
  return line;
}

}  // namespace starling
