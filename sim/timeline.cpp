#include "sim/timeline.h"

#include <fmt/format.h>

#include <iterator>

namespace starling::sim {
namespace {

// Whom a fault meets first: the node it names alone, or the network.
std::string whom(const Fault& fault) {
  return fault.nodes.size() == 1 && fault.kind != FaultKind::part
             ? fmt::format("node-{}", fault.nodes.front())
             : "network";
}

}  // namespace

void Timeline::watch(World& world) {
  world.observe([this, &world](std::size_t node, const gossip::Output& output) {
    if (const auto* event = std::get_if<gossip::Event>(&output))
      add(world.now(), fmt::format("node-{}", node), event->text);
  });
}

void Timeline::add(Time at, const Fault& fault, bool begins) {
  const std::string sentence = to_text(fault);
  const std::string what = sentence.substr(sentence.find(':') + 2);
  add(at, whom(fault), begins ? "FAULT " + what : "END OF " + what);
}

void Timeline::add(Time at, std::string_view who, std::string_view what) {
  fmt::format_to(std::back_inserter(text_), "{:>10.3f} s  {:<9} {}\n", seconds(at), who, what);
}

}  // namespace starling::sim
