// Functions that always become part of what calls them, and some that never do. Compilers limit by
// how much a file grows: a loop that still calls something has no vector instructions, and a call
// that only prefetches is left out as one without a result.
#pragma once

#if defined(_MSC_VER)
#define STYLEFORGE_INLINE __forceinline
#define STYLEFORGE_APART static __declspec(noinline)
#else
#define STYLEFORGE_INLINE inline __attribute__((always_inline))
#define STYLEFORGE_APART static __attribute__((noinline))
#endif
