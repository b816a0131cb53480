// Conversions between FP32 and the storage types, one element or a packed pair at a time.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace styleforge {

__device__ __forceinline__ float to_float(float v) { return v; }
__device__ __forceinline__ float to_float(uint8_t v) { return v; }
__device__ __forceinline__ float to_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }

// Rounds to nearest. A byte is clamped to 0-255 first.
template <typename T>
__device__ __forceinline__ T from_float(float v);
template <>
__device__ __forceinline__ float from_float<float>(float v) {
    return v;
}
template <>
__device__ __forceinline__ uint8_t from_float<uint8_t>(float v) {
    return static_cast<uint8_t>(fminf(fmaxf(v, 0.f), 255.f) + 0.5f);
}
template <>
__device__ __forceinline__ __half from_float<__half>(float v) {
    return __float2half_rn(v);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
    return __float2bfloat16_rn(v);
}

// Returns zero if v is negative; NaN passes through.
__device__ __forceinline__ float relu(float v) {
#if __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %0, 0f00000000;" : "+f"(v));
    return v;
#else
    return v < 0 ? 0 : v;
#endif
}

// Two 16-bit elements in a 32-bit word, the first in the low half.
template <typename T>
struct Pair;

template <>
struct Pair<__half> {
    static __device__ __forceinline__ float2 unpack(uint32_t word) {
        return __half22float2(reinterpret_cast<const __half2&>(word));
    }
    static __device__ __forceinline__ uint32_t pack(float a, float b) {
        const __half2 pair = __floats2half2_rn(a, b);
        return reinterpret_cast<const uint32_t&>(pair);
    }
    // Negative numbers become zero.
    static __device__ __forceinline__ uint32_t pack_relu(float a, float b) {
#if __CUDA_ARCH__ >= 800
        uint32_t word;
        asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(b), "f"(a));
        return word;
#else
        return pack(a < 0.f ? 0.f : a, b < 0.f ? 0.f : b);  // keeps NaN, unlike fmaxf
#endif
    }
};

template <>
struct Pair<__nv_bfloat16> {
    static __device__ __forceinline__ float2 unpack(uint32_t word) {
        return __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(word));
    }
    static __device__ __forceinline__ uint32_t pack(float a, float b) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(a, b);
        return reinterpret_cast<const uint32_t&>(pair);
    }
    static __device__ __forceinline__ uint32_t pack_relu(float a, float b) {
#if __CUDA_ARCH__ >= 800
        uint32_t word;
        asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(b), "f"(a));
        return word;
#else
        return pack(a < 0.f ? 0.f : a, b < 0.f ? 0.f : b);  // keeps NaN, unlike fmaxf
#endif
    }
};

// Returns the rounding errors of two numbers converted to FP16, as a pair of FP16.
__device__ __forceinline__ uint32_t pack_rounding_error(uint32_t pair, float a, float b) {
    const float2 rounded = Pair<__half>::unpack(pair);
    return Pair<__half>::pack(a - rounded.x, b - rounded.y);
}

}  // namespace styleforge
