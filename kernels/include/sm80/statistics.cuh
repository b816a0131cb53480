// Instance-norm statistics that convolutions leave behind: one (mean, M2) per tile and channel.
// The last block of every group of tiles merges them, and each block of the next layer merges the
// few groups, all in a fixed order. No floating-point atomics, so two runs are bit-equal; no extra
// launch, so a whole network is one graph of convolutions.
#pragma once

#include <stdint.h>
#include "../common/welford.cuh"
#include "params.cuh"

namespace styleforge::sm80 {

// The moments of items [0, count), for each channel: threads divide the items among themselves and
// merge their results in order. `load(i, c)` gives item i as (count, mean, M2, -); `done(c, m)` is
// called by one thread for each channel. Threads beyond kShares of each channel get no items.
template <int kChannels, int kThreads, typename Load, typename Done>
__device__ void merge_items(int count, Load load, Done done) {
    constexpr int kShares = kThreads / kChannels;
    static_assert(kShares > 0);
    __shared__ WelfordFp32 shares[kThreads];
    const int c = threadIdx.x % kChannels, share = threadIdx.x / kChannels;
    const int each = (count + kShares - 1) / kShares;
    const int begin = share * each, end = min(count, begin + each);
    WelfordFp32 total;
    for (int i = begin; i < end; i += kLoadsInFlight) {
        float4 item[kLoadsInFlight];
#pragma unroll
        for (int k = 0; k < kLoadsInFlight; ++k) item[k] = load(min(i + k, end - 1), c);
#pragma unroll
        for (int k = 0; k < kLoadsInFlight; ++k)
            if (i + k < end) total.merge(item[k].x, item[k].y, item[k].z);
    }
    shares[threadIdx.x] = total;
    __syncthreads();
    if (share == 0) {
        for (int k = 1; k < kShares; ++k) {
            const WelfordFp32& other = shares[k * kChannels + c];
            if (other.count > 0) total.merge(other.count, other.mean, other.m2);
        }
        done(c, total);
    }
}

// True in every thread of the last of `size` blocks to arrive at `ticket`, which is left at zero.
// What those blocks wrote before is then visible.
__device__ __forceinline__ bool last_to_arrive(unsigned* ticket, unsigned size) {
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(ticket, size - 1) == size - 1;
    __syncthreads();
    const bool result = last;
    if (result) __threadfence();
    __syncthreads();
    return result;
}

// Called by every thread of every block once its tile's (mean, M2) are in `s.tiles`.
template <int kChannels, int kThreads>
__device__ void finish_statistics(const StatisticsParams& s, const Tiling& tiling, int sample,
                                  int tile) {
    const int tiles = tiling.tiles(), groups = (tiles + s.group - 1) / s.group;
    const int group = tile / s.group, begin = group * s.group, end = min(tiles, begin + s.group);
    if (!last_to_arrive(s.tickets + sample * groups + group, end - begin)) return;
    const float2* from = s.tiles + static_cast<size_t>(sample) * tiles * kChannels;
    float4* to = s.groups + (static_cast<size_t>(sample) * groups + group) * kChannels;
    merge_items<kChannels, kThreads>(
        end - begin,
        [&](int i, int c) {
            const float2 tile_moments =
                __ldcg(from + static_cast<size_t>(begin + i) * kChannels + c);
            return float4{static_cast<float>(tiling.count(begin + i)), tile_moments.x,
                          tile_moments.y, 0};
        },
        [&](int c, const WelfordFp32& m) { to[c] = {m.count, m.mean, m.m2, 0}; });
}

// Scale and bias of every channel, norm(x) = x * scale + bias, into shared memory; every thread
// of the block takes part and finds them there.
template <int kChannels, int kThreads>
__device__ void load_norm_affine(const NormParams& norm, int sample, float2 (&affine)[kChannels]) {
    const float4* from = norm.groups + static_cast<size_t>(sample) * norm.count * kChannels;
    merge_items<kChannels, kThreads>(
        norm.count,
        [&](int i, int c) { return __ldcg(from + static_cast<size_t>(i) * kChannels + c); },
        [&](int c, const WelfordFp32& m) {
            const float scale = norm.gamma[c] * rsqrtf(m.m2 / m.count + norm.eps);
            affine[c] = {scale, fmaf(-m.mean, scale, norm.beta[c])};
        });
    __syncthreads();
}

}  // namespace styleforge::sm80
