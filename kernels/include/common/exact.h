// Arithmetic of which every bit is the same wherever it runs, so that what it decides is decided alike
// on every processor and GPU. A source that includes this file itself is compiled without
// contraction: no product is joined with a sum (kernels/jit/libraries.py). What is left, sums,
// products, quotients, roots and roundings, is that of IEEE 754. The order of sums is the source's.
#pragma once

#include "../frame/portable.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

namespace styleforge {

// Of two numbers; where the host's fminf would be a call for the sake of NaN, it is an instruction.
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
