#include "tests/sim/live_terms.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace starling::test {
namespace {

const Schema& schema_of_nodes() {
  static const Schema kSchema = [] {
    Schema schema;
    gossip::describe(schema);
    topology::describe(schema);
    optim::describe(schema);
    return schema;
  }();
  return kSchema;
}

}  // namespace

gossip::Reconfigure reconfigure_from(const gossip::Options& node, const optim::Options& training) {
  Settings start(schema_of_nodes());
  const auto take = [&start](const std::vector<Term>& terms) {
    for (const auto& [key, value] : terms)
      if (const Key* known = start.schema().find(key); known && known->is_live)
        start.set(key, value, "start");
  };
  take(gossip::exchange_terms(node));
  take(topology::agreed(node.topology));
  take(optim::agreed(training));
  start.set("eval.every", std::to_string(node.evaluation.every), "start");
  start.set("eval.share", std::to_string(node.evaluation.share), "start");
  // Otherwise no change would be legal either.
  ::starling::Reader of_start(start);
  gossip::read_options(of_start);
  optim::read_options(of_start, *optim::format_named("f64"));
  ENSURE(of_start.verdict().has_value(), "the values of the start can be written as settings");
  return [start, node, training](std::span<const Term> terms) -> Result<gossip::Reconfigured> {
    Settings settings = start;
    gossip::Options next = node;
    for (const auto& [key, value] : terms) {
      if (key == "checkpoint.every")
        next.checkpoint.rounds = static_cast<std::uint64_t>(parse_integer(value).value_or(0));
      else
        settings.set(key, value, "changed");
    }
    ::starling::Reader reader(settings);
    const gossip::Options read = gossip::read_options(reader);
    optim::Options steps = training;
    optim::take_live(steps, optim::read_options(reader, *optim::format_named("f64")));
    TRY_DO(reader.verdict());
    steps.aggregation.slicing.is_on = read.schedule->is_in_slices;
    const auto kept = next.checkpoint;
    take_live(next, read);
    next.checkpoint = kept;
    next.algorithm = full_name(steps);
    next.codec = to_string(steps.codec);
    next.needs = needs_of(steps);
    next.encodings = encodings_of(steps);
    next.training_form = form_of(steps);
    next.local_steps = steps.local_steps;
    next.goal.keep = node.goal.keep;
    return gossip::Reconfigured{std::make_shared<const gossip::Options>(std::move(next)),
                                std::make_shared<const optim::Options>(std::move(steps))};
  };
}

}  // namespace starling::test
