// Vectors of FP32 numbers as wide as the processor's registers, and the sizes that depend on them.
//
// Only `fma` fuses a product and a sum; the compiler never does (exact.h). All processors with
// fused multiply-add therefore compute the same bits, whatever the width of their registers.
#pragma once

#include <cstdint>
#include <cstring>

#include "include/common/exact.h"
#include "include/cpu/inline.h"

#if !defined(__GNUC__)
#error "the network on the CPU needs a compiler with vector types, such as GCC or Clang"
#elif defined(__AVX__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace styleforge::network {

// The lanes of a vector, and the rows and vectors of accumulators that a matrix product keeps in
// registers.
#if defined(__AVX512F__)
constexpr int kLanes = 16, kRows = 12, kVectors = 2;
#elif defined(__AVX__)
constexpr int kLanes = 8, kRows = 6, kVectors = 2;
#elif defined(__aarch64__)
constexpr int kLanes = 4, kRows = 6, kVectors = 4;
#else
constexpr int kLanes = 4, kRows = 6, kVectors = 2;
#endif
constexpr int kPanel = kVectors * kLanes;  // output channels that a product computes at once
constexpr int kChannels = 16;              // every number of channels is a multiple of this

template <int N>
struct VectorOf {
    typedef float type __attribute__((vector_size(N * sizeof(float))));
};
template <int N>
using Floats = typename VectorOf<N>::type;
using Vector = Floats<kLanes>;

template <typename V = Vector>
STYLEFORGE_INLINE V load(const float* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <typename V>
STYLEFORGE_INLINE void store(float* to, V v) {
    std::memcpy(to, &v, sizeof v);
}

template <typename V = Vector>
STYLEFORGE_INLINE V all(float value) {
    return value - V{};  // no instruction, unlike `V{} + value`, which changes -0 to 0
}

// Returns a * b + c, with a single rounding if the processor has fused multiply-add.
STYLEFORGE_INLINE Floats<4> fma(Floats<4> a, Floats<4> b, Floats<4> c) {
#if defined(__FMA__)
    return (Floats<4>)_mm_fmadd_ps((__m128)a, (__m128)b, (__m128)c);
#elif defined(__aarch64__)
    return (Floats<4>)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}
#if defined(__AVX__)
STYLEFORGE_INLINE Floats<8> fma(Floats<8> a, Floats<8> b, Floats<8> c) {
#if defined(__FMA__)
    return (Floats<8>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}
#endif
#if defined(__AVX512F__)
STYLEFORGE_INLINE Floats<16> fma(Floats<16> a, Floats<16> b, Floats<16> c) {
    return (Floats<16>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
#endif
template <typename V>
STYLEFORGE_INLINE V fma(float a, V b, V c) {
    return fma(all<V>(a), b, c);
}

// Returns max(x, 0), or NaN if x is NaN.
template <typename V>
STYLEFORGE_INLINE V relu(V x) {
    const V zero = {};
    return x < zero ? zero : x;
}

}  // namespace styleforge::network
