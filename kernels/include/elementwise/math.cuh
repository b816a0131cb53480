// The mathematics of elementwise operations and norms on a GPU. What FP32 takes most often has no
// branches: a kernel that waits for memory anyway then has the time to compute it.
#pragma once

#include <math.h>

namespace styleforge {
namespace elementwise {

struct CudaMath {
    static __device__ __forceinline__ float exp(float v) { return expf(v); }
    static __device__ __forceinline__ float tanh(float v) { return tanhf(v); }
    // Within two units in the last place; 0 where b is beyond 2^126.
    static __device__ __forceinline__ float divide(float a, float b) {
#ifdef __CUDA_ARCH__
        return __fdividef(a, b);
#else
        return a / b;
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
        const float beyond = exp2(fmaf(p, a, -1.f));
        return v < 0.f ? beyond : 1.f - beyond;
    }
    // e^(-v^2 / 2).
    static __device__ __forceinline__ float gaussian(float v) {
        return exp2(v * v * -0.72134752f);
    }

    static __device__ __forceinline__ double exp(double v) { return ::exp(v); }
    static __device__ __forceinline__ double tanh(double v) { return ::tanh(v); }
    static __device__ __forceinline__ double divide(double a, double b) { return a / b; }
    static __device__ __forceinline__ double ndtr(double v) {
        return 0.5 * (1 + ::erf(v * 0.70710678118654752440));
    }
    static __device__ __forceinline__ double gaussian(double v) { return ::exp(-0.5 * v * v); }

 private:
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

}  // namespace elementwise
}  // namespace styleforge
