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

std::string paragraph(std::string_view text) {
  return fmt::format(".PP\n{}\n", escaped(text));
}

std::string verbatim(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.RS 2\n.nf\n";
  for (const std::string& line : lines) text += escaped(line) + "\n";
  return text + ".fi\n.RE\n";
}

// "\fB--join\fR \fIHOST:PORT\fR"
std::string flag_text(const HelpFlag& flag) {
  std::string text = "\\fB" + escaped(flag.name) + "\\fR";
  if (flag.value.empty()) return text;
  const bool is_key = flag.name.find('.') != std::string::npos;
  return text + (is_key ? "=" : " ") + "\\fI" + escaped(flag.value) + "\\fR";
}

std::string option_text(const HelpOption& option) {
  std::vector<std::string> flags;
  for (const HelpFlag& flag : option.flags) flags.push_back(flag_text(flag));
  return fmt::format(".TP\n{}\n{}\n", fmt::join(flags, ", "), escaped(option.text));
}

std::string synopsis(const std::vector<std::string>& usages) {
  std::string text = ".SH SYNOPSIS\n";
  for (const std::string& usage : usages)
    text += (&usage == &usages.front() ? "" : ".br\n") + escaped(usage) + "\n";
  return text;
}

// What stands before the first option describes the command; what follows the options is notes and
// examples.
std::string body(const HelpPage& page) {
  std::string description, options, notes;
  for (const HelpBlock& block : page.blocks) {
    std::string& place = options.empty() ? description : notes;
    if (const auto* option = std::get_if<HelpOption>(&block))
      options += option_text(*option);
    else if (const auto* example = std::get_if<HelpExample>(&block))
      place += verbatim(example->lines);
    else
      place += paragraph(std::get<HelpParagraph>(block).text);
  }
  // A heading makes room by itself.
  constexpr std::size_t kBreak = std::string_view(".PP\n").size();
  std::string text = ".SH DESCRIPTION\n" + description.substr(kBreak);
  if (!options.empty()) text += ".SH OPTIONS\n" + options;
  if (!notes.empty()) text += ".SH EXAMPLES\n" + notes.substr(kBreak);
  return text;
}

ManualPage command_page(const HelpPage& page) {
  const std::string name = "starling-" + page.command;
  std::string text = title(name, 1, page.summary) + synopsis(page.usages) + body(page);
  if (!page.exits.empty()) text += ".SH EXIT STATUS\n" + escaped(page.exits) + "\n";
  text += ".SH SEE ALSO\n.BR starling (1),\n.BR starling.ini (5)\n";
  return {name, 1, std::move(text)};
}

ManualPage program_page(const std::vector<HelpPage>& pages) {
  std::string text = title("starling", 1, "neighbours train together, without a server");
  text += synopsis({"starling COMMAND [OPTIONS]"});
  text +=
      ".SH DESCRIPTION\nA daemon for peer\\-to\\-peer training: every node runs this program, "
      "trains on its own data, and averages parameters with its neighbours.\n.SH COMMANDS\n";
  for (const HelpPage& page : pages)
    text += fmt::format(".TP\n.BR starling\\-{} (1)\n{}\n", escaped(page.command),
                        escaped(page.summary));
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
  std::string section;
  for (const Key& key : schema.keys()) {
    const std::string own = key.name.substr(0, key.name.find('.'));
    if (own != section) text += fmt::format(".SH [{}]\n", escaped(own));
    section = own;
    text += key_text(key);
  }
  text += ".SH SEE ALSO\n.BR starling (1),\n.BR starling\\-config (1)\n";
  return {"starling.ini", 5, std::move(text)};
}

}  // namespace

std::vector<ManualPage> manual_pages(const std::vector<HelpPage>& pages, const Schema& schema) {
  std::vector<ManualPage> manual = {program_page(pages)};
  for (const HelpPage& page : pages) manual.push_back(command_page(page));
  manual.push_back(keys_page(schema));
  return manual;
}

}  // namespace starling::daemon
