// Segment: the memory that a trainer shares with the daemon (docs/attach.md). Its size can not
// change while it is mapped, so that the trainer cannot make the daemon fault; what it holds may
// change at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "daemon/process/open_file.h"

namespace starling::daemon {

inline constexpr std::size_t kSegmentBytesLimit = std::size_t{1} << 40;
inline constexpr std::size_t kSegmentHeaderBytes = 64;

// A part of the segment; of 0 bytes: none.
struct Region {
  std::size_t offset = 0, bytes = 0;
};

class Segment {
 public:
  // The error says what is wrong: no memory file, not sealed, of another size, without the magic
  // number.
  static Result<Segment> map(const OpenFile& file, std::size_t bytes);
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  std::size_t bytes() const { return bytes_; }
  // REQUIRES a region that check() passed.
  std::span<std::byte> at(const Region& region) const {
    return {data_ + region.offset, region.bytes};
  }
  // Whether it lies in the segment after the header, at a multiple of kSegmentAlignment.
  Result<void> check(const std::string& name, const Region& region) const;
  // Maps the pages of a region before they are needed, all at once: that costs a tenth of mapping
  // each when it is touched.
  void prepare(const Region& region) const;
  // The steps that the trainer has counted.
  std::uint64_t progress() const;
  // Tells the trainer to answer after the step at hand: nobody waits for the other steps.
  void tell_over() const;

 private:
  Segment(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  std::uint64_t* word(std::size_t index) const {
    return reinterpret_cast<std::uint64_t*>(data_) + index;
  }

  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace starling::daemon
