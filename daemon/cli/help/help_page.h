// HelpPage: the parts of what --help says of a command, which manual pages and completions are made
// from. A help text is written for people, in a form that this reads: `Usage:` and its lines,
// options as "  -n N, --long VALUE   text", indented examples, paragraphs, and `Exit codes:`.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace starling::daemon {

// "--join HOST:PORT" is --join with the value HOST:PORT; a flag has none.
struct HelpFlag {
  std::string name, value;
};

struct HelpOption {
  std::vector<HelpFlag> flags;  // of one meaning, or of one kind
  std::string text;
};
struct HelpParagraph {
  std::string text;
};
// Lines as they stand, without their indent.
struct HelpExample {
  std::vector<std::string> lines;
};
using HelpBlock = std::variant<HelpParagraph, HelpOption, HelpExample>;

struct HelpPage {
  std::string command, summary;
  std::vector<std::string> usages;  // each in one line, beginning with "starling"
  std::vector<HelpBlock> blocks;
  std::string exits;  // what follows "Exit codes:"; empty: the text has none

  std::vector<HelpOption> options() const;
};

HelpPage read_help(std::string_view command, std::string_view summary, std::string_view text);

// Of every command, in the order of the overview.
std::vector<HelpPage> help_pages();

// The names between bars: "csv|jsonl" has two. Empty where there are no bars.
std::vector<std::string> choices_of(std::string_view value);

// Which settings a command takes: "*" for all, a section such as "topology", empty for none.
std::string sections_of(const HelpPage& page);

}  // namespace starling::daemon
