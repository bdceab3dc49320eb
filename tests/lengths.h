// How long a law is tried: in full by `make laws`, and in a short form on the same paths of the
// code by `make test`, which a person waits for, and under sanitizers. The short form tries fewer
// seeds, cases or rounds. A figure that so few rounds cannot show is checked by the full form
// alone; no bound is wider. TEST_FULL in the environment asks for the full form where the short one
// is built, TEST_BRIEF for the short form elsewhere.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace starling::test {

inline bool tries_full() {
#ifdef STARLING_BRIEF
  return std::getenv("TEST_FULL") != nullptr;
#else
  return std::getenv("TEST_BRIEF") == nullptr;
#endif
}

template <class T>
T full_or(T full, T brief) {
  return tries_full() ? full : brief;
}

// All, or the first `brief` of them.
template <class T>
std::vector<T> all_or_first(std::size_t brief, std::vector<T> all) {
  if (!tries_full() && all.size() > brief) all.resize(brief);
  return all;
}

template <class T>
std::vector<T> all_or_first(std::size_t brief, std::initializer_list<T> all) {
  return all_or_first(brief, std::vector<T>(all));
}

}  // namespace starling::test
