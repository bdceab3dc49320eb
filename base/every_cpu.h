// EVERY_CPU before a function compiles it for several instruction sets; which one runs is chosen
// once, at load time. For .cpp files whose loops touch every parameter.
#pragma once

// Function multiversioning needs the dynamic loader's ifunc, which sanitizers do not survive.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EVERY_CPU __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define EVERY_CPU
#endif

// The same for loops of any length over arrays, which GCC 12 leaves scalar at -O2.
#if defined(__GNUC__) && !defined(__clang__)
#define EVERY_CPU_LOOPS \
  EVERY_CPU __attribute__((optimize("tree-vectorize", "vect-cost-model=dynamic")))
#else
#define EVERY_CPU_LOOPS EVERY_CPU
#endif
