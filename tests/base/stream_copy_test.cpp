#include "base/stream_copy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

using namespace starling;

TEST_CASE("A copy past the caches writes exactly the bytes that are copied") {
  std::vector<std::byte> from(1000);
  for (std::size_t k = 0; k < from.size(); ++k) from[k] = static_cast<std::byte>(k % 251);
  for (const std::size_t size : {0, 1, 15, 63, 64, 65, 127, 128, 200, 900})
    for (const std::size_t shift : {0, 1, 4, 60, 63}) {
      CAPTURE(size);
      CAPTURE(shift);
      std::vector<std::byte> to(1000, std::byte{0xff});
      stream_copy(std::span(from).subspan(3, size), to.data() + shift);
      std::vector<std::byte> expected(1000, std::byte{0xff});
      std::copy_n(from.begin() + 3, size, expected.begin() + static_cast<std::ptrdiff_t>(shift));
      CHECK(to == expected);
    }
}
