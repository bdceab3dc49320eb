// Names drawn by chance, for what the user gave no name.
#pragma once

#include <string>

#include "base/endpoint.h"

namespace starling::daemon {

// Of a node that listens at `control`: that of its machine, the port, and four letters, because
// cloned machines have the same name and configuration.
std::string draw_node_name(const Endpoint& control);
// What stands for the address of a node that nobody can dial, in this life.
std::string draw_mark();

}  // namespace starling::daemon
