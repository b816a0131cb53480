// Operands of wgmma (sm_90a): in shared memory in TMA's layout, with rows swizzled by their number,
// and in registers.
#pragma once

#include <stdint.h>

namespace styleforge::attention {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Returns the descriptor of a matrix of swizzled rows in shared memory. `along_columns` is the
// stride from one box to the next, used if the columns are a product's columns.
template <typename Shape>
__device__ __forceinline__ uint64_t descriptor(uint32_t address, int along_columns) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) |
           static_cast<uint64_t>(along_columns >> 4) << 16 |
           static_cast<uint64_t>(Shape::kEightRows >> 4) << 32 | Shape::kSwizzle << 62;
}

// Pins values in registers where wgmma reads or writes them without the compiler's knowledge.
template <int kCount>
__device__ __forceinline__ void keep(float (&values)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

#endif

}  // namespace styleforge::attention
