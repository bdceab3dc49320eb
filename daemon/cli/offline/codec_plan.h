// CodecPlan: what the codec of a run costs. Of a model of P bytes, in numbers of p bytes:
//   a vector        P / p numbers in the codec, times the vectors that the algorithm offers at once
//   what a node     2 d P, as many times, where d neighbours are: two vectors for each end of an
//   remembers       edge, r and D of optim/codec/channel.h; nothing with plain formats
// Blocks are counted as if the model were one tensor. The first vector of an edge is whole, in f32.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "optim/codec/wire_form.h"

namespace starling::daemon {

struct CodecPlan {
  optim::WireForm form;
  std::size_t number_bytes = sizeof(float);  // of the model's numbers
  std::size_t vectors = 1;                   // that an offer has

  std::string name() const { return to_string(form); }
  // Whether this is the model as it is in memory.
  bool is_native() const;
  // Of an offer, after the first of an edge; in another codec, of one vector.
  double vector_bytes(std::int64_t model_bytes) const;
  double vector_bytes(std::int64_t model_bytes, const optim::WireForm& other) const;
  double memory_bytes(std::int64_t model_bytes, int neighbors) const;
  // The same with another codec.
  CodecPlan with(std::string_view codec) const;
};

// Of the same run with each codec, in the order of display; without those that remember where
// vectors may be left out or edges lead one way.
std::vector<CodecPlan> alternatives(const CodecPlan& plan, bool may_remember);

// exchange.codec, exchange.parts, model.precision and optim.algorithm.
CodecPlan read_codec_plan(Reader& reader);

}  // namespace starling::daemon
