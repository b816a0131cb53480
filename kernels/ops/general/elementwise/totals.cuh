// Adds up the sums that all blocks of elementwise_columns left for one or two gradients, in a fixed
// order: over chunks, and for a single number also over columns.
#pragma once

#include "include/common/dtypes.cuh"
#include "general.h"
#include "columns.h"

namespace styleforge {
namespace elementwise {

constexpr int kTotalWarps = kTotalThreads / 32;
static_assert(kTotalWarps == 32, "what warps left fits one warp");

// Block (i, s) processes 32 columns of sum s, or all columns for a single number.
template <typename T>
__global__ void __launch_bounds__(kTotalThreads) elementwise_totals(const StyleforgeTotals p) {
    __shared__ float shared[kTotalWarps][32];
    const bool second = blockIdx.y == 1;
    const float* const from = second ? p.sums[1] : p.sums[0];
    T* const to = static_cast<T*>(second ? p.totals[1] : p.totals[0]);
    const bool is_number = (second ? p.numbers[1] : p.numbers[0]) != 0;
    if (is_number && blockIdx.x > 0) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long column = 32ll * blockIdx.x + lane;
    // The sums of a single number are walked as one row; neighbors are adjacent either way.
    const long long step = is_number ? kTotalThreads : kTotalWarps * p.columns;
    const long long end = p.chunks * p.columns;
    float sum = 0;
    if (is_number || column < p.columns)
#pragma unroll 8
        for (long long i = is_number ? threadIdx.x : warp * p.columns + column; i < end; i += step)
            sum += from[i];
    shared[warp][lane] = sum;
    __syncthreads();
    if (warp > 0) return;
    sum = 0;
#pragma unroll
    for (int i = 0; i < kTotalWarps; ++i) sum += shared[i][lane];
    if (is_number) {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, distance);
        if (lane == 0) *to = from_float<T>(sum);
    } else if (column < p.columns) {
        to[column] = from_float<T>(sum);
    }
}

}  // namespace elementwise
}  // namespace styleforge
