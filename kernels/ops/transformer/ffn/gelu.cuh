// The Gaussian error linear unit.
#pragma once

#include <math.h>

namespace styleforge {

// x Phi(x) with the error function, or its tanh approximation (Hendrycks and Gimpel, 2016).
__device__ __forceinline__ float gelu(float x, bool approximate) {
    if (!approximate) return 0.5f * x * (1.f + erff(x * 0.7071067811865476f));
    return 0.5f * x * (1.f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

}  // namespace styleforge
