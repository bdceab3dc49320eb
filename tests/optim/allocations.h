// Counts what the program allocates, for tests that steps allocate nothing.
#pragma once

#include <cstddef>

namespace starling::test {

// So far, by operator new.
std::size_t allocations();

}  // namespace starling::test
