// Converts rows of FP16, BF16 and FP32 to and from FP32. Compilers vectorize BF16 loops by
// themselves, but not FP16 loops on x86-64.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "dtypes.h"

namespace styleforge {

// The element type that a loop over rows of T reads and writes: T, converted on the fly, or float
// for FP16 rows, which are converted beforehand.
template <typename T>
using InLoops = std::conditional_t<std::is_same<T, Half>::value, float, T>;

template <typename T>
inline void widen_row(float* to, const T* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <typename T>
inline void narrow_row(T* to, const float* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = T(from[i]);
}

#if defined(__F16C__)
template <>
inline void widen_row<Half>(float* to, const Half* from, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(eight));
    }
    for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

template <>
inline void narrow_row<Half>(Half* to, const float* from, int64_t count) {
    int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), eight);
    }
    for (; i < count; ++i) to[i] = Half(from[i]);
}
#endif

}  // namespace styleforge
