// Element types by number, and vectorized loads and stores of up to 16 bytes that convert to FP32.
#pragma once

#include "convert.cuh"
#include "data_type.h"

namespace styleforge {

template <typename T, int kCount>
struct alignas(kCount * sizeof(T)) AlignedVector {
    T element[kCount];
};

// Elements in 16 bytes.
template <typename T>
constexpr int kVectorSize = 16 / static_cast<int>(sizeof(T));

// Converts the elements of a vector to FP32.
template <typename T, int kCount>
__device__ __forceinline__ void widen(float* to, const AlignedVector<T, kCount>& vector) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = to_float(vector.element[i]);
}

#ifdef __CUDA_ARCH__
// The upper BF16 of a word is already in place; converting element by element takes three
// instructions.
template <int kCount>
__device__ __forceinline__ void widen(float* to, const AlignedVector<__nv_bfloat16, kCount>& vector) {
    if constexpr (kCount % 2 == 0) {
        const auto words = reinterpret_cast<const AlignedVector<uint32_t, kCount / 2>&>(vector);
#pragma unroll
        for (int i = 0; i < kCount / 2; ++i) {
            to[2 * i] = __uint_as_float(words.element[i] << 16);
            to[2 * i + 1] = __uint_as_float(words.element[i] & 0xffff0000u);
        }
    } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) to[i] = to_float(vector.element[i]);
    }
}
#endif

template <int kCount, typename T>
__device__ __forceinline__ void load(float* to, const T* from) {
    const auto vector = *reinterpret_cast<const AlignedVector<T, kCount>*>(from);
    widen(to, vector);
}

template <int kCount, typename T>
__device__ __forceinline__ AlignedVector<T, kCount> narrowed(const float* from) {
    AlignedVector<T, kCount> vector;
#pragma unroll
    for (int i = 0; i < kCount; ++i) vector.element[i] = from_float<T>(from[i]);
    return vector;
}

template <int kCount, typename T>
__device__ __forceinline__ void store(T* to, const float* from) {
    *reinterpret_cast<AlignedVector<T, kCount>*>(to) = narrowed<kCount, T>(from);
}

// Stores to global memory like `store`, but as data that the L2 cache evicts first.
template <int kCount, typename T>
__device__ __forceinline__ void store_streaming(T* to, const float* from) {
#ifdef __CUDA_ARCH__
    if constexpr (kCount == kVectorSize<T>) {
        const auto vector = narrowed<kCount, T>(from);
        const auto words = reinterpret_cast<const AlignedVector<unsigned, 4>&>(vector);
        asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(words.element[0]),
                     "r"(words.element[1]), "r"(words.element[2]), "r"(words.element[3])
                     : "memory");
        return;
    }
#endif
    store<kCount>(to, from);
}

// Returns element `index` of an array whose DataType is known only at run time, or `otherwise` if
// the array is null.
__device__ __forceinline__ float load_parameter(const void* from, int type, int index,
                                                float otherwise) {
    if (from == nullptr) return otherwise;
    if (type == kHalf) return to_float(static_cast<const __half*>(from)[index]);
    if (type == kBFloat16) return to_float(static_cast<const __nv_bfloat16*>(from)[index]);
    return static_cast<const float*>(from)[index];
}

}  // namespace styleforge
