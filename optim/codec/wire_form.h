// WireForm: how the vectors of a run look on the wire: every number by itself in a format, or, with
// a compressor, against what the peer has decoded before (channel.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "optim/codec/compressor.h"
#include "optim/codec/format.h"

namespace starling::optim {

// A compressor as a run uses it; null: none.
struct Coding {
  const Compressor* compressor = nullptr;
  double density = 1;  // of a sparse one
};

struct WireForm {
  // Of vectors, and with a compressor of an edge's first vector. Null: that of the model's numbers.
  const Format* format = nullptr;
  Coding coding = {};
  std::vector<std::size_t> segments = {};  // sizes of the model's blocks; see Layout

  bool remembers() const { return coding.compressor != nullptr; }
};

// The format of vectors that can be read without those before them; null: none can.
inline const Format* readable_format(const WireForm& form) {
  return form.remembers() ? nullptr : form.format;
}

// "auto" (no format), or as in wire_form_names() with any percentage; without segments.
Result<WireForm> parse_wire_form(std::string_view text);
// REQUIRES that there is one: our code names it, not the user.
WireForm wire_form_named(std::string_view text);
// REQUIRES a format.
std::string to_string(const WireForm& form);
// f32, …, i8, …, top:5%: every row, in the order of display.
std::vector<std::string> wire_form_names();

}  // namespace starling::optim
