// Bit-exact arithmetic: results, and decisions based on them, are the same on every processor and
// GPU. Sources that include this file directly are compiled without contraction, so no product is
// fused with a sum (kernels/jit/libraries.py). All other operations follow IEEE 754, and the source
// fixes the order of sums.
#pragma once

#include "frames/native/portable.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

namespace styleforge {

// Returns the minimum of two numbers. On the host this is one instruction; fminf may be a call
// because of NaN.
STYLEFORGE_PORTABLE float least(float a, float b) {
#ifdef __CUDACC__
    return fminf(a, b);
#else
    return a < b ? a : b;
#endif
}

STYLEFORGE_PORTABLE float greatest(float a, float b) {
#ifdef __CUDACC__
    return fmaxf(a, b);
#else
    return a < b ? b : a;
#endif
}

}  // namespace styleforge
