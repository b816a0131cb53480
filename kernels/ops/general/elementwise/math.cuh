// Math functions of elementwise operations and norms on a GPU. The most frequent FP32 functions
// have no branches, so that a memory-bound kernel hides their cost.
#pragma once

#include <math.h>

namespace styleforge {
namespace elementwise {

struct CudaMath {
    // The product is rounded, which adds a relative error of 2^-24 |v| to the error of 2^x.
    static __device__ __forceinline__ float exp(float v) { return exp2(v * 1.44269504f); }
    static __device__ __forceinline__ float tanh(float v) { return tanhf(v); }
    // Accurate to one unit in the last place; 0 if |v| exceeds 2^126.
    static __device__ __forceinline__ float inverse(float v) {
#ifdef __CUDA_ARCH__
        float result;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
        return result;
#else
        return 1.f / v;
#endif
    }
    // The standard normal CDF at v. With a = |v|, a polynomial fits log2 Phi(-a). Its leading
    // coefficient is negative, so that Phi(-a) goes to 0 for large a. The fit is off by at most
    // 7e-8, and with 2^x, which is off by 2^-22 of a half, by 1.9e-7. CUDA's erff takes twice as
    // many instructions.
    static __device__ __forceinline__ float ndtr(float v) {
        const float a = fabsf(v);
        float p = -1.0750413e-06f;
        p = fmaf(p, a, 1.8266157e-05f);
        p = fmaf(p, a, -8.79071e-05f);
        p = fmaf(p, a, -3.6327887e-04f);
        p = fmaf(p, a, 7.3362077e-03f);
        p = fmaf(p, a, -5.266318e-02f);
        p = fmaf(p, a, -4.5916227e-01f);
        p = fmaf(p, a, -1.1511092f);
        return of_logarithm(fmaf(p, a, -1.f), v);
    }
    // The standard normal density: 2^(-v^2 / (2 ln 2) - log2(2 pi) / 2).
    static __device__ __forceinline__ float density(float v) {
        return exp2(fmaf(v * v, -0.72134752f, -1.32574806f));
    }

    static __device__ __forceinline__ double exp(double v) { return ::exp(v); }
    static __device__ __forceinline__ double tanh(double v) { return ::tanh(v); }
    static __device__ __forceinline__ double inverse(double v) { return 1 / v; }
    static __device__ __forceinline__ double ndtr(double v) {
        return 0.5 * (1 + ::erf(v * 0.70710678118654752440));
    }
    static __device__ __forceinline__ double density(double v) {
        return 0.39894228040143267794 * ::exp(-0.5 * v * v);
    }

 protected:
    // Returns Phi(v), given log2 Phi(-|v|).
    static __device__ __forceinline__ float of_logarithm(float logarithm, float v) {
        const float beyond = exp2(logarithm);
        return v < 0.f ? beyond : 1.f - beyond;
    }
    // 2^v, accurate to 22 bits; results below 1e-38 are 0.
    static __device__ __forceinline__ float exp2(float v) {
#ifdef __CUDA_ARCH__
        float result;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
        return result;
#else
        return exp2f(v);
#endif
    }
};

// The same for results rounded to 16 bits.
struct CudaMath16 : CudaMath {
    // Like the FP32 version, with three coefficients fewer: off by at most 1.3e-6.
    static __device__ __forceinline__ float ndtr(float v) {
        const float a = fabsf(v);
        float p = -4.5817504e-04f;
        p = fmaf(p, a, 7.0926973e-03f);
        p = fmaf(p, a, -5.2077175e-02f);
        p = fmaf(p, a, -4.5953787e-01f);
        p = fmaf(p, a, -1.1510437f);
        return of_logarithm(fmaf(p, a, -1.f), v);
    }
};

// The math functions for element type T.
template <typename T, int kBytes = sizeof(T)>
struct MathOf {
    using Type = CudaMath;
};
template <typename T>
struct MathOf<T, 2> {
    using Type = CudaMath16;
};

}  // namespace elementwise
}  // namespace styleforge
