// Options of several commands, and the exit codes of those that ask a node.
#pragma once

#include "base/command_line.h"

namespace starling::daemon {

inline constexpr CommandOption kAsking[] = {
    {"api", "URL", "the node to ask (http://127.0.0.1:7680)"},
    {"token-file", "FILE", "a bearer token in its first line, for nodes that want one"}};

inline constexpr CommandOption kShowing[] = {
    {"json", "", "print the document as the node sends it, and nothing else"},
    {"watch", "", "draw again every second until Ctrl-C"}};

inline constexpr CommandOption kConfiguring[] = {
    {"config,c", "FILE", "configuration, INI"},
    {"SECTION.KEY", "VALUE",
     "any key, over the file and the environment (STARLING_SECTION_KEY); starling config lists "
     "them all"}};

inline constexpr CommandOption kPrintingJson[] = {
    {"json", "", "print one JSON document, and nothing else"}};

inline constexpr std::string_view kAskingExits =
    "0 done, 1 refused by the node, 2 wrong usage, 4 no node answers.";

}  // namespace starling::daemon
