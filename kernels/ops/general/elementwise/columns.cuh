// The gradients of an elementwise operation whose other inputs are broadcast over rows, and their
// sums over rows, in one pass over memory: a thread holds the sums of its columns in registers. The
// order of all sums is fixed.
#pragma once

#include "general.h"
#include "columns.h"
#include "group.cuh"

namespace styleforge {
namespace elementwise {

// Whether an operation's gradients may be summed over rows.
template <typename Op>
constexpr bool kSumsColumns = Op::kInputs > 1 && !Op::kDrops;

constexpr int kColumnRows = kElementThreads / kColumnLanes;  // rows per block at once, one per warp
constexpr int kColumnsInFlight = 2;  // vectors of each tensor that a thread has in flight

// A block processes 32 vectors of columns and one chunk of rows.
template <typename Op, typename T, int kCount>
__global__ void __launch_bounds__(kElementThreads, kColumnBlocks<T>)
    elementwise_columns(const StyleforgeColumns c) {
    using Taken = Group<Op, T, true, kCount>;
    constexpr int kGiven = Taken::kGiven, kMade = Taken::kMade, kWidth = kColumnLanes * kCount;
    constexpr int kWhole = 2;  // inputs stored as rows: the gradient and the first input
    static_assert(kSumsColumns<Op> && sizeof(T) <= sizeof(float), "sums are in FP32");
    __shared__ float shared[kColumnRows][kMade][kWidth];
    const StyleforgeElements& p = c.call;
    constexpr float kNothingDrops[kCount] = {};
    const unsigned columns = static_cast<unsigned>(p.sizes[0]);
    const unsigned rows = static_cast<unsigned>(p.sizes[1]);
    const unsigned tiles = (columns + kWidth - 1) / kWidth;
    const unsigned tile = blockIdx.x % tiles, part = blockIdx.x / tiles;
    const unsigned lane = threadIdx.x % kColumnLanes, warp = threadIdx.x / kColumnLanes;
    const unsigned column = tile * kWidth + lane * kCount;
    const unsigned begin = part * static_cast<unsigned>(c.chunk);
    const unsigned chunk_end = begin + static_cast<unsigned>(c.chunk);
    const unsigned end = chunk_end < rows ? chunk_end : rows;
    float sums[kMade][kCount] = {};
    if (column < columns && begin + warp < end) {
        const T* from[kWhole];
        unsigned stride[kWhole];
#pragma unroll
        for (int i = 0; i < kWhole; ++i) {
            from[i] = static_cast<const T*>(p.inputs[i]) + column;
            stride[i] = static_cast<unsigned>(p.strides[i][1]);
        }
        Taken groups[kColumnsInFlight];
#pragma unroll
        for (int i = kWhole; i < kGiven; ++i) {  // the same for all rows
            const T* other = static_cast<const T*>(p.inputs[i]);
            if (p.strides[i][0] != 0)
                groups[0].load(i, other + column);
            else
                groups[0].fill(i, *other);
#pragma unroll
            for (int u = 1; u < kColumnsInFlight; ++u) groups[u].given[i] = groups[0].given[i];
        }
        for (unsigned row = begin + warp; row < end; row += kColumnRows * kColumnsInFlight) {
#pragma unroll
            for (int u = 0; u < kColumnsInFlight; ++u) {
                // Beyond the end, the last row is read again, so that no load is conditional.
                const unsigned at = row + u * kColumnRows, read = at < end ? at : end - 1;
#pragma unroll
                for (int i = 0; i < kWhole; ++i) groups[u].load(i, from[i] + read * stride[i]);
            }
#pragma unroll
            for (int u = 0; u < kColumnsInFlight; ++u) {
                const unsigned at = row + u * kColumnRows;
                if (at >= end) continue;
                groups[u].finish(p, kNothingDrops, at * columns + column,
                                 [&](int j, const float (&out)[kMostGradients]) {
#pragma unroll
                                     for (int i = 0; i < kMade; ++i) sums[i][j] += out[i];
                                 });
            }
        }
    }
#pragma unroll
    for (int i = 0; i < kMade; ++i)
#pragma unroll
        for (int j = 0; j < kCount; ++j) shared[warp][i][lane * kCount + j] = sums[i][j];
    __syncthreads();
    for (unsigned k = threadIdx.x; k < kMade * kWidth; k += kElementThreads) {
        const unsigned i = k / kWidth, of = k % kWidth, at = tile * kWidth + of;
        float* to = i == 0 ? c.sums[0] : c.sums[1];
        if (to == nullptr || at >= columns) continue;
        float sum = 0;
#pragma unroll
        for (int w = 0; w < kColumnRows; ++w) sum += shared[w][i][of];
        to[1ull * part * columns + at] = sum;
    }
}

}  // namespace elementwise
}  // namespace styleforge
