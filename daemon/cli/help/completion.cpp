#include "daemon/cli/help/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace starling::daemon {
namespace {

enum class Taken { nothing, anything, choice, file, folder };

// What an option, a key or an argument takes.
struct CompletedValue {
  Taken kind = Taken::nothing;
  std::vector<std::string> choices{};
};

struct CompletedOption {
  std::string name;  // with its dashes
  CompletedValue value;
  std::string text;
};

struct CompletedCommand {
  std::string name, summary;
  std::vector<CompletedOption> options;
  CompletedValue argument;
  std::string sections;  // of the keys it takes; see ProgramCommand::settings
};

bool has_word(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

CompletedValue value_named(std::string_view name) {
  if (name.empty()) return {};
  if (has_word(name, "|")) return {Taken::choice, split(name, '|')};
  if (name == "DIR") return {Taken::folder};
  if (has_word(name, "FILE") || has_word(name, "MODEL") || name == "PATH") return {Taken::file};
  return {Taken::anything};
}

// Help in one line of a list: up to the first semicolon, period, colon or parenthesis.
std::string short_text(std::string_view text) {
  constexpr std::size_t kShortColumns = 70;
  std::size_t end = text.find_first_of(";:(");
  end = std::min({end, text.find(". "), text.find(", which"), text.size()});
  std::string_view part = trim(text.substr(0, end));
  if (part.size() > kShortColumns) part = part.substr(0, part.rfind(' ', kShortColumns));
  while (part.ends_with('.') || part.ends_with(',')) part.remove_suffix(1);
  return std::string(part);
}

// Of all arguments one: files are completed wherever a file may stand.
CompletedValue argument_of(const ProgramCommand& command) {
  for (const std::string_view argument : command.arguments)
    if (auto value = value_named(argument); value.kind != Taken::anything) return value;
  return {};
}

CompletedCommand completed_command(const ProgramCommand& command) {
  CompletedCommand completed{std::string(command.name),
                             std::string(command.summary),
                             {},
                             argument_of(command),
                             std::string(command.settings)};
  for (const CommandOption& option : command.options)
    if (!option.is_key())
      for (const std::string& flag : option.flags())
        completed.options.push_back({flag, value_named(option.value), short_text(option.help)});
  completed.options.push_back({"--help", {}, "say more about the command"});
  return completed;
}

CompletedValue value_of(const Key& key) {
  if (!key.choices.empty()) return {Taken::choice, key.choices};
  if (key.name.ends_with("-dir")) return {Taken::folder};
  const bool is_path = key.name.ends_with("path") || key.name.ends_with("file") ||
                       key.name == "model.from" || key.name == "trainer.socket";
  return {is_path ? Taken::file : Taken::anything};
}

std::string section_of(const Key& key) {
  return key.name.substr(0, key.name.find('.'));
}

std::vector<CompletedOption> completed_keys(const Schema& schema) {
  std::vector<CompletedOption> keys;
  for (const Key& key : schema.keys())
    keys.push_back({"--" + key.name, value_of(key), short_text(key.help)});
  return keys;
}

// ---- bash

std::string bash_action(const CompletedValue& value) {
  switch (value.kind) {
    case Taken::choice:
      return fmt::format("words='{}'", fmt::join(value.choices, " "));
    case Taken::file:
      return "kind=file";
    case Taken::folder:
      return "kind=directory";
    case Taken::anything:
    case Taken::nothing:
      break;
  }
  return ":";
}

// A case of a shell's "case" statement for each option that takes a value.
std::string bash_cases(std::string_view prefix, std::span<const CompletedOption> options) {
  std::string text;
  for (const CompletedOption& option : options)
    if (option.value.kind != Taken::nothing)
      text += fmt::format("    '{}{}') {} ;;\n", prefix, option.name, bash_action(option.value));
  return text;
}

std::string bash_lists(std::span<const CompletedCommand> commands) {
  std::string text;
  for (const CompletedCommand& command : commands) {
    text += fmt::format("    {}) options='", command.name);
    for (const CompletedOption& option : command.options) text += option.name + " ";
    text.back() = '\'';
    text += fmt::format(" sections='{}'", command.sections);
    if (command.argument.kind != Taken::nothing) text += " " + bash_action(command.argument);
    text += " ;;\n";
  }
  return text;
}

// Joins the words that bash splits: "--a.b=c" is three words for it.
constexpr std::string_view kBashScript =
    R"(# bash completion for starling, as `starling completion bash` prints it
_starling_value() {{
  case "$1" in
{values}    *) return 1 ;;
  esac
}}
_starling_command() {{
  case "$1" in
{lists}  esac
}}
_starling() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} option=
  local words= kind= options= sections= command=${{COMP_WORDS[1]-}} key
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{commands}' -- "$current")
    return
  fi
  if [[ $current == '=' ]]; then
    option=$before current=
  elif [[ $before == '=' ]]; then
    option=${{COMP_WORDS[COMP_CWORD - 2]}}
  elif [[ $before == -* ]]; then
    option=$before
  fi
  if [[ -n $option ]] && _starling_value "$command $option"; then
    :
  elif [[ -n $option ]] && _starling_value "$option"; then
    :
  elif [[ $command == help ]]; then
    words='{commands}'
  else
    _starling_command "$command"
    if [[ $current == --*.* && -n $sections ]]; then
      words= kind=
      for key in {keys}; do
        [[ $sections == '*' || $key == "--$sections."* ]] && words+=" $key="
      done
      compopt -o nospace 2>/dev/null
    elif [[ $current == -* ]]; then
      words=$options kind=
      for key in {sections}; do
        [[ $sections == '*' || $sections == "$key" ]] && words+=" --$key."
      done
      [[ $current == --?* ]] && compopt -o nospace 2>/dev/null
    fi
  fi
  if [[ -n $kind ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -A "$kind" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
  # What ends an option or a value is followed by a blank, also where sections are among them.
  if ((${{#COMPREPLY[@]}} == 1)) && [[ ${{COMPREPLY[0]}} != *[.=] ]]; then
    compopt +o nospace 2>/dev/null
  fi
}}
complete -F _starling starling
)";

std::string names_of(std::span<const CompletedCommand> commands) {
  std::string text;
  for (const CompletedCommand& command : commands) text += command.name + " ";
  return text + "help";
}

std::string bash_script(std::span<const CompletedCommand> commands, const Schema& schema) {
  const std::vector<CompletedOption> keys = completed_keys(schema);
  std::string values = bash_cases("", keys), names;
  std::vector<std::string> sections;
  for (const CompletedCommand& command : commands)
    values += bash_cases(command.name + " ", command.options);
  for (const Key& key : schema.keys()) {
    names += (names.empty() ? "--" : " --") + key.name;
    if (std::ranges::find(sections, section_of(key)) == sections.end())
      sections.push_back(section_of(key));
  }
  return fmt::format(kBashScript, fmt::arg("values", values), fmt::arg("keys", names),
                     fmt::arg("lists", bash_lists(commands)),
                     fmt::arg("commands", names_of(commands)),
                     fmt::arg("sections", fmt::join(sections, " ")));
}

// ---- zsh

// Within single quotes, with a backslash before each of `signs`.
std::string quoted(std::string_view text, std::string_view signs) {
  std::string result;
  for (const char sign : text) {
    if (sign == '\'') {
      result += "'\\''";
      continue;
    }
    if (has_word(signs, {&sign, 1})) result += '\\';
    result += sign;
  }
  return result;
}

std::string zsh_action(const CompletedValue& value) {
  switch (value.kind) {
    case Taken::choice:
      return fmt::format(":value:({})", fmt::join(value.choices, " "));
    case Taken::file:
      return ":file:_files";
    case Taken::folder:
      return ":folder:_files -/";
    case Taken::anything:
      return ":value: ";
    case Taken::nothing:
      break;
  }
  return "";
}

std::string zsh_option(const CompletedOption& option) {
  const bool takes_joined = option.name.starts_with("--") && option.value.kind != Taken::nothing;
  return fmt::format("'*{}{}[{}]{}'", option.name, takes_joined ? "=" : "",
                     quoted(option.text, "[]:\\"), zsh_action(option.value));
}

std::string zsh_case(const CompletedCommand& command) {
  std::string text = fmt::format("    {})\n      options=(\n", command.name);
  for (const CompletedOption& option : command.options)
    text += fmt::format("        {}\n", zsh_option(option));
  if (command.argument.kind != Taken::nothing)
    text += fmt::format("        '*{}'\n", zsh_action(command.argument));
  text += "      )\n";
  if (!command.sections.empty())
    text += fmt::format("      options+=(${{(M)keys:#\\*--{}.*}})\n", command.sections);
  return text + "      ;;\n";
}

constexpr std::string_view kZshScript = R"(#compdef starling
# zsh completion for starling, as `starling completion zsh` prints it
_starling() {{
  local -a commands keys options
  commands=(
{commands}  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  keys=(
{keys}  )
  case $words[2] in
{cases}    help)
      _describe -t commands command commands
      return
      ;;
  esac
  # The command itself is the word before its arguments.
  shift words
  (( CURRENT-- ))
  _arguments -S $options
}}
if [[ $funcstack[1] == _starling ]]; then
  _starling "$@"
else
  compdef _starling starling
fi
)";

std::string zsh_script(std::span<const CompletedCommand> commands, const Schema& schema) {
  std::string names, keys, cases;
  for (const CompletedCommand& command : commands) {
    names += fmt::format("    '{}:{}'\n", command.name, quoted(command.summary, ":\\"));
    cases += zsh_case(command);
  }
  for (const CompletedOption& key : completed_keys(schema))
    keys += fmt::format("    {}\n", zsh_option(key));
  return fmt::format(kZshScript, fmt::arg("commands", names), fmt::arg("keys", keys),
                     fmt::arg("cases", cases));
}

// ---- fish

std::string fish_value(const CompletedValue& value) {
  switch (value.kind) {
    case Taken::choice:
      return fmt::format(" -x -a '{}'", fmt::join(value.choices, " "));
    case Taken::file:
      return " -r -F";
    case Taken::folder:
      return " -x -a '(__fish_complete_directories)'";
    case Taken::anything:
      return " -x";
    case Taken::nothing:
      break;
  }
  return "";
}

std::string fish_option(std::string_view condition, const CompletedOption& option) {
  const bool is_long = option.name.starts_with("--");
  return fmt::format("complete -c starling -n '{}' -{} {}{} -d '{}'\n", condition,
                     is_long ? "l" : "s", option.name.substr(is_long ? 2 : 1),
                     fish_value(option.value), quoted(option.text, "\\"));
}

// The commands that take keys of the section.
std::string takers_of(std::span<const CompletedCommand> commands, const std::string& section) {
  std::string names;
  for (const CompletedCommand& command : commands)
    if (command.sections == "*" || command.sections == section) names += " " + command.name;
  return names;
}

std::string fish_script(std::span<const CompletedCommand> commands, const Schema& schema) {
  std::string text =
      "# fish completion for starling, as `starling completion fish` prints it\n"
      "complete -c starling -f\n";
  for (const CompletedCommand& command : commands) {
    text += fmt::format("complete -c starling -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, quoted(command.summary, "\\"));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const CompletedOption& option : command.options) text += fish_option(condition, option);
    if (command.argument.kind != Taken::nothing)
      text +=
          fmt::format("complete -c starling -n '{}'{}\n", condition,
                      command.argument.kind == Taken::file ? " -F" : fish_value(command.argument));
  }
  for (std::size_t k = 0; k < schema.keys().size(); ++k) {
    const std::string takers = takers_of(commands, section_of(schema.keys()[k]));
    text += fish_option("__fish_seen_subcommand_from" + takers, completed_keys(schema)[k]);
  }
  return text;
}

}  // namespace

std::string completion_script(std::string_view shell, Commands commands, const Schema& schema) {
  std::vector<CompletedCommand> completed;
  for (const ProgramCommand* command : commands) completed.push_back(completed_command(*command));
  if (shell == "bash") return bash_script(completed, schema);
  if (shell == "zsh") return zsh_script(completed, schema);
  ENSURE(shell == "fish", "the shell is one of kShells");
  return fish_script(completed, schema);
}

}  // namespace starling::daemon
