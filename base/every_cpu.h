// EVERY_CPU before a function compiles it for several instruction sets; which one runs is chosen
// once, at load time. For .cpp files whose loops touch every parameter.
#pragma once

// clang says of sanitizers what GCC defines.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#elif __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

// Function multiversioning needs the dynamic loader's ifunc, which sanitizers do not survive.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EVERY_CPU __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define EVERY_CPU
#endif
