// Functions that always become part of the loops that call them. Compilers limit by how much a file
// grows, and a loop that still calls something has no vector instructions.
#pragma once

#if defined(_MSC_VER)
#define STYLEFORGE_INLINE __forceinline
#else
#define STYLEFORGE_INLINE inline __attribute__((always_inline))
#endif
