// ProgramCommand: the arguments and action of a command, from which its help, manual page and shell
// completion are made. CommandLine: the arguments of a command, as written.
#pragma once

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace starling {

struct CommandOption {
  std::string_view name;   // "nodes,n" has the short form -n; with a period it is a key
  std::string_view value;  // as help calls it: "N"; "csv|jsonl" are choices; empty: it takes none
  std::string_view help;

  std::string_view long_name() const { return name.substr(0, name.find(',')); }
  std::vector<std::string> flags() const;  // "-n" and "--nodes"
  bool is_key() const { return name.find('.') != std::string_view::npos; }
};

// The groups of options, one after another.
template <std::size_t... kSizes>
constexpr auto join(const CommandOption (&... groups)[kSizes]) {
  std::array<CommandOption, (kSizes + ...)> all;
  std::size_t count = 0;
  const auto append = [&](const auto& group) {
    for (const CommandOption& option : group) all[count++] = option;
  };
  (append(groups), ...);
  return all;
}

struct CommandLine;

inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;      // while running
inline constexpr int kExitWrongUsage = 2;  // nothing was started
inline constexpr int kExitGoalNotReached = 3;
inline constexpr int kExitUnreachable = 4;  // the node that was asked
inline constexpr int kExitLeftBehind = 5;   // the others have ended and gone

// Why a command ends without having done its work.
struct Complaint {
  Complaint(int exit_code, std::string why) : code(exit_code), text(std::move(why)) {}
  Complaint(Error error) : Complaint(kExitWrongUsage, std::move(error.text)) {}

  int code;
  std::string text;
};
template <class T>
using Outcome = tl::expected<T, Complaint>;

template <class... Values>
tl::unexpected<Complaint> complaint(int code, fmt::format_string<Values...> format,
                                    Values&&... values) {
  return tl::unexpected(Complaint(code, fmt::format(format, std::forward<Values>(values)...)));
}

// Texts are paragraphs, parted by blank lines; lines that begin with two blanks are examples.
struct ProgramCommand {
  std::string_view name, summary;
  std::string_view usage;  // lines as help prints them; one that begins with "starling" is a way
  std::string_view description;
  std::span<const CommandOption> options = {};  // besides --help, which every command takes
  std::string_view notes = {};
  std::string_view exits = {};
  std::string_view settings = {};  // the section whose keys it takes; "*": all; empty: none
  // What help calls each of them. The last may end in "...": there may be more of it.
  std::span<const std::string_view> arguments = {};
  std::size_t arguments_least = 0;
  Outcome<int> (*run)(const CommandLine& line) = nullptr;  // gives the exit code
};

struct CommandLine {
  std::string_view command;
  std::map<std::string, std::vector<std::string>, std::less<>> options;
  std::vector<std::string> positional;
  std::vector<std::pair<std::string, std::string>> keys;  // --section.key=value, in order

  bool has(std::string_view name) const { return options.find(name) != options.end(); }
  std::optional<std::string> value(std::string_view name) const;
};

// Splits the arguments and refuses those that the command does not take. With --help only options
// are checked.
Result<CommandLine> parse_command_line(std::span<const std::string> arguments,
                                       const ProgramCommand& command);

}  // namespace starling
