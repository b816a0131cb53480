// PTX instructions used by the attention kernels that have no CUDA function.
#pragma once

#include <stdint.h>
#include "include/common/ptx.cuh"

namespace styleforge::attention {

// 2^x, accurate to 22 bits; 0 for -inf.
__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Copies 16 bytes like cp_async_16B, or stores zeros without reading.
__device__ __forceinline__ void cp_async_16B_or_zero(uint32_t to, const void* from, bool read) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                 "r"(read ? 16 : 0)
                 : "memory");
#else
    store_shared_16B(to, read ? load_16B(from) : make_uint4(0, 0, 0, 0));
#endif
}

// Like ldmatrix_x4, but transposes each matrix.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&to)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

}  // namespace styleforge::attention
