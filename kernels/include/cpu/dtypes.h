// FP16 and BF16 on the CPU, converted like PyTorch: rounded to nearest even.
#pragma once

#include <cstdint>
#include <cstring>

#include "inline.h"

namespace styleforge {

template <typename To, typename From>
STYLEFORGE_INLINE To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof(to));
    return to;
}

#if defined(__FLT16_MANT_DIG__)
struct Half {
    _Float16 value;

    Half() = default;
    explicit Half(float x) : value(static_cast<_Float16>(x)) {}
    explicit operator float() const { return static_cast<float>(value); }
};
#else
// For compilers without the type. Scaling by powers of two is exact, so each direction rounds once.
struct Half {
    uint16_t bits;

    Half() = default;
    explicit Half(float x) {
        const auto u = bit_cast<uint32_t>(x);
        const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
        if (magnitude > 0x7F800000u) {  // NaN
            bits = static_cast<uint16_t>(sign | 0x7E00u);
        } else if (magnitude >= 0x477FF000u) {  // 65520 and above: infinite
            bits = static_cast<uint16_t>(sign | 0x7C00u);
        } else if (magnitude < 0x38800000u) {  // below 2^-14: subnormal, in units of 2^-24
            const float units = bit_cast<float>(magnitude) + 0.5f;  // the sum rounds to 2^-24
            bits = static_cast<uint16_t>(sign | (bit_cast<uint32_t>(units) - 0x3F000000u));
        } else {
            const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
            bits = static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
        }
    }
    explicit operator float() const {
        const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
        const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7FFFu) << 13;
        if (magnitude >= 0x0F800000u)  // infinite or NaN
            return bit_cast<float>(sign | magnitude | 0x7F800000u);
        const float scaled = bit_cast<float>(magnitude) * 5.192296858534828e33f;  // 2^112
        return bit_cast<float>(sign | bit_cast<uint32_t>(scaled));
    }
};
#endif

struct BFloat16 {
    uint16_t bits;

    BFloat16() = default;
    explicit BFloat16(float x) : bits(static_cast<uint16_t>(rounded(x) >> 16)) {}
    explicit operator float() const { return bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

    // Returns the rounded number in the upper half of the word.
    static STYLEFORGE_INLINE uint32_t rounded(float x) {
        // A mask: for a conditional expression, a compiler may create two paths through the code
        // that computed x, which are not vectorized.
        const auto u = bit_cast<uint32_t>(x), nan = 0u - static_cast<uint32_t>(x != x);
        return ((u + 0x7FFFu + ((u >> 16) & 1u)) & ~nan) | (0x7FC00000u & nan);
    }
};

// Two adjacent BF16 numbers as a word of a little-endian machine. Loops over pairs convert with
// half the instructions of loops over single numbers.
struct BFloat16Pair {
    uint32_t bits;

    BFloat16Pair() = default;
    BFloat16Pair(float first, float second)
        : bits((BFloat16::rounded(first) >> 16) | (BFloat16::rounded(second) & 0xFFFF0000u)) {}
    float first() const { return bit_cast<float>(bits << 16); }
    float second() const { return bit_cast<float>(bits & 0xFFFF0000u); }
};

inline BFloat16Pair pair_at(const BFloat16* from) {
    BFloat16Pair found;
    std::memcpy(&found, from, sizeof(found));
    return found;
}
inline void put_pair(BFloat16* to, BFloat16Pair pair) { std::memcpy(to, &pair, sizeof(pair)); }

}  // namespace styleforge
