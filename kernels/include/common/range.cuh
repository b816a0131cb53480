// The range of the network's output before rounding, which distinguishes a broken picture from a
// good one.
#pragma once

#include <math.h>

namespace styleforge {

struct OutputRange {
    float low = INFINITY, high = -INFINITY;
    bool finite = true;

    __device__ __forceinline__ void add(float v) {
        low = fminf(low, v), high = fmaxf(high, v);
        finite = finite && fabsf(v) < INFINITY;
    }

    // Maps a float to an integer with the same ordering.
    static __device__ __forceinline__ int ordered_int(float v) {
        const int i = __float_as_int(v);
        return i < 0 ? i ^ 0x7fffffff : i;
    }

    static __device__ __forceinline__ void clear(int* range) {
        range[0] = 0x7fffffff, range[1] = static_cast<int>(0x80000000), range[2] = 0;
    }

    // Merges minimum and maximum (as ordered_int), and 1 if a value is not finite, into `range`.
    // Every thread of a warp calls it. Integer atomics commute, so the result does not depend on
    // the order of blocks.
    __device__ __forceinline__ void merge_into(int* range) const {
        int least = ordered_int(low), most = ordered_int(high);
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            least = min(least, __shfl_xor_sync(~0u, least, step));
            most = max(most, __shfl_xor_sync(~0u, most, step));
        }
        const bool all = __all_sync(~0u, finite);
        if (threadIdx.x % 32) return;
        atomicMin(range, least), atomicMax(range + 1, most);
        if (!all) atomicOr(range + 2, 1);
    }
};

}  // namespace styleforge
