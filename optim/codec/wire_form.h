// WireForm: how the vectors of a run look on the wire: every number by itself in a format; with a
// compressor or in parts, as differences to what the peer has decoded (channel.h); or in slices.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/masks.h"
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
  // A message holds one slice, without a compressor or parts; see combine/slices.h.
  bool in_slices = false;
  // With slices: parts are masked, so that only their sum can be read; see combine/masked_parts.h.
  // The caller makes the masks, for one trainer alone.
  bool is_masked = false;
  std::shared_ptr<Masks> masks = {};
  // With masks: the part of a full averaging step that a model moves (Needs::mixing_share).
  double share = 1;

  // Whether messages hold differences to what the peer has decoded.
  bool is_of_differences() const { return compressor != nullptr || parts > 1 || is_chosen; }
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

// Bytes before the numbers of a message in slices.
inline constexpr std::size_t kSliceHead = 8;
// In a masked part: the bytes between that head and the numbers, and those of each number. One more
// number shows whether the masks have cancelled.
inline constexpr std::size_t kMaskedHead = 8, kMaskedWidth = 8;

struct WireForm {
  // The format of vectors, with a compressor of an edge's first vector and of whole segments. Null:
  // that of the model's numbers.
  const Format* format = nullptr;
  Coding coding = {};
  std::vector<Segment> segments = {};  // of the model

  // Whether a message depends on earlier ones.
  bool remembers() const { return coding.is_of_differences() || coding.in_slices; }
};

// The format of vectors if each can be decoded by itself; else null.
inline const Format* readable_format(const WireForm& form) {
  return form.remembers() ? nullptr : form.format;
}

// Parses "native" (no format) or a name of wire_form_names() with any percentage; no segments.
Result<WireForm> parse_wire_form(std::string_view text);
// REQUIRES such a name other than "native": it comes from the code, not from a user.
WireForm wire_form_named(std::string_view text);
// REQUIRES a format.
std::string to_string(const WireForm& form);
// f32, …, i8, …, top:5%, auto: every row, in the order of display.
std::vector<std::string> wire_form_names();

}  // namespace starling::optim
