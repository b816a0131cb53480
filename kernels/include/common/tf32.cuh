// FP32 products on tensor cores: a number is the sum of two TF32 numbers, high and low.
#pragma once

#include <stdint.h>

namespace styleforge {

// Rounds to the nearest TF32 number, ties away from 0.
__device__ __forceinline__ float nearest_tf32(float x) {
    return __int_as_float(static_cast<int>((__float_as_uint(x) + 0x1000u) & 0xffffe000u));
}

#ifdef __CUDACC__
// acc[16x8] += a[16x8] b[8x8]. a and b are truncated to TF32. Empty before sm_80.
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&acc)[4], const float (&a)[4], float b0,
                                                 float b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
#endif
}
#endif  // __CUDACC__

}  // namespace styleforge
