// Manual: the pages for man(1), made from the tables of commands and of keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "daemon/cli/help/help.h"

namespace starling::daemon {

struct ManualPage {
  std::string name;  // "starling-run"
  int section = 1;
  std::string text;  // in the language of man

  std::string file_name() const { return name + "." + std::to_string(section); }
};

// starling(1), one for each command, and starling.ini(5) on the keys.
std::vector<ManualPage> manual_pages(Commands commands, const Schema& schema);

}  // namespace starling::daemon
