// WireForm: how the vectors of a run look on the wire: every number by itself in a format, or, with
// a compressor, against what the peer has decoded before (channel.h).
#pragma once

#include <cstddef>
#include <span>
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

// A part of a vector in which blocks of a compressor begin anew.
struct Segment {
  std::size_t count = 0;
  // Each number travels in f32, such as those of a bias or of BatchNorm: these are few, and a
  // variance that was encoded in few bits may be negative.
  bool is_whole = false;
};

// The numbers of all.
inline std::size_t count_of(std::span<const Segment> segments) {
  std::size_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  return count;
}

struct WireForm {
  // Of vectors, and with a compressor of an edge's first vector. Null: that of the model's numbers.
  const Format* format = nullptr;
  Coding coding = {};
  std::vector<Segment> segments = {};  // of the model

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
