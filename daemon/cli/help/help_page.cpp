#include "daemon/cli/help/help_page.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "daemon/cli/help/help.h"

namespace starling::daemon {
namespace {

constexpr std::string_view kUsageMark = "Usage:";
constexpr std::string_view kExitMark = "Exit codes:";
constexpr std::string_view kProgramName = "starling";

std::size_t indent_of(std::string_view line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

void append_words(std::string& text, std::string_view words) {
  if (words.empty()) return;
  if (!text.empty()) text += ' ';
  text += words;
}

// "--long VALUE", "--long=VALUE", "-n N" or "--flag".
HelpFlag read_flag(std::string_view words) {
  const std::size_t end = std::min(words.find_first_of(" ="), words.size());
  const std::string_view value = words.substr(std::min(end + 1, words.size()));
  return {std::string(words.substr(0, end)), std::string(trim(value))};
}

// The flags, with ", " between them, and behind two blanks the text.
HelpOption read_option(std::string_view line) {
  const std::size_t gap = std::min(line.find("  "), line.size());
  std::string_view flags = line.substr(0, gap);
  HelpOption option;
  while (!flags.empty()) {
    const std::size_t end = std::min(flags.find(", "), flags.size());
    option.flags.push_back(read_flag(flags.substr(0, end)));
    flags.remove_prefix(std::min(end + 2, flags.size()));
  }
  option.text = trim(line.substr(gap));
  return option;
}

class HelpReader {
 public:
  explicit HelpReader(HelpPage& page) : page_(page) {}

  void read(std::string_view line) {
    const std::string_view words = trim(line);
    if (words.empty())
      end_block();
    else if (line.starts_with(kUsageMark))
      begin_usage(trim(line.substr(kUsageMark.size())));
    else if (place_ == Place::usage)
      go_on_with_usage(words);
    else if (line.starts_with(kExitMark))
      begin_exits(trim(line.substr(kExitMark.size())));
    else if (place_ == Place::exits)
      append_words(page_.exits, words);
    else
      read_block(line, words);
  }

 private:
  enum class Place { outside, usage, exits, block };

  // Notes on a command end with a blank line, lists of options and examples may hold some.
  void end_block() {
    place_ = Place::outside;
    is_separated_ = true;
  }
  void begin_usage(std::string_view words) {
    place_ = Place::usage;
    page_.usages.emplace_back(words);
  }
  void go_on_with_usage(std::string_view words) {
    if (words.starts_with(kProgramName))
      page_.usages.emplace_back(words);
    else
      append_words(page_.usages.back(), words);
  }
  void begin_exits(std::string_view words) {
    place_ = Place::exits;
    page_.exits = words;
  }

  void read_block(std::string_view line, std::string_view words) {
    const std::size_t indent = indent_of(line);
    auto* last = is_separated_ || page_.blocks.empty() ? nullptr : &page_.blocks.back();
    is_separated_ = false;
    if (indent == 2 && words.starts_with('-')) {
      page_.blocks.emplace_back(read_option(words));
    } else if (auto* option = last ? std::get_if<HelpOption>(last) : nullptr;
               option && indent > 2) {
      append_words(option->text, words);
    } else if (indent >= 2) {
      add_example(last, line.substr(2));
    } else if (auto* paragraph = last ? std::get_if<HelpParagraph>(last) : nullptr) {
      append_words(paragraph->text, words);
    } else {
      page_.blocks.emplace_back(HelpParagraph{std::string(words)});
    }
  }
  void add_example(HelpBlock* last, std::string_view line) {
    if (!last || !std::holds_alternative<HelpExample>(*last))
      last = &page_.blocks.emplace_back(HelpExample{});
    std::get<HelpExample>(*last).lines.emplace_back(line);
  }

  HelpPage& page_;
  Place place_ = Place::outside;
  bool is_separated_ = true;
};

// SECTION of "--SECTION.KEY=VALUE", wherever that stands in `text`.
std::optional<std::string> section_in(std::string_view text) {
  const std::size_t end = text.find(".KEY=");
  if (end == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.rfind("--", end);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view section = text.substr(begin + 2, end - begin - 2);
  return section == "SECTION" ? "*" : std::string(section);
}

}  // namespace

std::vector<HelpOption> HelpPage::options() const {
  std::vector<HelpOption> options;
  for (const HelpBlock& block : blocks)
    if (const auto* option = std::get_if<HelpOption>(&block)) options.push_back(*option);
  return options;
}

HelpPage read_help(std::string_view command, std::string_view summary, std::string_view text) {
  HelpPage page{std::string(command), std::string(summary), {}, {}, {}};
  HelpReader reader(page);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return page;
}

std::vector<HelpPage> help_pages() {
  std::vector<HelpPage> pages;
  for (const HelpTopic& topic : help_topics())
    pages.push_back(read_help(topic.command, topic.summary, help_for(topic.command)));
  return pages;
}

std::vector<std::string> choices_of(std::string_view value) {
  if (value.find('|') == std::string_view::npos) return {};
  return split(value, '|');
}

std::string sections_of(const HelpPage& page) {
  for (const std::string& usage : page.usages)
    if (auto section = section_in(usage)) return *section;
  return {};
}

}  // namespace starling::daemon
