// WireForm: how the vectors of a run look on the wire: every number by itself in a format; or, with
// a compressor or in parts, as differences to what the peer has decoded (channel.h).
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

// Which numbers of a vector a message holds, and how they are encoded.
struct Coding {
  const Compressor* compressor = nullptr;  // null: none
  double density = 1;                      // the fraction of numbers that a sparse one keeps
  // Every message after an edge's first holds one of this many parts, in turn.
  std::size_t parts = 1;
  // Every message after an edge's first is encoded as Job::offer_to asks; see ladder.h.
  bool is_chosen = false;
};

// A section of a vector; no block of a compressor crosses its ends.
struct Segment {
  std::size_t count = 0;
  // Its numbers are sent in the format, not compressed, such as those of a bias or of BatchNorm:
  // they are few, and a variance encoded in few bits may become negative.
  bool is_whole = false;
};

// The numbers of all segments.
inline std::size_t count_of(std::span<const Segment> segments) {
  std::size_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  return count;
}

struct WireForm {
  // The format of vectors, with a compressor of an edge's first vector and of whole segments. Null:
  // that of the model's numbers.
  const Format* format = nullptr;
  Coding coding = {};
  std::vector<Segment> segments = {};  // of the model

  // Whether messages hold differences to what the peer has decoded.
  bool remembers() const { return coding.compressor || coding.parts > 1 || coding.is_chosen; }
};

// Parses "native" (no format) or a name of wire_form_names() with any percentage; no segments.
Result<WireForm> parse_wire_form(std::string_view text);
// REQUIRES such a name other than "native": it comes from the code, not from a user.
WireForm wire_form_named(std::string_view text);
// REQUIRES a format.
std::string to_string(const WireForm& form);
// f32, …, i8, …, top:5%, auto: every row, in the order of display.
std::vector<std::string> wire_form_names();

}  // namespace starling::optim
