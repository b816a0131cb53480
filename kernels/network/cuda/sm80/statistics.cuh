// Instance-norm statistics. A block writes one entry per channel when it ends, the last block of a
// group merges the group's entries, and each block of the next layer merges the few groups, all in
// a fixed order. No floating-point atomics are used, so two runs are bit-equal.
#pragma once

#include "include/common/norm_affine.cuh"
#include "params.cuh"

namespace styleforge::sm80 {

// Returns true in every thread of the last of `size` blocks to arrive at `ticket`, and resets it to
// zero. All earlier writes of those blocks are then visible.
__device__ __forceinline__ bool last_to_arrive(unsigned* ticket, unsigned size) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomicInc(ticket, size - 1) == size - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// Merges the entries of this block's group. Every thread of every block calls it once the block has
// written its entries; `shared_moments` is shared memory for kThreads entries.
template <int kChannels, int kThreads>
__device__ __forceinline__ void merge_group(const StatisticsParams& s, int sample,
                                            float4* shared_moments) {
    const int blocks = gridDim.x, groups = (blocks + s.group - 1) / s.group;
    const int group = blockIdx.x / s.group, begin = group * s.group;
    const int size = min(blocks, begin + s.group) - begin;
    if (!last_to_arrive(s.tickets + sample * groups + group, size)) return;
    constexpr int kShares = kThreads / kChannels;
    const int c = threadIdx.x % kChannels, share = threadIdx.x / kChannels;
    const int each = (size + kShares - 1) / kShares;
    const int first = share * each, end = min(size, first + each);
    const float4* from = s.entries + (static_cast<size_t>(sample) * blocks + begin) * kChannels;
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
    if (share < kShares) shared_moments[threadIdx.x] = {total.count, total.mean, total.m2, 0};
    __syncthreads();
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

// Loads scale and bias of every channel, norm(x) = x * scale + bias, into shared memory, visible
// after the next barrier.
template <int kChannels, int kThreads>
__device__ __forceinline__ void load_norm_affine(const NormParams& norm, int sample,
                                                 float2 (&affine)[kChannels]) {
    for (int c = threadIdx.x; c < kChannels; c += kThreads)
        affine[c] = norm_affine<kChannels>(norm, sample, c);
}

}  // namespace styleforge::sm80
