// Operands of Hopper's layers (sm_90a): what is read from memory, normalised, rounded and left for
// the tensor cores, and results on their way out.
#pragma once

#include <type_traits>

#include "pipeline.cuh"
#include "warpgroup.cuh"
#include "wgmma.cuh"

namespace styleforge {

constexpr int kStagingBytes = 9216;  // of one warpgroup, where results wait to be stored
constexpr int kMostShared = 232448;  // bytes of shared memory that a block can have

template <typename Storage, typename Operand, bool kSplit_>
struct Mode {
    using S = Storage;
    using O = Operand;
    static constexpr bool kSplit = kSplit_, kWide = sizeof(S) == 4;
    static constexpr int kCopies = kSplit ? 2 : 1;
    static constexpr int kChunk = kWide ? 32 : 64;  // pixels staged at a time
    static constexpr int kPitch = 64 * sizeof(S) + 16;
    static_assert(kChunk * kPitch <= kStagingBytes);
};

__device__ __forceinline__ int clamp(int i, int size) { return max(0, min(size - 1, i)); }

// Mirror at the border, then stay inside: tiles may reach beyond the mirror image.
__device__ __forceinline__ int mirror(int i, int size) {
    i = abs(i);
    return clamp(size - 1 - abs(size - 1 - i), size);
}

template <typename O>
__device__ __forceinline__ uint32_t pair_of(float a, float b) {
    return Pair<O>::close(a, b);
}

// The same after a ReLU, which costs no instruction here. NaN stays.
template <typename O>
__device__ __forceinline__ uint32_t pair_of_relu(float a, float b) {
    uint32_t pair = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (std::is_same_v<O, __half>)
        asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    else
        asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
#endif
    return pair;
}

__device__ __forceinline__ float relu(float v) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm("max.NaN.f32 %0, %0, 0f00000000;" : "+f"(v));  // NaN stays
#endif
    return v;
}

// What a pair leaves after its first rounding.
__device__ __forceinline__ uint32_t rest_of(uint32_t pair, float a, float b) {
    const float2 rounded = Pair<__half>::open(pair);
    return Pair<__half>::close(a - rounded.x, b - rounded.y);
}

// Eight channels of a pixel as they lie in memory.
template <typename S>
struct Eight {
    uint4 all;
    __device__ __forceinline__ void load(const void* from) {
        all = __ldcg(static_cast<const uint4*>(from));
    }
    __device__ __forceinline__ void open(float (&v)[8]) const {
        const uint32_t word[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 pair = Pair<S>::open(word[i]);
            v[2 * i] = pair.x, v[2 * i + 1] = pair.y;
        }
    }
    static __device__ __forceinline__ void store(void* to, const float (&)[8], const uint4& packed) {
        __stcg(static_cast<uint4*>(to), packed);
    }
};

template <>
struct Eight<float> {
    float4 low, high;
    __device__ __forceinline__ void load(const void* from) {
        low = __ldcg(static_cast<const float4*>(from));
        high = __ldcg(static_cast<const float4*>(from) + 1);
    }
    __device__ __forceinline__ void open(float (&v)[8]) const {
        v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
        v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
    }
    static __device__ __forceinline__ void store(void* to, const float (&v)[8], const uint4&) {
        __stcg(static_cast<float4*>(to), float4{v[0], v[1], v[2], v[3]});
        __stcg(static_cast<float4*>(to) + 1, float4{v[4], v[5], v[6], v[7]});
    }
};

// Norm, then ReLU or residual, rounded once (or twice, for two operands) into shared memory.
template <typename M, bool kAdd>
__device__ __forceinline__ void activate(unsigned char* to, int rest, const Eight<typename M::S>& raw,
                                         const Eight<typename M::S>& add, const float2 (&own)[8],
                                         void* keep, bool kept) {
    using O = typename M::O;
    float v[8];
    raw.open(v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], own[i].x, own[i].y);
    if constexpr (kAdd) {
        float more[8];
        add.open(more);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] += more[i];
    } else if constexpr (M::kWide) {
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = relu(v[i]);
    }
    uint4 packed;
    if constexpr (kAdd || M::kWide)
        packed = {pair_of<O>(v[0], v[1]), pair_of<O>(v[2], v[3]), pair_of<O>(v[4], v[5]),
                  pair_of<O>(v[6], v[7])};
    else
        packed = {pair_of_relu<O>(v[0], v[1]), pair_of_relu<O>(v[2], v[3]),
                  pair_of_relu<O>(v[4], v[5]), pair_of_relu<O>(v[6], v[7])};
    *reinterpret_cast<uint4*>(to) = packed;
    if constexpr (M::kSplit)
        *reinterpret_cast<uint4*>(to + rest) = {
            rest_of(packed.x, v[0], v[1]), rest_of(packed.y, v[2], v[3]),
            rest_of(packed.z, v[4], v[5]), rest_of(packed.w, v[6], v[7])};
    if (kept) Eight<typename M::S>::store(keep, v, packed);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// One step of kDeep x 16 channels; with two operands, the three products that matter.
template <typename M, int kColumns, int kDeep>
__device__ __forceinline__ void multiply_step(float (&acc)[kColumns / 2], uint32_t a,
                                              int a_along_k, uint32_t b, int b_along_k,
                                              int b_along_columns) {
    const auto product = [&](int i, int j) {
        Group<typename M::O, kColumns>::multiply(
            acc, matrix_at(a + i * 2 * a_along_k, a_along_k, 128),
            matrix_at(b + j * 2 * b_along_k, b_along_k, b_along_columns));
    };
#pragma unroll
    for (int k = 0; k < kDeep; ++k) {
        product(k, k);
        if constexpr (M::kSplit) product(k, k + kDeep), product(k + kDeep, k);
    }
}

// The kChunk pixels from chunk * kChunk of a warpgroup's accumulators into `staging`,
// [pixel][row].
template <typename M, int kColumns, int kChunk>
__device__ __forceinline__ void stage(const float (&acc)[kColumns / 2], unsigned char* staging,
                                      int chunk) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    constexpr int kOf = kChunk / 8;
#pragma unroll
    for (int c = 0; c < kColumns / kChunk; ++c) {
        if (c != chunk) continue;
        if constexpr (M::kWide) {
            float* to = reinterpret_cast<float*>(staging) + warp * 16 + lane / 4 +
                        lane % 4 * 2 * (M::kPitch / 4);
#pragma unroll
            for (int j = 0; j < kOf; ++j)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    to[(j * 8 + k % 2) * (M::kPitch / 4) + k / 2 * 8] = acc[(c * kOf + j) * 4 + k];
        } else {
            const uint32_t to = shared_address(staging) + (lane / 16 * 8 + lane % 8) * M::kPitch +
                                warp * 32 + lane / 8 % 2 * 16;
#pragma unroll
            for (int j = 0; j < kOf; j += 2) {
                const float* v = acc + (c * kOf + j) * 4;
                using S = typename M::S;
                store_matrices_aside(to + j * 8 * M::kPitch, pair_of<S>(v[0], v[1]),
                                     pair_of<S>(v[2], v[3]), pair_of<S>(v[4], v[5]),
                                     pair_of<S>(v[6], v[7]));
            }
        }
    }
}

#endif

}  // namespace styleforge
