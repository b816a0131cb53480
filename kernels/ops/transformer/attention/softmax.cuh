// The online softmax of a tile of scores in the registers of a warp (Milakov and Gimelshein, 2018).
// A thread holds two rows, eight apart, and two of every eight columns: the accumulator layout of
// mma.
#pragma once

#include <math.h>
#include "ptx.cuh"

namespace styleforge::attention {

// Reduces over the four threads that share a row.
__device__ __forceinline__ float row_max(float v) {
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

__device__ __forceinline__ float row_sum(float v) {
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

// The running state of a row: the reference point of its exponents, and this thread's share of
// their sum.
struct RowState {
    float origin = -INFINITY;  // log2
    float sum = 0.f;
};

// Weights may exceed 1 by this many powers of two before earlier sums are rescaled, so that larger
// scores in most tiles do not cause a rescale.
constexpr float kSlack = 8.f;

// Turns the scores of a tile into weights, as powers of two relative to each row's origin. `shrink`
// receives the factors by which earlier sums of both rows must be scaled. Returns whether any row
// of the warp must be. `scale_log2` is positive.
template <int kCount>
__device__ __forceinline__ bool online_softmax(float (&s)[kCount], RowState (&rows)[2],
                                               float (&shrink)[2], float scale_log2) {
    bool same = true;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float largest = fmaxf(s[2 * r], s[2 * r + 1]);
#pragma unroll
        for (int i = 4; i < kCount; i += 4)
            largest = fmaxf(largest, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
        largest = row_max(largest) * scale_log2;
        const bool moves = largest > rows[r].origin + kSlack;
        const float origin = moves ? largest : rows[r].origin;
        shrink[r] = moves ? exp2_fast(rows[r].origin - origin) : 1.f;
        rows[r].origin = origin;
        same = same && !moves;
        // A row without a visible key keeps zero weights instead of NaN.
        const float minus = origin == -INFINITY ? 0.f : -origin;
        float sums[2] = {};
#pragma unroll
        for (int i = 0; i < kCount; i += 4)
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                float& each = s[i + 2 * r + j];
                each = exp2_fast(fmaf(each, scale_log2, minus));
                sums[j] += each;
            }
        rows[r].sum = fmaf(rows[r].sum, shrink[r], sums[0] + sums[1]);
    }
    return !__all_sync(0xffffffffu, same);
}

// Returns the log-sum-exp of a row; -inf if it has no visible key.
__device__ __forceinline__ float log_sum_exp(float origin, float sum) {
    if (sum > 0.f) return (origin + log2f(sum)) * 0.6931471805599453f;
    return sum == 0.f ? -INFINITY : sum;  // NaN passes through
}

}  // namespace styleforge::attention
