// Products of a whole warpgroup (sm_90a): both operands are read from shared memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace styleforge {

// A matrix in shared memory as 8x8 core matrices of 128 contiguous bytes, without swizzling:
// `along_k` and `along_rows` are the bytes from one to the next.
__device__ __forceinline__ uint64_t matrix_at(uint32_t address, int along_k, int along_rows) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) |
           static_cast<uint64_t>(along_k >> 4) << 16 |
           static_cast<uint64_t>(along_rows >> 4) << 32;
}

// What ordinary stores and cp.async wrote becomes visible to the tensor cores.
__device__ __forceinline__ void publish_to_tensor_cores() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ __forceinline__ void begin_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void commit_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <int kPending>
__device__ __forceinline__ void wait_for_products() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace styleforge
