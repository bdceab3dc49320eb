#include "daemon/cli/help/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "daemon/process/version.h"

namespace starling::daemon {
namespace {

// Text that man prints as it stands.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char sign : text) {
    if (sign == '\\')
      result += "\\e";
    else if (sign == '-')
      result += "\\-";
    else
      result += sign;
  }
  if (result.starts_with('.') || result.starts_with('\'')) result.insert(0, "\\&");
  return result;
}

std::string upper(std::string text) {
  for (char& sign : text) sign = static_cast<char>(std::toupper(static_cast<unsigned char>(sign)));
  return text;
}

std::string title(std::string_view name, int section, std::string_view summary) {
  return fmt::format(".TH {} {} \"\" \"starling {}\" \"Starling\"\n.SH NAME\n{} \\- {}\n",
                     upper(escaped(name)), section, kVersion, escaped(name), escaped(summary));
}

std::string blocks(std::string_view text) {
  std::string result;
  for (const TextBlock& block : blocks_of(text)) {
    result += ".PP\n";
    if (!block.paragraph.empty()) result += escaped(block.paragraph) + "\n";
    if (!block.lines.empty()) result += ".RS 2\n.nf\n";
    for (const std::string& line : block.lines) result += escaped(line) + "\n";
    if (!block.lines.empty()) result += ".fi\n.RE\n";
  }
  return result;
}

// "\fB\-\-join\fR \fIHOST:PORT\fR"
std::string option_text(const CommandOption& option) {
  std::vector<std::string> flags;
  for (const std::string& flag : option.flags()) flags.push_back("\\fB" + escaped(flag) + "\\fR");
  std::string text = fmt::format(".TP\n{}", fmt::join(flags, ", "));
  if (!option.value.empty())
    text += fmt::format("{}\\fI{}\\fR", option.is_key() ? "=" : " ", escaped(option.value));
  return text + "\n" + escaped(option.help) + "\n";
}

std::string synopsis(const std::vector<std::string>& usages) {
  std::string text = ".SH SYNOPSIS\n";
  for (const std::string& usage : usages)
    text += (&usage == &usages.front() ? "" : ".br\n") + escaped(usage) + "\n";
  return text;
}

// A heading makes room by itself.
std::string section(std::string_view heading, std::string_view text) {
  if (text.starts_with(".PP\n")) text.remove_prefix(4);
  return text.empty() ? "" : fmt::format(".SH {}\n{}", heading, text);
}

ManualPage command_page(const ProgramCommand& command) {
  const std::string name = fmt::format("starling-{}", command.name);
  std::string options;
  for (const CommandOption& option : command.options) options += option_text(option);
  std::string text = title(name, 1, command.summary) + synopsis(usages_of(command)) +
                     section("DESCRIPTION", blocks(command.description)) +
                     section("OPTIONS", options) + section("EXAMPLES", blocks(command.notes)) +
                     section("EXIT STATUS", blocks(command.exits));
  text += ".SH SEE ALSO\n.BR starling (1),\n.BR starling.ini (5)\n";
  return {name, 1, std::move(text)};
}

ManualPage program_page(Commands commands) {
  std::string text = title("starling", 1, "neighbours train together, without a server");
  text += synopsis({"starling COMMAND [OPTIONS]"});
  text +=
      ".SH DESCRIPTION\nA daemon for peer\\-to\\-peer training: every node runs this program, "
      "trains on its own data, and averages parameters with its neighbours.\n.SH COMMANDS\n";
  for (const ProgramCommand* command : commands)
    text += fmt::format(".TP\n.BR starling\\-{} (1)\n{}\n", escaped(command->name),
                        escaped(command->summary));
  text += ".SH FILES\n.TP\n.I /etc/starling/node.ini\nthe configuration of starling.service\n";
  text += ".SH SEE ALSO\n.BR starling.ini (5)\n";
  return {"starling", 1, std::move(text)};
}

std::string key_text(const Key& key) {
  const std::string name = key.name.substr(key.name.find('.') + 1);
  std::string text = fmt::format(".TP\n\\fB{}\\fR = {}\n{}\n", escaped(name), escaped(key.initial),
                                 escaped(key.help));
  if (!key.choices.empty())
    text +=
        fmt::format(".br\nValues: {}\n", escaped(fmt::format("{}", fmt::join(key.choices, ", "))));
  if (key.scope == Scope::agreed) text += ".br\nAgreed: the same on every node.\n";
  if (key.is_live) text += ".br\nLive: starling set changes it in a running node.\n";
  return text;
}

ManualPage keys_page(const Schema& schema) {
  std::string text = title("starling.ini", 5, "the keys of the configuration of starling");
  text +=
      ".SH DESCRIPTION\nA key has its default, else the value in the file that \\fB\\-c\\fR names, "
      "else that in the environment (\\fBSTARLING_SECTION_KEY\\fR), else that on the command line "
      "(\\fB\\-\\-section.key=value\\fR). \\fBstarling config\\fR prints all values and where each "
      "comes from. The file has sections and lines of the form \\fIkey = value\\fR; # begins a "
      "comment.\n";
  std::string last;
  for (const Key& key : schema.keys()) {
    const std::string own = key.name.substr(0, key.name.find('.'));
    if (own != last) text += fmt::format(".SH [{}]\n", escaped(own));
    last = own;
    text += key_text(key);
  }
  text += ".SH SEE ALSO\n.BR starling (1),\n.BR starling\\-config (1)\n";
  return {"starling.ini", 5, std::move(text)};
}

}  // namespace

std::vector<ManualPage> manual_pages(Commands commands, const Schema& schema) {
  std::vector<ManualPage> manual = {program_page(commands)};
  for (const ProgramCommand* command : commands) manual.push_back(command_page(*command));
  manual.push_back(keys_page(schema));
  return manual;
}

}  // namespace starling::daemon
