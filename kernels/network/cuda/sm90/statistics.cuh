// Instance-norm statistics of persistent blocks. Each accumulates count, mean and M2 of its
// channels in registers over all its tiles and writes one entry per channel when it ends. The last
// block of a group merges the group's entries; each block of the next layer merges the few groups.
// The order is fixed and there are no floating-point atomics, so two runs are bit-equal.
#pragma once

#include "include/common/norm_affine.cuh"
#include "include/sm90/named_barriers.cuh"
#include "params.cuh"
#include "traits.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Moments of the two channels whose outputs a thread holds, over the same number of pixels.
struct WelfordFp32x2 {
    float count = 0, mean[2] = {0, 0}, m2[2] = {0, 0};

    __device__ __forceinline__ void merge(float n, const float (&other_mean)[2],
                                          const float (&other_m2)[2]) {
        const float total = count + n, part = total > 0 ? n / total : 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float delta = other_mean[h] - mean[h];
            mean[h] += delta * part;
            m2[h] += other_m2[h] + delta * delta * count * part;
        }
        count = total;
    }

    // Merges the moments of the four threads that hold pixels of the same channels.
    __device__ __forceinline__ void merge_four_lanes() {
#pragma unroll
        for (int step = 1; step < 4; step *= 2) {
            const float n = __shfl_xor_sync(~0u, count, step);
            float other_mean[2], other_m2[2];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                other_mean[h] = __shfl_xor_sync(~0u, mean[h], step);
                other_m2[h] = __shfl_xor_sync(~0u, m2[h], step);
            }
            merge(n, other_mean, other_m2);
        }
    }

    // Adds the accumulators of a warpgroup. Columns form eights, of which a thread holds columns 2q
    // and 2q + 1; the first `groups` eights, and the first `columns` columns of each, are valid.
    template <int kBlockN>
    __device__ __forceinline__ void add(const float (&acc)[kBlockN / 2], int groups, int columns) {
        constexpr int kGroups = kBlockN / 8;
        const int column = threadIdx.x % 4 * 2;
        if (groups >= kGroups && columns >= 8)
            add_valid<kBlockN>(acc, [](int, int) { return true; }, kBlockN / 4);
        else
            add_valid<kBlockN>(
                acc, [&](int j, int e) { return j < groups && column + e < columns; },
                max(0, min(groups, kGroups)) * max(0, min(2, columns - column)));
    }

    // Adds accumulators whose columns are pixels of one row; the first `valid` columns are valid.
    template <int kBlockN>
    __device__ __forceinline__ void add_row(const float (&acc)[kBlockN / 2], int valid) {
        const int column = threadIdx.x % 4 * 2;
        if (valid >= kBlockN) {
            add_valid<kBlockN>(acc, [](int, int) { return true; }, kBlockN / 4);
        } else {
            const int whole = max(0, valid) / 8, rest = max(0, valid) % 8;
            add_valid<kBlockN>(
                acc, [&](int j, int e) { return j * 8 + column + e < valid; },
                whole * 2 + max(0, min(2, rest - column)));
        }
    }

    // Computes the mean first, then squared deviations from it.
    template <int kBlockN, typename Valid>
    __device__ __forceinline__ void add_valid(const float (&acc)[kBlockN / 2], Valid valid, int n) {
        // Separate sums for even and odd columns shorten the chain of dependent additions.
        float sum[4] = {0, 0, 0, 0}, square[4] = {0, 0, 0, 0};
#pragma unroll
        for (int j = 0; j < kBlockN / 8; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (valid(j, k % 2)) sum[k] += acc[j * 4 + k];
        const float count = static_cast<float>(n), part = n ? 1 / count : 0;
        const float means[2] = {(sum[0] + sum[1]) * part, (sum[2] + sum[3]) * part};
#pragma unroll
        for (int j = 0; j < kBlockN / 8; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (valid(j, k % 2)) {
                    const float off = acc[j * 4 + k] - means[k / 2];
                    square[k] += off * off;
                }
        const float squares[2] = {square[0] + square[1], square[2] + square[3]};
        merge(count, means, squares);
    }
};

// Writes the block's statistics. All consumer threads call it once. `row` is the first of the
// thread's two rows among the block's 128; the second is row + 8. `shared_moments` is shared memory
// for kConsumers entries, free once all consumers have arrived here.
template <int kChannels>
__device__ __forceinline__ void write_statistics(const StatisticsParams& s, WelfordFp32x2& moments,
                                                 int sample, int row, float4* shared_moments) {
    moments.merge_four_lanes();
    constexpr int kEach = 128 / kChannels;  // entries per block and channel
    const int blocks = gridDim.x, groups = (blocks + s.group - 1) / s.group;
    const int group = blockIdx.x / s.group, begin = group * s.group;
    const int size = min(blocks, begin + s.group) - begin;
    float4* own = s.entries + (static_cast<size_t>(sample) * blocks + blockIdx.x) * 128;
    if (threadIdx.x % 4 == 0)
#pragma unroll
        for (int h = 0; h < 2; ++h)
            own[row + h * 8] = {moments.count, moments.mean[h], moments.m2[h], 0};

    __threadfence();
    named_barrier_sync<kConsumers>(kConsumerBarrier);
    bool last = false;
    if (threadIdx.x == 0) {
        last = atomicInc(s.tickets + sample * groups + group, size - 1) == size - 1;
        __threadfence();
    }
    if (!named_barrier_any<kConsumers>(kConsumerBarrier, last)) return;
    constexpr int kShares = kConsumers / kChannels;
    const int c = threadIdx.x % kChannels, share = threadIdx.x / kChannels;
    const int items = size * kEach, each = (items + kShares - 1) / kShares;
    const int first = share * each, end = min(items, first + each);
    const float4* from = s.entries + (static_cast<size_t>(sample) * blocks + begin) * 128;
    WelfordFp32 total;
    for (int i = first; i < end; i += kLoadsInFlight) {
        float4 item[kLoadsInFlight];
#pragma unroll
        for (int k = 0; k < kLoadsInFlight; ++k)
            item[k] = __ldcg(from + static_cast<size_t>(min(i + k, end - 1)) * kChannels + c);
#pragma unroll
        for (int k = 0; k < kLoadsInFlight; ++k)
            if (i + k < end && item[k].x > 0) total.merge(item[k].x, item[k].y, item[k].z);
    }
    shared_moments[threadIdx.x] = {total.count, total.mean, total.m2, 0};
    named_barrier_sync<kConsumers>(kConsumerBarrier);
    if (share == 0) {
#pragma unroll
        for (int k = 1; k < kShares; ++k) {
            const float4 other = shared_moments[k * kChannels + c];
            if (other.x > 0) total.merge(other.x, other.y, other.z);
        }
        s.groups[(static_cast<size_t>(sample) * groups + group) * kChannels + c] = {
            total.count, total.mean, total.m2, 0};
    }
}

#endif

}  // namespace styleforge::sm90
