#include "tests/optim/allocations.h"

#include <cstdlib>
#include <new>

namespace {

std::size_t count = 0;

}  // namespace

// Inlined, GCC takes them for a mismatched pair; without the second, AddressSanitizer does.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++count;
  if (void* const place = std::malloc(size)) return place;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* place) noexcept {
  std::free(place);
}
[[gnu::noinline]] void operator delete(void* place, std::size_t) noexcept {
  std::free(place);
}

std::size_t starling::test::allocations() {
  return count;
}
