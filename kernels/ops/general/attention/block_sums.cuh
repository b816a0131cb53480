// Sums over the places to which blocks of numbers were gathered: the gradient of gathering them.
#pragma once

#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kSumWarps = 8;    // per thread block, and blocks of numbers that it sums
constexpr int kSumVectors = 2;  // of a place per thread, 32 vectors apart
constexpr int kSumAhead = 4;    // places whose loads are in flight together
constexpr int kSumAlone = 16;   // places of a block that one warp sums; all warps share more

// A type of kBytes bytes for loads and stores; as 16-bit elements, each would take a register.
template <int kBytes>
struct Bytes;
template <>
struct Bytes<16> {
    using Type = uint4;
};
template <>
struct Bytes<4> {
    using Type = unsigned;
};
template <>
struct Bytes<2> {
    using Type = unsigned short;
};

// The sums over a block's places of a thread's numbers, in vectors of kCount.
template <int kCount, typename T>
struct PlaceSums {
    using Vector = typename Bytes<kCount * static_cast<int>(sizeof(T))>::Type;
    float sum[kSumVectors][kCount];

    // Adds every `step`-th place of the order from `first` up to `count`. x is the address of the
    // thread's numbers of place 0; `left` and `width` count vectors.
    __device__ __forceinline__ void add(const Vector* x, const long long* order, int first,
                                        int count, int step, long long left, long long width) {
#pragma unroll 1
        for (int i = first; i < count; i += step * kSumAhead) {
            // All addresses are read at once (beyond the end, the last place's), so that no load
            // waits for another's address.
            const Vector* from[kSumAhead];
#pragma unroll
            for (int u = 0; u < kSumAhead; ++u)
                from[u] = x + order[i + u * step < count ? i + u * step : count - 1] * width;
            Vector held[kSumAhead][kSumVectors] = {};
#pragma unroll
            for (int u = 0; u < kSumAhead; ++u)
#pragma unroll
                for (int v = 0; v < kSumVectors; ++v)
                    if (i + u * step < count && v * 32 < left) held[u][v] = from[u][v * 32];
#pragma unroll
            for (int u = 0; u < kSumAhead; ++u)
#pragma unroll
                for (int v = 0; v < kSumVectors; ++v)
#pragma unroll
                    for (int k = 0; k < kCount; ++k)
                        sum[v][k] += to_float(reinterpret_cast<const T*>(&held[u][v])[k]);
        }
    }

    __device__ __forceinline__ static void store(Vector* to, const float* from) {
        Vector made;
#pragma unroll
        for (int k = 0; k < kCount; ++k) reinterpret_cast<T*>(&made)[k] = from_float<T>(from[k]);
        *to = made;
    }

    // Returns the address of a warp's sums in shared memory.
    __device__ __forceinline__ static float* shared_by(float* shared, int warp, int vector) {
        return shared + (warp * kSumVectors + vector) * kCount * 32 + threadIdx.x % 32;
    }
};

// out[block] = the sum of x[order[i]] for i from begins[block] to begins[block + 1], for the
// kSumWarps blocks of a group, in FP32 and in an order that depends on nothing else. A thread has
// kSumVectors vectors of each block. Every warp reads all blocks' numbers of places. A block with
// few is summed by its own warp, so that all warps have loads in flight and none waits for another.
// All warps together sum the others, one after another.
template <int kCount, typename T>
__device__ __forceinline__ void sum_places(const void* x, const long long* order,
                                           const long long* begins, void* out, unsigned group,
                                           long long blocks, unsigned part, long long width,
                                           float* shared) {
    using Sums = PlaceSums<kCount, T>;
    using Vector = typename Sums::Vector;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const long long first = 1ll * group * kSumWarps;
    const long long at = part * kSumVectors * 32ll + lane, left = width - at;
    const Vector* const from = static_cast<const Vector*>(x) + at;
    Vector* const to = static_cast<Vector*>(out) + at;
    const long long looked_at = first + lane;
    const bool is_shared = lane < kSumWarps && looked_at < blocks &&
                           begins[looked_at + 1] - begins[looked_at] > kSumAlone;
    const unsigned of_all = __ballot_sync(~0u, is_shared);
    if (first + warp < blocks && (of_all >> warp & 1) == 0) {
        const long long begin = begins[first + warp], end = begins[first + warp + 1];
        Sums sums = {};
        sums.add(from, order + begin, 0, static_cast<int>(end - begin), 1, left, width);
#pragma unroll
        for (int v = 0; v < kSumVectors; ++v)
            if (v * 32 < left) Sums::store(to + (first + warp) * width + v * 32, sums.sum[v]);
    }
#pragma unroll 1
    for (int of = 0; of_all >> of != 0; ++of) {
        if ((of_all >> of & 1) == 0) continue;
        const long long begin = begins[first + of], end = begins[first + of + 1];
        Sums sums = {};
        sums.add(from, order + begin, warp, static_cast<int>(end - begin), kSumWarps, left, width);
#pragma unroll
        for (int v = 0; v < kSumVectors; ++v)
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                Sums::shared_by(shared, warp, v)[32 * k] = sums.sum[v][k];
        __syncthreads();
        if (warp < kSumVectors && warp * 32 < left) {
            float total[kCount] = {};
#pragma unroll 1
            for (int by = 0; by < kSumWarps; ++by)
#pragma unroll
                for (int k = 0; k < kCount; ++k)
                    total[k] += Sums::shared_by(shared, by, warp)[32 * k];
            Sums::store(to + (first + of) * width + warp * 32, total);
        }
        __syncthreads();  // before the next block's sums overwrite these
    }
}

template <typename T>
__device__ __forceinline__ void sums_of_block(const void* x, const long long* order,
                                              const long long* begins, void* out, long long blocks,
                                              long long width, long long parts, int vector) {
    constexpr int kCount = kVectorSize<T>;
    __shared__ float shared[kSumWarps * kSumVectors * kCount * 32];
    const unsigned group = blockIdx.x / static_cast<unsigned>(parts);
    const unsigned part = blockIdx.x % static_cast<unsigned>(parts);
    if (vector)
        sum_places<kCount, T>(x, order, begins, out, group, blocks, part, width / kCount, shared);
    else
        sum_places<1, T>(x, order, begins, out, group, blocks, part, width, shared);
}

}  // namespace styleforge
