// Elements of any floating type, read and written as FP32, one by one or 16 bytes at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace styleforge {

// What the launchers call the types.
enum Type { kFloat = 0, kHalf = 1, kBFloat16 = 2 };

__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ float widen(__half v) { return __half2float(v); }
__device__ __forceinline__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T>
__device__ __forceinline__ T narrow(float v);
template <>
__device__ __forceinline__ float narrow<float>(float v) { return v; }
template <>
__device__ __forceinline__ __half narrow<__half>(float v) { return __float2half_rn(v); }
template <>
__device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}

// kCount elements that lie together: one, or as many as 16 bytes hold.
template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
    T element[kCount];
};

template <typename T>
constexpr int kPackOf = 16 / static_cast<int>(sizeof(T));

template <int kCount, typename T>
__device__ __forceinline__ void load(float* to, const T* from) {
    const auto pack = *reinterpret_cast<const Pack<T, kCount>*>(from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = widen(pack.element[i]);
}

template <int kCount, typename T>
__device__ __forceinline__ void store(T* to, const float* from) {
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) pack.element[i] = narrow<T>(from[i]);
    *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Element `at` of a small array whose type is known only at run time; `otherwise` if there is none.
__device__ __forceinline__ float parameter(const void* from, int type, int at, float otherwise) {
    if (from == nullptr) return otherwise;
    if (type == kHalf) return widen(static_cast<const __half*>(from)[at]);
    if (type == kBFloat16) return widen(static_cast<const __nv_bfloat16*>(from)[at]);
    return static_cast<const float*>(from)[at];
}

}  // namespace styleforge
