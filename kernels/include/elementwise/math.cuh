// The mathematics of elementwise operations and norms on a GPU. What FP32 takes most often has no
// branches: a kernel that waits for memory anyway then has the time to compute it.
#pragma once

#include <math.h>

namespace styleforge {
namespace elementwise {

struct CudaMath {
    // The product is rounded, so that it errs by 2^-24 |v| of its value beside what 2^x does.
    static __device__ __forceinline__ float exp(float v) { return exp2(v * 1.44269504f); }
    static __device__ __forceinline__ float tanh(float v) { return tanhf(v); }
    // Within a unit in the last place; 0 where v is beyond 2^126.
    static __device__ __forceinline__ float inverse(float v) {
#ifdef __CUDA_ARCH__
        float result;
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
        return result;
#else
        return 1.f / v;
#endif
    }
    // The share of a normal distribution below v. With a = |v|, log2 Phi(-a) is fitted by a
    // polynomial whose leading coefficient is negative, so that Phi(-a) goes to 0 where a is large.
    // It is off by 7e-8 at most, and with 2^x, which is off by 2^-22 of half, by 1.9e-7. CUDA's erff
    // takes twice as many instructions.
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
    // The density of a normal distribution: 2^(-v^2 / (2 ln 2) - log2(2 pi) / 2).
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
    // Of log2 Phi(-|v|), Phi(v).
    static __device__ __forceinline__ float of_logarithm(float logarithm, float v) {
        const float beyond = exp2(logarithm);
        return v < 0.f ? beyond : 1.f - beyond;
    }
    // 2^v with 22 good bits; results below 1e-38 are 0.
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

// The same for results that are rounded to 16 bits.
struct CudaMath16 : CudaMath {
    // As that of FP32, with three coefficients less: off by 1.3e-6 at most.
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

// The mathematics of the element type T.
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
