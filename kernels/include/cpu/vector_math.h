// exp, tanh, erf and functions built on them in FP32, as arithmetic without branches or calls, so
// that compilers vectorize loops that call them. The relative error is below 5e-7; the coefficients
// were fitted for these files to minimize its maximum.
#pragma once

#include <cstdint>

#include "dtypes.h"
#include "inline.h"

namespace styleforge {

struct VectorMath {
    // Results below 8e-39 become 0, and results above 2.4e38 infinite: the bounds are the arguments
    // whose power of 2 has the bits of 0 and of infinity. x times a sigmoid is thus 0 for large
    // negative x.
    static STYLEFORGE_INLINE float exp(float v) {
        v = within(v, -88.f, 89.f);
        // Adding 1.5 * 2^23 rounds to an integer, which is then in the lowest bits.
        const float shifted = v * 1.44269504f + 12582912.f, whole = shifted - 12582912.f;
        float rest = v - whole * 0.693359375f;  // ln 2 in two parts, the first exact in the product
        rest = rest + whole * 2.12194440e-4f;
        float p = 1.f / 5040.f;
        p = p * rest + 1.f / 720.f;
        p = p * rest + 1.f / 120.f;
        p = p * rest + 1.f / 24.f;
        p = p * rest + 1.f / 6.f;
        p = p * rest + 0.5f;
        p = p * rest + 1.f;
        p = p * rest + 1.f;
        const uint32_t power = (bit_cast<uint32_t>(shifted) << 23) + 0x3F800000u;
        return p * bit_cast<float>(power);
    }

    static STYLEFORGE_INLINE float tanh(float v) {
        v = within(v, -9.f, 9.f);
        const float u = v * v;
        float p = -1.22464125e-11f;
        p = p * u + 3.06428036e-08f;
        p = p * u + 2.80314437e-05f;
        p = p * u + 0.00386951513f;
        p = p * u + 0.136808623f;
        p = p * u + 0.999999999f;
        float q = 1.28904379e-06f;
        q = q * u + 0.000394072556f;
        q = q * u + 0.0272501832f;
        q = q * u + 0.470141944f;
        q = q * u + 1.f;
        return within(v * p / q, -1.f, 1.f);
    }

    static STYLEFORGE_INLINE float erf(float v) {
        v = within(v, -3.95f, 3.95f);
        const float u = v * v;
        float p = 2.02582723e-06f;
        p = p * u + 0.000284678561f;
        p = p * u + 0.00380807387f;
        p = p * u + 0.0528751805f;
        p = p * u + 0.191549269f;
        p = p * u + 1.12837914f;
        float q = 3.78304719e-05f;
        q = q * u + 0.00117069042f;
        q = q * u + 0.0150549305f;
        q = q * u + 0.114559074f;
        q = q * u + 0.503088797f;
        q = q * u + 1.f;
        return within(v * p / q, -1.f, 1.f);
    }

    static STYLEFORGE_INLINE float inverse(float v) { return 1.f / v; }
    // The standard normal CDF at v.
    static STYLEFORGE_INLINE float ndtr(float v) { return 0.5f * (1.f + erf(v * 0.70710678f)); }
    // The standard normal density at v.
    static STYLEFORGE_INLINE float density(float v) { return 0.39894228f * exp(-0.5f * v * v); }

    // Returns `a` or `b` without a branch.
    static STYLEFORGE_INLINE float chosen(bool first, float a, float b) {
        const uint32_t mask = 0u - static_cast<uint32_t>(first);
        return bit_cast<float>((bit_cast<uint32_t>(a) & mask) | (bit_cast<uint32_t>(b) & ~mask));
    }

 private:
    // Clamps v to [least, most]; NaN passes through. For a conditional expression, a compiler may
    // create two paths through the following code and then compute both for all elements: x times
    // the sigmoid of -88 is subnormal, which takes many times as long.
    static STYLEFORGE_INLINE float within(float v, float least, float most) {
        return chosen(v > most, most, chosen(v < least, least, v));
    }
};

}  // namespace styleforge
