// Instance-norm statistics that convolutions leave behind: one (mean, M2) per tile and channel.
// The last block of every group of tiles merges them, and each block of the next layer merges the
// few groups, all in a fixed order. No floating-point atomics, so two runs are bit-equal; no extra
// launch, so a whole network is one graph of convolutions.
#pragma once

#include <stdint.h>

namespace styleforge {

// How an output is cut into tiles. Every channel of a tile belongs to one block.
struct Tiling {
    int height, width;        // of what is tiled
    int tile_h, tile_w;       // of a tile
    int rows, columns;        // of tiles
    int copies;               // tiles lie this many times over one another (phases)

    __host__ __device__ int tiles() const { return rows * columns * copies; }
    __device__ int count(int tile) const {
        const int t = tile % (rows * columns), y = t / columns, x = t % columns;
        return min(tile_h, height - y * tile_h) * min(tile_w, width - x * tile_w);
    }
};

// Where a layer leaves its statistics, for one sample after another.
struct Statistics {
    float2* tiles;      // [N, tiles, C] mean and M2 of each tile
    float4* groups;     // [N, groups, C] count, mean and M2 of each group of tiles
    unsigned* tickets;  // [N, groups], zero before and after every launch
    int group;          // tiles in a group
};

// The norm that the next layer takes from them.
struct Norm {
    const float4* groups;
    const float* gamma;  // [C]
    const float* beta;   // [C]
    int count;           // of groups
    float eps;
};

struct Moments {
    float count = 0, mean = 0, m2 = 0;

    // Chan et al. (1979).
    __device__ void merge(float n, float other_mean, float other_m2) {
        const float total = count + n, delta = other_mean - mean, part = n / total;
        mean += delta * part;
        m2 += other_m2 + delta * delta * count * part;
        count = total;
    }
};

constexpr int kAtOnce = 8;  // loads under way together while merging

// The moments of items [0, count), for each channel: threads share the items out among them and
// merge their shares in order. `load(i, c)` gives item i as (count, mean, M2, -); `done(c, m)` is
// called by one thread for each channel.
template <int kChannels, int kThreads, typename Load, typename Done>
__device__ void merge_items(int count, Load load, Done done) {
    constexpr int kShares = kThreads / kChannels;
    static_assert(kThreads % kChannels == 0);
    __shared__ Moments shares[kThreads];
    const int c = threadIdx.x % kChannels, share = threadIdx.x / kChannels;
    const int each = (count + kShares - 1) / kShares;
    const int begin = share * each, end = min(count, begin + each);
    Moments total;
    for (int i = begin; i < end; i += kAtOnce) {
        float4 item[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) item[k] = load(min(i + k, end - 1), c);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
            if (i + k < end) total.merge(item[k].x, item[k].y, item[k].z);
    }
    shares[threadIdx.x] = total;
    __syncthreads();
    if (share == 0) {
        for (int k = 1; k < kShares; ++k) {
            const Moments& other = shares[k * kChannels + c];
            if (other.count > 0) total.merge(other.count, other.mean, other.m2);
        }
        done(c, total);
    }
}

// True in every thread of the last of `size` blocks to arrive at `ticket`, which is left at zero.
// What any of those blocks wrote before is then visible.
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
__device__ void finish_statistics(const Statistics& s, const Tiling& tiling, int sample, int tile) {
    const int tiles = tiling.tiles(), groups = (tiles + s.group - 1) / s.group;
    const int group = tile / s.group, begin = group * s.group, end = min(tiles, begin + s.group);
    if (!last_to_arrive(s.tickets + sample * groups + group, end - begin)) return;
    const float2* from = s.tiles + static_cast<size_t>(sample) * tiles * kChannels;
    float4* to = s.groups + (static_cast<size_t>(sample) * groups + group) * kChannels;
    merge_items<kChannels, kThreads>(
        end - begin,
        [&](int i, int c) {
            const float2 tile_moments = __ldcg(from + static_cast<size_t>(begin + i) * kChannels + c);
            return float4{static_cast<float>(tiling.count(begin + i)), tile_moments.x,
                          tile_moments.y, 0};
        },
        [&](int c, const Moments& m) { to[c] = {m.count, m.mean, m.m2, 0}; });
}

// Scale and bias of every channel, norm(x) = x * scale + bias, into shared memory; every thread
// of the block takes part and finds them there.
template <int kChannels, int kThreads>
__device__ void read_norm(const Norm& norm, int sample, float2 (&affine)[kChannels]) {
    const float4* from = norm.groups + static_cast<size_t>(sample) * norm.count * kChannels;
    merge_items<kChannels, kThreads>(
        norm.count, [&](int i, int c) { return __ldcg(from + static_cast<size_t>(i) * kChannels + c); },
        [&](int c, const Moments& m) {
            const float scale = norm.gamma[c] * rsqrtf(m.m2 / m.count + norm.eps);
            affine[c] = {scale, fmaf(-m.mean, scale, norm.beta[c])};
        });
    __syncthreads();
}

// What a picture's values span before they are rounded: tells a broken picture from a good one.
struct Span {
    float low = INFINITY, high = -INFINITY;
    bool finite = true;

    __device__ __forceinline__ void add(float v) {
        low = fminf(low, v), high = fmaxf(high, v);
        finite = finite && fabsf(v) < INFINITY;
    }

    // Integers in the order of floats.
    static __device__ __forceinline__ int order_of(float v) {
        const int i = __float_as_int(v);
        return i < 0 ? i ^ 0x7fffffff : i;
    }

    static __device__ __forceinline__ void clear(int* range) {
        range[0] = 0x7fffffff, range[1] = static_cast<int>(0x80000000), range[2] = 0;
    }

    // Into `range`: the least and the largest value in order_of, and whether any is not finite.
    // Every thread of the warp calls it. Integers commute, so the order of blocks shows nowhere.
    __device__ __forceinline__ void leave(int* range) const {
        int least = order_of(low), most = order_of(high);
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

// Programmatic dependent launch (sm_90): the next layer's blocks may start, and fetch weights,
// before this one has ended; they wait here before they touch what it wrote.
__device__ __forceinline__ void wait_for_previous_layer() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_layer_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace styleforge
