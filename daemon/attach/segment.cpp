#include "daemon/attach/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/attach/tensor_table.h"

namespace starling::daemon {
namespace {

constexpr std::uint64_t kMagic = 0x3152524154535453;
constexpr std::size_t kProgressWord = 1, kOverWord = 2;  // of the header

}  // namespace

Result<Segment> Segment::map(const OpenFile& file, std::size_t bytes) {
  if (bytes < kSegmentHeaderBytes || bytes > kSegmentBytesLimit)
    return fail("the segment has {} bytes; expected {} to {}", bytes, kSegmentHeaderBytes,
                kSegmentBytesLimit);
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  if (seals < 0) return fail("the segment is not a memory file (memfd_create)");
  if ((seals & kNeeded) != kNeeded)
    return fail("the segment is not sealed with F_SEAL_SHRINK and F_SEAL_GROW");
  struct stat info {};
  if (::fstat(file.number(), &info) != 0 || info.st_size < 0 ||
      static_cast<std::size_t>(info.st_size) != bytes)
    return fail("the segment has {} bytes and is said to have {}", info.st_size, bytes);
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (data == MAP_FAILED) return fail("the segment cannot be mapped: {}", std::strerror(errno));
  Segment segment(static_cast<std::byte*>(data), bytes);
  std::uint64_t magic = 0;
  std::memcpy(&magic, segment.data_, sizeof(magic));
  if (magic != kMagic) return fail("the segment does not begin with {:#x}", kMagic);
  return segment;
}

Segment::Segment(Segment&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Segment::~Segment() {
  if (data_) ::munmap(data_, bytes_);
}

Result<void> Segment::check(const std::string& name, const Region& region) const {
  if (region.offset < kSegmentHeaderBytes || region.offset % kSegmentAlignment != 0)
    return fail("region \"{}\" begins at {}; expected a multiple of {} from {} on", name,
                region.offset, kSegmentAlignment, kSegmentHeaderBytes);
  if (region.bytes > bytes_ || region.offset > bytes_ - region.bytes)
    return fail("region \"{}\" ends at {} and the segment at {}", name,
                fmt::format("{} + {}", region.offset, region.bytes), bytes_);
  return {};
}

void Segment::prepare(const Region& region) const {
#ifdef MADV_POPULATE_WRITE
  constexpr std::size_t kPage = 4096;
  const std::size_t from = region.offset / kPage * kPage;
  const std::size_t to = region.offset + region.bytes;
  // A kernel before 5.14 does not know it, and nothing is lost.
  ::madvise(data_ + from, to - from, MADV_POPULATE_WRITE);
#endif
}

std::uint64_t Segment::progress() const {
  return std::atomic_ref(*word(kProgressWord)).load(std::memory_order_relaxed);
}

void Segment::tell_over() const {
  std::atomic_ref(*word(kOverWord)).store(1, std::memory_order_relaxed);
}

}  // namespace starling::daemon
