// Raw activations in registers to wgmma operands in shared memory: norm, ReLU, residual, rounding.
#pragma once

#include <type_traits>
#include "include/common/convert.cuh"
#include "traits.cuh"

namespace styleforge::sm90 {

template <typename O>
__device__ __forceinline__ uint32_t pack_pair(float a, float b) {
    return Pair<O>::pack(a, b);
}

// Applies a ReLU as part of the conversion, then packs like pack_pair. NaN passes through.
template <typename O>
__device__ __forceinline__ uint32_t pack_pair_relu(float a, float b) {
    uint32_t pair = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (std::is_same_v<O, __half>)
        asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    else asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
#endif
    return pair;
}

// Eight channels of a pixel in their memory layout.
template <typename S>
struct Vec8 {
    uint4 all;
    __device__ __forceinline__ void load(const void* from) {
        all = __ldcg(static_cast<const uint4*>(from));
    }
    __device__ __forceinline__ void unpack(float (&v)[8]) const {
        const uint32_t word[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 pair = Pair<S>::unpack(word[i]);
            v[2 * i] = pair.x, v[2 * i + 1] = pair.y;
        }
    }
    static __device__ __forceinline__ void store(void* to, const float (&)[8],
                                                 const uint4& packed) {
        __stcg(static_cast<uint4*>(to), packed);
    }
};

template <>
struct Vec8<float> {
    float4 low, high;
    __device__ __forceinline__ void load(const void* from) {
        low = __ldcg(static_cast<const float4*>(from));
        high = __ldcg(static_cast<const float4*>(from) + 1);
    }
    __device__ __forceinline__ void unpack(float (&v)[8]) const {
        v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
        v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
    }
    static __device__ __forceinline__ void store(void* to, const float (&v)[8], const uint4&) {
        __stcg(static_cast<float4*>(to), float4{v[0], v[1], v[2], v[3]});
        __stcg(static_cast<float4*>(to) + 1, float4{v[4], v[5], v[6], v[7]});
    }
};

// Norm, then ReLU or residual, rounded once (or split into two operands) into shared memory.
template <typename M, bool kAdd>
__device__ __forceinline__ void normalize_activate(unsigned char* to, int rest,
                                                   const Vec8<typename M::S>& raw,
                                                   const Vec8<typename M::S>& add,
                                                   const float2 (&own)[8], void* keep, bool kept) {
    using O = typename M::O;
    float v[8];
    raw.unpack(v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], own[i].x, own[i].y);
    if constexpr (kAdd) {
        float more[8];
        add.unpack(more);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] += more[i];
    } else if constexpr (M::kStoresFp32) {
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = relu(v[i]);
    }
    uint4 packed;
    if constexpr (kAdd || M::kStoresFp32)
        packed = {pack_pair<O>(v[0], v[1]), pack_pair<O>(v[2], v[3]), pack_pair<O>(v[4], v[5]),
                  pack_pair<O>(v[6], v[7])};
    else
        packed = {pack_pair_relu<O>(v[0], v[1]), pack_pair_relu<O>(v[2], v[3]),
                  pack_pair_relu<O>(v[4], v[5]), pack_pair_relu<O>(v[6], v[7])};
    *reinterpret_cast<uint4*>(to) = packed;
    if constexpr (M::kSplit)
        *reinterpret_cast<uint4*>(to + rest) = {
            pack_rounding_error(packed.x, v[0], v[1]), pack_rounding_error(packed.y, v[2], v[3]),
            pack_rounding_error(packed.z, v[4], v[5]), pack_rounding_error(packed.w, v[6], v[7])};
    if (kept) Vec8<typename M::S>::store(keep, v, packed);
}

}  // namespace styleforge::sm90
