// One bit per element of a row, the first element in the lowest bit: computes which elements are
// not zero, and derives factors or masked elements from the bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

#include "include/cpu/dtypes.h"

namespace styleforge {
namespace elementwise {

constexpr int64_t kBits = 8;  // per byte

// Returns whether a number is not zero, based on the bits below its sign. NaN is not zero.
inline bool is_not_zero(float v) { return (bit_cast<uint32_t>(v) & 0x7FFFFFFFu) != 0; }
template <typename T>
inline bool is_not_zero(T v) {
    return (bit_cast<uint16_t>(v) & 0x7FFFu) != 0;
}

// bits: [ceil(count / 8)]; bits beyond the row are 0.
template <typename T>
inline void put_bits(const T* from, int64_t count, unsigned char* bits) {
    int64_t i = 0;
#if defined(__AVX512BW__)
    constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
    for (; i + kLanes <= count; i += kLanes) {
        const __m512i v = _mm512_loadu_si512(from + i);
        if constexpr (sizeof(T) == sizeof(float)) {
            const __mmask16 found = _mm512_test_epi32_mask(v, _mm512_set1_epi32(0x7FFFFFFF));
            std::memcpy(bits + i / kBits, &found, sizeof(found));
        } else {
            const __mmask32 found = _mm512_test_epi16_mask(v, _mm512_set1_epi16(0x7FFF));
            std::memcpy(bits + i / kBits, &found, sizeof(found));
        }
    }
#endif
    for (; i < count; i += kBits) {
        unsigned found = 0;
        for (int64_t k = 0; k < kBits && i + k < count; ++k)
            found |= static_cast<unsigned>(is_not_zero(from[i + k])) << k;
        bits[i / kBits] = static_cast<unsigned char>(found);
    }
}

// factors: `kept` for each set bit, else 0.
inline void factors_of_bits(const unsigned char* bits, int64_t count, float kept, float* factors) {
    int64_t i = 0;
#if defined(__AVX512BW__)
    for (; i + 16 <= count; i += 16) {
        __mmask16 found;
        std::memcpy(&found, bits + i / kBits, sizeof(found));
        _mm512_storeu_ps(factors + i, _mm512_maskz_mov_ps(found, _mm512_set1_ps(kept)));
    }
#endif
    const auto number = bit_cast<uint32_t>(kept);
    for (; i + kBits <= count; i += kBits) {
        const uint32_t eight = bits[i / kBits];
        for (int64_t k = 0; k < kBits; ++k)
            factors[i + k] = bit_cast<float>((0u - ((eight >> k) & 1u)) & number);
    }
    for (; i < count; ++i)
        factors[i] = (bits[i / kBits] >> (i % kBits)) & 1 ? kept : 0.f;
}

// to: the elements of `from` with a set bit, else 0. The bits are expanded to a vector, since a
// compiler would use a mask for the load, which then waits for the bits.
template <typename T>
inline void keep_by_bits(const T* __restrict from, const unsigned char* __restrict bits,
                         int64_t count, T* __restrict to) {
    int64_t i = 0;
#if defined(__AVX512BW__) && defined(__AVX512DQ__)
    constexpr int64_t kLanes = 64 / static_cast<int64_t>(sizeof(T));
    for (; i + kLanes <= count; i += kLanes) {
        __m512i whole;
        if constexpr (sizeof(T) == sizeof(float)) {
            __mmask16 found;
            std::memcpy(&found, bits + i / kBits, sizeof(found));
            whole = _mm512_movm_epi32(found);
        } else {
            __mmask32 found;
            std::memcpy(&found, bits + i / kBits, sizeof(found));
            whole = _mm512_movm_epi16(found);
        }
        _mm512_storeu_si512(to + i, _mm512_and_si512(whole, _mm512_loadu_si512(from + i)));
    }
#endif
    using Bits = std::conditional_t<sizeof(T) == sizeof(float), uint32_t, uint16_t>;
    for (; i < count; i += kBits) {
        const Bits eight = bits[i / kBits];
        for (int64_t k = 0; k < kBits && i + k < count; ++k) {
            const auto whole = static_cast<Bits>(Bits{0} - ((eight >> k) & Bits{1}));
            to[i + k] = bit_cast<T>(static_cast<Bits>(bit_cast<Bits>(from[i + k]) & whole));
        }
    }
}

}  // namespace elementwise
}  // namespace styleforge
