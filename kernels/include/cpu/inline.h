// Functions that are always inlined, and functions that never are. Compilers limit inlining by the
// growth of a file. A loop with a remaining call is not vectorized, and a call that only prefetches
// is removed because it has no result.
#pragma once

#if defined(_MSC_VER)
#define STYLEFORGE_INLINE __forceinline
#define STYLEFORGE_APART static __declspec(noinline)
#define STYLEFORGE_ONCE STYLEFORGE_APART
#else
#define STYLEFORGE_INLINE inline __attribute__((always_inline))
#define STYLEFORGE_APART static __attribute__((noinline))
// A function that the compiler emits only once. In a clone for certain arguments, the compiler may
// contract other products and sums, which changes the last bits of the results.
#if defined(__clang__)
#define STYLEFORGE_ONCE STYLEFORGE_APART
#else
#define STYLEFORGE_ONCE static __attribute__((noinline, noclone))
#endif
#endif
