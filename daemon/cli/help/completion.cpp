#include "daemon/cli/help/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace starling::daemon {
namespace {

using Words = std::span<const std::string>;

// By what help calls an option's value or an argument.
std::string values_named(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (has("|")) return fmt::format("words\n{}\n", fmt::join(split(name, '|'), "\n"));
  if (name == "DIR") return "directory\n";
  return has("FILE") || has("MODEL") || name == "PATH" ? "file\n" : "words\n";
}

std::string values_of(const Key& key) {
  if (!key.choices.empty()) return fmt::format("words\n{}\n", fmt::join(key.choices, "\n"));
  if (key.name.ends_with("-dir")) return "directory\n";
  const bool is_path = key.name.ends_with("path") || key.name.ends_with("file") ||
                       key.name == "model.from" || key.name == "trainer.socket";
  return is_path ? "file\n" : "words\n";
}

// Help in one line of a list: up to the first semicolon, period, colon or parenthesis.
std::string_view short_text(std::string_view text) {
  constexpr std::size_t kShortColumns = 70;
  std::size_t end = text.find_first_of(";:(");
  end = std::min({end, text.find(". "), text.find(", which"), text.size()});
  std::string_view part = trim(text.substr(0, end));
  if (part.size() > kShortColumns) part = part.substr(0, part.rfind(' ', kShortColumns));
  while (part.ends_with('.') || part.ends_with(',')) part.remove_suffix(1);
  return part;
}

bool takes(const ProgramCommand& command, const Key& key) {
  return command.settings == "*" || command.settings == key.name.substr(0, key.name.find('.'));
}

std::string commands_listed(Commands commands) {
  std::string text = "words\n";
  for (const ProgramCommand* command : commands)
    text += fmt::format("{}\t{}\n", command->name, command->summary);
  return text + "help\tsay more about a command\n";
}

std::string options_listed(const ProgramCommand& command, const Schema& schema) {
  std::string text = "words\n";
  for (const CommandOption& option : command.options)
    if (!option.is_key())
      for (const std::string& flag : option.flags())
        text += fmt::format("{}\t{}\n", flag, short_text(option.help));
  text += "--help\tsay more about the command\n";
  for (const Key& key : schema.keys())
    if (takes(command, key)) text += fmt::format("--{}=\t{}\n", key.name, short_text(key.help));
  return text;
}

// The word whose value the last one would be. Bash splits "--name=value" into three words.
std::string_view option_before(Words words) {
  const std::string_view last = words.back();
  if (last.starts_with("--") && last.find('=') != std::string_view::npos)
    return last.substr(0, last.find('='));
  if (last != "=") words = words.first(words.size() - 1);
  if (words.back() == "=") words = words.first(words.size() - 1);
  return words.back();
}

// Nothing unless it is an option or a key that takes a value.
std::optional<std::string> values_after(std::string_view word, const ProgramCommand& command,
                                        const Schema& schema) {
  for (const CommandOption& option : command.options)
    for (const std::string& flag : option.flags())
      if (flag == word && !option.value.empty() && !option.is_key())
        return values_named(option.value);
  const Key* key = word.starts_with("--") ? schema.find(word.substr(2)) : nullptr;
  return key && takes(command, *key) ? std::optional(values_of(*key)) : std::nullopt;
}

constexpr std::string_view kBashScript =
    R"(# bash completion for starling, as `starling completion bash` prints it: asks the program.
_starling() {
  local current=${COMP_WORDS[COMP_CWORD]} program=starling kind= word rest last=
  [[ ${COMP_WORDS[0]} == */starling ]] && program=${COMP_WORDS[0]/#\~/$HOME}
  [[ $current == '=' ]] && current=
  COMPREPLY=()
  {
    read -r kind
    while IFS=$'\t' read -r word rest; do
      # Of keys their sections first.
      [[ $word == --*.* && $current != *.* ]] && word=${word%%.*}.
      [[ $word == "$current"* && $word != "$last" ]] && COMPREPLY+=("$word") && last=$word
    done
  } < <("$program" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $kind == file || $kind == directory ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -A "$kind" -- "$current")
  elif [[ ${COMPREPLY[0]-} == *[.=] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _starling starling
)";

constexpr std::string_view kZshScript =
    R"(#compdef starling
# zsh completion for starling, as `starling completion zsh` prints it: asks the program.
_starling() {
  local -a found options keys
  local program=starling
  [[ $words[1] == */starling ]] && program=${~words[1]}
  found=("${(@f)$("$program" complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  compset -P '--*='
  case $found[1] in
    file) _files ;;
    directory) _files -/ ;;
    *)
      found=("${(@)${(@)found[2,-1]//:/\\:}/$'\t'/:}")
      options=("${(@)found:#--*=(|:*)}")
      keys=("${(@M)found:#--*=:*}")
      _describe -V starling options -- keys -S ''
      ;;
  esac
}
if [[ $funcstack[1] == _starling ]]; then
  _starling "$@"
else
  compdef _starling starling
fi
)";

constexpr std::string_view kFishScript =
    R"(# fish completion for starling, as `starling completion fish` prints it: asks the program.
function __starling_ask
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l program starling
  string match -q '*/starling' -- $words[1]; and set program (string replace -r '^~' ~ -- $words[1])
  set -l found ($program complete $words[2..] "$current" 2>/dev/null)
  set -l option (string match -r -- '^--[^=]*=' "$current"; or echo)
  set -l value (string replace -- "$option" '' "$current")
  if test "$found[1]" = directory
    set -g __starling_found $option(__fish_complete_directories "$value" '')
  else
    # Of the word alone: fish would look for its letters in what the word does, too.
    set -l part (string trim -l -c - -- "$value" | string escape --style=regex)
    set -g __starling_found $option(string match -r -- "^[^\t]*$part.*" $found[2..])
  end
  test "$found[1]" != file
end
complete -c starling -n __starling_ask -f -a '$__starling_found'
)";

}  // namespace

std::string completions(Words words, Commands commands, const Schema& schema) {
  if (words.size() < 2 || words.front() == "help") return commands_listed(commands);
  const auto command = std::ranges::find(commands, words.front(), &ProgramCommand::name);
  if (command == commands.end()) return "words\n";
  if (const auto values = values_after(option_before(words), **command, schema)) return *values;
  if (!words.back().starts_with('-'))
    for (const std::string_view argument : (*command)->arguments)
      if (std::string values = values_named(argument); values != "words\n") return values;
  return options_listed(**command, schema);
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBashScript;
  return shell == "zsh" ? kZshScript : kFishScript;
}

}  // namespace starling::daemon
