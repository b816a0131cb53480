// The slope of tanh in FP32, as arithmetic that compilers vectorize.
#pragma once

#include "functors.h"
#include "include/cpu/vector_math.h"

namespace styleforge {
namespace elementwise {

// 4 e / (1 + e)^2 with e = exp(-2 |v|) as a power of 2: one division, and of the argument only a
// sign is dropped and a bound applied. The relative error is below 5e-7; the coefficients were
// fitted for this file to minimize the maximum relative error. From |v| = 44.6 on, the slope is 0:
// the bound is the argument whose power of 2 has the bits of 0.
template <>
STYLEFORGE_ELEMENT float tanh_slope<VectorMath, float>(float v) {
    const float size = bit_cast<float>(bit_cast<uint32_t>(v) & 0x7FFFFFFFu);
    const float t = VectorMath::chosen(size > 44.7f, 44.7f, size);  // NaN passes through
    const float shifted = t * -2.885390043f + 12582912.f, whole = shifted - 12582912.f;
    float rest = t * -2.885390043f - whole;  // 2 / ln 2 in two parts
    rest = rest + t * -3.851926e-08f;
    float p = 0.00132647250f;
    p = p * rest + 0.00967151299f;
    p = p * rest + 0.0555073358f;
    p = p * rest + 0.240222424f;
    p = p * rest + 0.693147004f;
    p = p * rest + 1.f;
    // 4 e: two more in the exponent.
    const float fourfold = p * bit_cast<float>((bit_cast<uint32_t>(shifted) << 23) + 0x40800000u);
    const float sum = fourfold * 0.25f + 1.f;
    return fourfold / (sum * sum);
}

}  // namespace elementwise
}  // namespace styleforge
