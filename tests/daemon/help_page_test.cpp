#include "daemon/cli/help/help_page.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "daemon/cli/help/completion.h"
#include "daemon/cli/help/manual.h"
#include "daemon/setup/config.h"

using namespace starling;
using namespace starling::daemon;

namespace {

bool holds_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const HelpPage& page_of(const std::vector<HelpPage>& pages, std::string_view command) {
  const auto page = std::ranges::find(pages, command, &HelpPage::command);
  REQUIRE(page != pages.end());
  return *page;
}

std::string manual_of(std::string_view name) {
  const std::vector<ManualPage> pages = manual_pages(help_pages(), schema());
  const auto page = std::ranges::find(pages, name, &ManualPage::name);
  REQUIRE(page != pages.end());
  return page->text;
}

constexpr std::string_view kHelp = R"(Usage: starling fly [-n N]
                    [--high]
       starling fly --list

Flies to
the neighbours.

  -n N, --nodes N    so many,
                     or more
  --model.kind=KIND
                     the model
  --high             above all

Example: two

  starling fly -n 2 \
      --high

Exit codes: 0 done, 1 fallen
down.
)";

}  // namespace

TEST_CASE("A help text is read into its usages and options and examples and exit codes") {
  const HelpPage page = read_help("fly", "to the south", kHelp);
  CHECK(page.usages ==
        std::vector<std::string>{"starling fly [-n N] [--high]", "starling fly --list"});
  CHECK(page.exits == "0 done, 1 fallen down.");
  REQUIRE(page.blocks.size() == 6);
  CHECK(std::get<HelpParagraph>(page.blocks[0]).text == "Flies to the neighbours.");
  const std::vector<HelpOption> options = page.options();
  REQUIRE(options.size() == 3);
  REQUIRE(options[0].flags.size() == 2);
  CHECK(options[0].flags[1].name == "--nodes");
  CHECK(options[0].flags[1].value == "N");
  CHECK(options[0].text == "so many, or more");
  CHECK(options[1].flags[0].name == "--model.kind");
  CHECK(options[1].flags[0].value == "KIND");
  CHECK(options[2].flags[0].value.empty());
  CHECK(std::get<HelpExample>(page.blocks[5]).lines ==
        std::vector<std::string>{"starling fly -n 2 \\", "    --high"});
}

TEST_CASE("The help of every command has a usage and a description") {
  const std::vector<HelpPage> pages = help_pages();
  CHECK(pages.size() > 20);
  for (const HelpPage& page : pages) {
    CAPTURE(page.command);
    REQUIRE(!page.usages.empty());
    CHECK(page.usages[0].starts_with("starling " + page.command));
    REQUIRE(!page.blocks.empty());
    CHECK(std::holds_alternative<HelpParagraph>(page.blocks[0]));
  }
  CHECK(sections_of(page_of(pages, "run")) == "*");
  CHECK(sections_of(page_of(pages, "plan")) == "topology");
  CHECK(sections_of(page_of(pages, "status")).empty());
}

TEST_CASE("Completions of every shell name every command and key") {
  const std::vector<HelpPage> pages = help_pages();
  for (const std::string_view shell : kShells) {
    CAPTURE(shell);
    const std::string script = completion_script(shell, pages, schema());
    for (const HelpPage& page : pages) CHECK(holds_part(script, page.command));
    for (const Key& key : schema().keys()) CHECK(holds_part(script, key.name));
    CHECK(holds_part(script, "erdos-renyi"));
  }
}

TEST_CASE("Keys whose values have names list all of them") {
  std::set<std::string> listed;
  for (const Key& key : schema().keys()) {
    if (key.choices.empty()) continue;
    CAPTURE(key.name);
    listed.insert(key.name);
    CHECK(std::ranges::find(key.choices, key.initial) != key.choices.end());
  }
  for (const char* name : {"topology.kind", "optim.algorithm", "exchange.codec", "cluster.preset",
                           "exchange.schedule", "data.separator", "node.log", "stop.stay"})
    CHECK(listed.contains(name));
}

TEST_CASE("The manual has a page for every command and one with every key") {
  CHECK(manual_pages(help_pages(), schema()).size() == help_pages().size() + 2);
  const std::string keys = manual_of("starling.ini");
  for (const Key& key : schema().keys())
    CHECK(holds_part(keys, ".SH [" + key.name.substr(0, key.name.find('.')) + "]"));
  CHECK(holds_part(keys, "\\fBlearning\\-rate\\fR = "));
  CHECK(holds_part(keys, "Agreed: the same on every node."));
  const std::string run = manual_of("starling-run");
  CHECK(holds_part(run, "\\fB\\-\\-join\\fR \\fIHOST:PORT\\fR"));
  CHECK(holds_part(run, "7690 \\e\n"));  // a backslash, which man would take for its own
}
