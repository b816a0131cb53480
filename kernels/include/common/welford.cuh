// Instance-norm statistics of persistent blocks: each keeps count, mean and M2 of its channels in
// registers over all its tiles, and leaves one entry a channel when it ends. The last block of a
// group merges the group's entries; each block of the next layer merges the few groups. Everything
// in a fixed order and without floating-point atomics, so two runs are bit-equal.
#pragma once

#include "../sm90/pipeline.cuh"
#include "statistics.cuh"

namespace styleforge {

constexpr int kConsumers = 256;  // threads that multiply: two warpgroups
constexpr int kMostGroups = 12;  // of blocks; kernels/network/dispatch.py keeps to it

// Where a layer leaves its statistics, for one sample after another.
struct Entries {
    float4* entries;    // [N, blocks, 128 / C, C] count, mean and M2
    float4* groups;     // [N, groups, C] count, mean and M2 of each group of blocks
    unsigned* tickets;  // [N, groups], zero before and after every launch
    int group;          // blocks in a group
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Of the two channels whose outputs a thread holds.
struct Spread {
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

    // The accumulators of one product of a warpgroup: columns lie in groups of eight, a thread has
    // columns 2q and 2q + 1 of each. `groups` and `columns` of them count.
    template <int kColumns>
    __device__ __forceinline__ void add(const float (&acc)[kColumns / 2], int groups, int columns) {
        constexpr int kGroups = kColumns / 8;
        const int column = threadIdx.x % 4 * 2;
        if (groups >= kGroups && columns >= 8)
            add_valid<kColumns>(acc, [](int, int) { return true; }, kColumns / 4);
        else
            add_valid<kColumns>(
                acc, [&](int j, int e) { return j < groups && column + e < columns; },
                max(0, min(groups, kGroups)) * max(0, min(2, columns - column)));
    }

    // The same where the columns are pixels of one row, of which `valid` count.
    template <int kColumns>
    __device__ __forceinline__ void add_row(const float (&acc)[kColumns / 2], int valid) {
        const int column = threadIdx.x % 4 * 2;
        if (valid >= kColumns) {
            add_valid<kColumns>(acc, [](int, int) { return true; }, kColumns / 4);
        } else {
            const int whole = max(0, valid) / 8, rest = max(0, valid) % 8;
            add_valid<kColumns>(
                acc, [&](int j, int e) { return j * 8 + column + e < valid; },
                whole * 2 + max(0, min(2, rest - column)));
        }
    }

    // Mean first, then squares about it.
    template <int kColumns, typename Valid>
    __device__ __forceinline__ void add_valid(const float (&acc)[kColumns / 2], Valid valid, int n) {
        // Even and odd columns apart: sums that wait for one another are what takes time.
        float sum[4] = {0, 0, 0, 0}, square[4] = {0, 0, 0, 0};
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                if (valid(j, k % 2)) sum[k] += acc[j * 4 + k];
        const float count = static_cast<float>(n), part = n ? 1 / count : 0;
        const float means[2] = {(sum[0] + sum[1]) * part, (sum[2] + sum[3]) * part};
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j)
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

// Called once by all the consumers of a block. `row` is that of the first of the thread's two
// channels among the 128 that the block's products have; the second is eight on. `shares` are
// kConsumers numbers of shared memory, free once all consumers have come here.
template <int kChannels>
__device__ __forceinline__ void leave_statistics(const Entries& s, Spread& spread, int sample,
                                                 int row, float4* shares) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const float count = __shfl_xor_sync(~0u, spread.count, step);
        float mean[2], m2[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            mean[h] = __shfl_xor_sync(~0u, spread.mean[h], step);
            m2[h] = __shfl_xor_sync(~0u, spread.m2[h], step);
        }
        spread.merge(count, mean, m2);
    }
    constexpr int kEach = 128 / kChannels;  // entries of a block
    const int blocks = gridDim.x, groups = (blocks + s.group - 1) / s.group;
    const int group = blockIdx.x / s.group, begin = group * s.group;
    const int size = min(blocks, begin + s.group) - begin;
    float4* own = s.entries + (static_cast<size_t>(sample) * blocks + blockIdx.x) * 128;
    if (threadIdx.x % 4 == 0)
#pragma unroll
        for (int h = 0; h < 2; ++h)
            own[row + h * 8] = {spread.count, spread.mean[h], spread.m2[h], 0};

    __threadfence();
    meet<kConsumers>(1);
    bool last = false;
    if (threadIdx.x == 0) {
        last = atomicInc(s.tickets + sample * groups + group, size - 1) == size - 1;
        __threadfence();
    }
    if (!meet_any<kConsumers>(1, last)) return;
    constexpr int kShares = kConsumers / kChannels;
    const int c = threadIdx.x % kChannels, share = threadIdx.x / kChannels;
    const int items = size * kEach, each = (items + kShares - 1) / kShares;
    const int first = share * each, end = min(items, first + each);
    const float4* from = s.entries + (static_cast<size_t>(sample) * blocks + begin) * 128;
    Moments total;
    for (int i = first; i < end; i += kAtOnce) {
        float4 item[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
            item[k] = __ldcg(from + static_cast<size_t>(min(i + k, end - 1)) * kChannels + c);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
            if (i + k < end && item[k].x > 0) total.merge(item[k].x, item[k].y, item[k].z);
    }
    shares[threadIdx.x] = {total.count, total.mean, total.m2, 0};
    meet<kConsumers>(1);
    if (share == 0) {
#pragma unroll
        for (int k = 1; k < kShares; ++k) {
            const float4 other = shares[k * kChannels + c];
            if (other.x > 0) total.merge(other.x, other.y, other.z);
        }
        s.groups[(static_cast<size_t>(sample) * groups + group) * kChannels + c] = {
            total.count, total.mean, total.m2, 0};
    }
}

// Scale and bias of channel c < kChannels, norm(x) = x * scale + bias. All loads are under way
// together; the mean of all first, then the squares about it.
template <int kChannels>
__device__ __forceinline__ float2 merged_norm(const Norm& norm, int sample, int c) {
    const float4* from = norm.groups + static_cast<size_t>(sample) * norm.count * kChannels + c;
    float4 item[kMostGroups];
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i)
        item[i] = i < norm.count ? __ldcg(from + i * kChannels) : float4{0, 0, 0, 0};
    const float gamma = __ldg(norm.gamma + c), beta = __ldg(norm.beta + c);
    float count = 0, sum = 0, m2 = 0;
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) count += item[i].x;
    const float part = 1 / count;
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) sum += item[i].x * part * item[i].y;
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) {
        const float off = item[i].y - sum;
        m2 += item[i].z + item[i].x * off * off;
    }
    const float scale = gamma * rsqrtf(m2 * part + norm.eps);
    return {scale, fmaf(-sum, scale, beta)};
}

#endif

}  // namespace styleforge
