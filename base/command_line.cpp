#include "base/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "base/text.h"

namespace starling {

namespace po = boost::program_options;

std::optional<std::string> CommandLine::value(std::string_view name) const {
  auto found = options.find(name);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

namespace {

bool is_key(std::string_view option) {
  return option.find('.') != std::string_view::npos;
}

// "; did you mean --watch?", when one is close.
std::string meant_option(std::string_view written, std::span<const CommandOption> options) {
  std::vector<std::string> names;
  for (const CommandOption& option : options)
    names.push_back(option.name.substr(0, option.name.find(',')));
  written.remove_prefix(std::min(written.find_first_not_of('-'), written.size()));
  const std::string best = nearest(written, names);
  return best.empty() ? "" : fmt::format("; did you mean --{}?", best);
}

}  // namespace

Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       std::span<const CommandOption> options) {
  po::options_description description;
  for (const CommandOption& option : options) {
    if (option.takes_value)
      description.add_options()(option.name.c_str(), po::value<std::vector<std::string>>(), "");
    else
      description.add_options()(option.name.c_str(), "");
  }
  // Keys are split off first: their names are the schema's business.
  CommandLine result;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--") || !is_key(argument.substr(0, equals))) {
      rest.push_back(argument);
    } else if (equals != std::string::npos) {
      result.keys.emplace_back(argument.substr(2, equals - 2), argument.substr(equals + 1));
    } else if (i + 1 < arguments.size()) {
      result.keys.emplace_back(argument.substr(2), arguments[i + 1]);
      ++i;
    } else {
      return fail("{} has no value; write {}=VALUE", argument, argument);
    }
  }
  try {
    const auto style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    const po::parsed_options parsed =
        po::command_line_parser(rest).options(description).style(style).run();
    for (const po::option& option : parsed.options) {
      if (option.position_key >= 0)
        result.positional.insert(result.positional.end(), option.value.begin(), option.value.end());
      else
        for (auto& values = result.options[option.string_key]; auto& value : option.value)
          values.push_back(value);
    }
  } catch (const po::unknown_option& error) {
    return fail("{}{}", error.what(), meant_option(error.get_option_name(), options));
  } catch (const po::error& error) {
    return fail("{}", error.what());
  }
  return result;
}

}  // namespace starling
