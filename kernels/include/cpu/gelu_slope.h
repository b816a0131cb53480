// The slope of GELU in FP32, as arithmetic that compilers vectorize.
#pragma once

#include "ops/general/elementwise/functors.h"
#include "vector_math.h"

namespace styleforge {
namespace elementwise {

// Below 0 the slope is the Gaussian exp(-t^2 / 2) times a polynomial of t = |v|; above 0 it is 1
// minus that, without a division or a separate normal CDF. The error is below 2e-7; the
// coefficients were fitted for this file to minimize the maximum error of the product. From |v| =
// 13.25 on, the slope is 0 or 1: the bound is the argument whose power of 2 has the bits of 0. The
// slope of infinity is NaN, like PyTorch's, which multiplies infinity by a density of 0.
template <>
STYLEFORGE_ELEMENT float gelu_slope<VectorMath, float>(float v) {
    const float size = bit_cast<float>(bit_cast<uint32_t>(v) & 0x7FFFFFFFu);
    const float t = VectorMath::chosen(size > 13.27f, 13.27f, size);  // NaN passes through
    const float power = t * t * -0.721347520f;                  // of 2
    const float shifted = power + 12582912.f, rest = power - (shifted - 12582912.f);
    float g = 1.53458189e-4f;
    g = g * rest + 1.33999340e-3f;
    g = g * rest + 9.61848896e-3f;
    g = g * rest + 5.55032877e-2f;
    g = g * rest + 0.240226469f;
    g = g * rest + 0.693147206f;
    g = g * rest + 1.f;
    g *= bit_cast<float>((bit_cast<uint32_t>(shifted) << 23) + 0x3F800000u);
    float p = -3.15550738e-07f;
    p = p * t + 7.70893786e-06f;
    p = p * t - 8.47723960e-05f;
    p = p * t + 5.63659665e-04f;
    p = p * t - 2.59011147e-03f;
    p = p * t + 9.00388856e-03f;
    p = p * t - 2.54718688e-02f;
    p = p * t + 6.19239725e-02f;
    p = p * t - 0.132805805f;
    p = p * t + 0.249972578f;
    p = p * t - 0.797882883f;
    p = p * t + 0.499999983f;
    const float below = g * p + (size - size);
    return VectorMath::chosen(v > 0.f, 1.f - below, below);
}

}  // namespace elementwise
}  // namespace styleforge
