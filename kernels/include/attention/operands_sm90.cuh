// Operands of wgmma (sm_90a) in shared memory as TMA leaves them, rows turned by their number, and
// in registers.
#pragma once

#include <stdint.h>

namespace styleforge::attention {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// A matrix of turned rows in shared memory. `along_columns` is from one box to the next where
// the columns are those of a product.
template <typename Shape>
__device__ __forceinline__ uint64_t descriptor(uint32_t address, int along_columns) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) |
           static_cast<uint64_t>(along_columns >> 4) << 16 |
           static_cast<uint64_t>(Shape::kEightRows >> 4) << 32 | Shape::kSwizzle << 62;
}

// Holds values in registers where wgmma writes them, or reads them, behind the compiler's back.
template <int kCount>
__device__ __forceinline__ void keep(float (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

#endif

}  // namespace styleforge::attention
