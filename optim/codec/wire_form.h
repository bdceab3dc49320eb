// WireForm: how the vectors of a run look on the wire: every number by itself in a format, or, with
// a compressor or in parts, against what the peer has decoded before (channel.h); or in slices.
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

// What of a vector a message holds, and how.
struct Coding {
  const Compressor* compressor = nullptr;  // null: none
  double density = 1;                      // of a sparse one
  // After the first message of an edge each holds one of so many parts, in turn.
  std::size_t parts = 1;
  // After the first message of an edge each is encoded as Job::offer_to asks; see ladder.h.
  bool is_chosen = false;
  // A message holds one slice, without a compressor or parts; see combine/slices.h.
  bool in_slices = false;
  // With slices: what a node gives of its vector is masked, so that only the sum over all can be
  // read; see combine/masked_parts.h. By these, which the caller makes, one for each trainer.
  bool is_masked = false;
  std::shared_ptr<Masks> masks = {};
  // With masks: the part of a full averaging step that a model moves (Needs::mixing_share).
  double share = 1;

  // Whether messages are of differences to what the peer has decoded before.
  bool is_of_differences() const { return compressor != nullptr || parts > 1 || is_chosen; }
};

// A part of a vector in which blocks of a compressor begin anew.
struct Segment {
  std::size_t count = 0;
  // Each number travels in the format, such as those of a bias or of BatchNorm: these are few, and
  // a variance that was encoded in few bits may be negative.
  bool is_whole = false;
};

// The numbers of all.
inline std::size_t count_of(std::span<const Segment> segments) {
  std::size_t count = 0;
  for (const Segment& segment : segments) count += segment.count;
  return count;
}

// Bytes before the numbers of a message in slices.
inline constexpr std::size_t kSliceHead = 8;
// Of a masked part: the bytes after that and before its numbers, and of each number; one number
// more shows whether masks have cancelled.
inline constexpr std::size_t kMaskedHead = 8, kMaskedWidth = 8;

struct WireForm {
  // Of vectors, of an edge's first vector and of segments that are whole. Null: that of the model's
  // numbers.
  const Format* format = nullptr;
  Coding coding = {};
  std::vector<Segment> segments = {};  // of the model

  // Whether messages depend on those before them.
  bool remembers() const { return coding.is_of_differences() || coding.in_slices; }
};

// The format of vectors that can be read without those before them; null: none can.
inline const Format* readable_format(const WireForm& form) {
  return form.remembers() ? nullptr : form.format;
}

// "native" (no format), or as in wire_form_names() with any percentage; without segments.
Result<WireForm> parse_wire_form(std::string_view text);
// REQUIRES that there is one: our code names it, not the user.
WireForm wire_form_named(std::string_view text);
// REQUIRES a format.
std::string to_string(const WireForm& form);
// f32, …, i8, …, top:5%, auto: every row, in the order of display.
std::vector<std::string> wire_form_names();

}  // namespace starling::optim
