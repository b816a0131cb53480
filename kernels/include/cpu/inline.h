// Functions that always become part of what calls them, and some that never do. Compilers limit by
// how much a file grows: a loop that still calls something has no vector instructions, and a call
// that only prefetches is left out as one without a result.
#pragma once

#if defined(_MSC_VER)
#define STYLEFORGE_INLINE __forceinline
#define STYLEFORGE_APART static __declspec(noinline)
#define STYLEFORGE_ONCE STYLEFORGE_APART
#else
#define STYLEFORGE_INLINE inline __attribute__((always_inline))
#define STYLEFORGE_APART static __attribute__((noinline))
// A function of one machine code: in a copy for some arguments, other products and sums may be
// contracted, and its results have other bits.
#if defined(__clang__)
#define STYLEFORGE_ONCE STYLEFORGE_APART
#else
#define STYLEFORGE_ONCE static __attribute__((noinline, noclone))
#endif
#endif
