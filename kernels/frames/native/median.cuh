// The median from the histogram of a frame's changes, computed by one GPU block.
#pragma once

#include "frames.h"

namespace styleforge {

// Returns the lane whose value contains rank `rank` over the warp, and makes `rank` relative to it.
__device__ __forceinline__ int lane_of_rank(unsigned value, unsigned& rank) {
    unsigned end = value;  // over all lanes up to this one
    for (int step = 1; step < 32; step *= 2) {
        const unsigned before = __shfl_up_sync(~0u, end, step);
        if ((threadIdx.x & 31) >= step) end += before;
    }
    const int lane = __popc(__ballot_sync(~0u, end <= rank));
    rank -= __shfl_sync(~0u, end - value, lane);
    return lane;
}

// Median of `number` values from their histogram, the mean of two bins if the number is even. Every
// thread of a block of kThreads calls it once and gets the result. A warp sums 128 bins at a time.
// Then one warp per rank searches groups of seven such sums, the sums within a group, and the bins.
// Only the last load depends on another's result.
__device__ __forceinline__ float median_of(const unsigned* counts, unsigned number) {
    constexpr int kChunk = 128, kChunks = kCounts / kChunk, kWarps = kThreads / 32, kEach = 7;
    static_assert(kCounts >= kBins && kCounts % kChunk == 0, "a lane loads uint4");
    static_assert(kChunks % kEach == 0 && kChunks <= 32 * kEach && kWarps >= 2);
    __shared__ unsigned sums[kChunks];
    __shared__ float found[2];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const auto* four = reinterpret_cast<const uint4*>(counts) + lane;
#pragma unroll 7
    for (int chunk = warp; chunk < kChunks; chunk += kWarps) {
        const uint4 some = __ldcg(four + chunk * (kChunk / 4));
        unsigned sum = some.x + some.y + some.z + some.w;
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
        if (lane == 0) sums[chunk] = sum;
    }
    __syncthreads();
    if (warp < 2) {
        unsigned rank = warp ? number / 2 : (number - 1) / 2, sum = 0;
        if (lane < kChunks / kEach)
            for (int i = 0; i < kEach; ++i) sum += sums[lane * kEach + i];
        int chunk = lane_of_rank(sum, rank) * kEach;
        chunk += lane_of_rank(lane < kEach ? sums[chunk + lane] : 0, rank);
        const uint4 some = __ldcg(four + chunk * (kChunk / 4));
        const unsigned two = some.x + some.y, three = two + some.z;
        const int holder = lane_of_rank(three + some.w, rank);
        if (lane == holder)
            found[warp] = noise_of_bin(chunk * kChunk + lane * 4 + (rank >= some.x) +
                                       (rank >= two) + (rank >= three));
    }
    __syncthreads();
    return (found[0] + found[1]) / 2;
}

}  // namespace styleforge
