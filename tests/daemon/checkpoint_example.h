// A checkpoint with every field filled, for the tests of its files.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossip/checkpoint.h"
#include "optim/saved_state.h"

namespace starling::daemon {

inline gossip::Checkpoint example_checkpoint() {
  const auto numbers = [](const std::vector<float>& values) {
    return Payload::copy_of(std::as_bytes(std::span(values)));
  };
  auto state = std::make_shared<optim::SavedState>();
  state->schema = "mlp 4-2 f32";
  state->kind = "ed sgd";
  state->parameters = {{"w", "F32", {2, 2}, numbers({1, 2, 3, 4})},
                       {"b", "F32", {2}, numbers({5, 6})}};
  state->state = {{"algorithm.flow.00000000000000ff", "F32", {6}, numbers({1, 1, 2, 3, 5, 8})}};
  state->opaque = Payload::copy_of(std::as_bytes(std::span(std::string_view("of a trainer"))));
  gossip::Checkpoint checkpoint;
  checkpoint.round = 12345678901;
  checkpoint.uncounted = 1234567890;
  checkpoint.sealed = UINT64_MAX;
  checkpoint.members = 16;
  checkpoint.foundation = std::string("survey\0with zeros", 17);
  checkpoint.exchange.edges = {{NodeId{UINT64_MAX}, 1, 2}, {NodeId{3}, UINT64_MAX, 4}};
  checkpoint.exchange.path = 0.1 + 0.2;
  checkpoint.exchange.sent_path = std::numeric_limits<double>::denorm_min();
  checkpoint.steps = 77;
  checkpoint.samples = UINT64_MAX;
  checkpoint.trained_s = 1e9 / 3;
  checkpoint.state = state;
  return checkpoint;
}

}  // namespace starling::daemon
