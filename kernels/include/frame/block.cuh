// The block that measures the motion of a scene: the team that include/frame/motion.h is computed by.
#pragma once

#include "../frames.h"
#include "team.cuh"

namespace styleforge {

struct Block : Threads<kTeam> {

    // Every thread learns the sums of what `add(row, column, values)` adds for each pixel, which do not
    // depend on their timing. A warp sums those of all warps of one value, since each thread reading
    // all of them takes longer than the pixels do.
    template <int kNumber, typename Add>
    __device__ void sum(int rows, int columns, float (&values)[kNumber], const Add& add) const {
        constexpr int kWarps = kTeam / 32;
        static_assert(kNumber <= kWarps && kWarps <= 32 && !(kWarps & (kWarps - 1)));
        __shared__ float sums[kNumber][kWarps], totals[kNumber];
        each_pixel(rows, columns, [&](int row, int column) { add(row, column, values); });
        const int warp = rank / 32, lane = rank & 31;
#pragma unroll
        for (int i = 0; i < kNumber; ++i)
            for (int lanes = 16; lanes > 0; lanes /= 2)
                values[i] += __shfl_down_sync(~0u, values[i], lanes);
        if (lane == 0)
#pragma unroll
            for (int i = 0; i < kNumber; ++i) sums[i][warp] = values[i];
        __syncthreads();  // all have read the totals before these as well
        if (warp < kNumber) {
            float total = lane < kWarps ? sums[warp][lane] : 0;
            for (int lanes = kWarps / 2; lanes > 0; lanes /= 2)
                total += __shfl_down_sync(~0u, total, lanes);
            if (lane == 0) totals[warp] = total;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kNumber; ++i) values[i] = totals[i];
    }

    // Calls `use(row, column)` for the pixels of this thread, every kTeam-th, without a division for each.
    template <typename Use>
    __device__ void each_pixel(int rows, int columns, const Use& use) const {
        if (columns == 0) return;
        const int down = kTeam / columns, across = kTeam % columns;
        for (int row = rank / columns, column = rank % columns; row < rows;) {
            use(row, column);
            row += down, column += across;
            if (column >= columns) column -= columns, ++row;
        }
    }

    __device__ void add(unsigned& sum, unsigned value) const { atomicAdd(&sum, value); }
    __device__ void least(unsigned& least, unsigned value) const { atomicMin(&least, value); }
};

}  // namespace styleforge
