// wgmma (sm_90a): acc[64 x N] += a[64 x 16] b[16 x N] for the N that the layers use, both operands
// in shared memory, accumulated in FP32. A warp holds 16 rows as N / 8 accumulator fragments of
// mma.m16n8k16 side by side.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

#include "include/sm90/accumulators.cuh"

namespace styleforge::sm90 {

// A matrix in shared memory as 8x8 core matrices of 128 contiguous bytes, without swizzling.
// `along_k` and `along_rows` are the strides in bytes between core matrices.
__device__ __forceinline__ uint64_t make_smem_descriptor(uint32_t address, int along_k,
                                                         int along_rows) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) |
           static_cast<uint64_t>(along_k >> 4) << 16 |
           static_cast<uint64_t>(along_rows >> 4) << 32;
}

// Rows of 128 bytes, swizzled in groups of eight rows: the 16 bytes at address a are stored at a ^
// (a >> 7 & 7) << 4. A matrix may begin at any row.
__device__ __forceinline__ uint64_t make_swizzled_descriptor(uint32_t address, int along_rows) {
    return static_cast<uint64_t>((address & 0x3FFFF) >> 4) | 1ull << 16 |
           static_cast<uint64_t>(along_rows >> 4) << 32 | 1ull << 62;
}

// Makes writes by ordinary stores and cp.async to shared memory visible to wgmma.
__device__ __forceinline__ void fence_proxy_async() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

__device__ __forceinline__ void wgmma_fence() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wgmma_commit() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
#endif
}

template <typename T, int kBlockN>
struct Wgmma;

// `columns` is N, `count` the number of accumulators, and `next` the one after it: operands of an
// instruction are numbered, accumulators first.
#define STYLEFORGE_WGMMA(Type, name, columns, count, next)                                        \
    template <>                                                                                   \
    struct Wgmma<Type, columns> {                                                                 \
        static __device__ __forceinline__ void mma(float (&acc)[count], uint64_t a, uint64_t b) { \
            STYLEFORGE_SM90A("wgmma.mma_async.sync.aligned.m64n" #columns "k16.f32." name "." name \
                             " {" STYLEFORGE_WGMMA_PLACES_##count "}, %" #count ", %" #next       \
                             ", 1, 1, 1, 0, 0;"                                                   \
                             : STYLEFORGE_WGMMA_ACC_##count                                       \
                             : "l"(a), "l"(b));                                                   \
        }                                                                                         \
    };
#define STYLEFORGE_WGMMA_HALVES(columns, count, next)       \
    STYLEFORGE_WGMMA(__half, "f16", columns, count, next)   \
    STYLEFORGE_WGMMA(__nv_bfloat16, "bf16", columns, count, next)

STYLEFORGE_WGMMA_HALVES(64, 32, 33)
STYLEFORGE_WGMMA_HALVES(72, 36, 37)
STYLEFORGE_WGMMA_HALVES(128, 64, 65)
STYLEFORGE_WGMMA_HALVES(136, 68, 69)
STYLEFORGE_WGMMA_HALVES(256, 128, 129)

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// One step of kStepsK x 16 channels; with split operands, the three significant products. If b is
// swizzled, its channels are contiguous.
template <typename M, int kBlockN, int kStepsK, bool kSwizzled = false>
__device__ __forceinline__ void wgmma_step(float (&acc)[kBlockN / 2], uint32_t a, int a_along_k,
                                           uint32_t b, int b_along_k, int b_along_columns) {
    const auto product = [&](int i, int j) {
        Wgmma<typename M::O, kBlockN>::mma(
            acc, make_smem_descriptor(a + i * 2 * a_along_k, a_along_k, 128),
            kSwizzled ? make_swizzled_descriptor(b + j * 32, b_along_columns)
                      : make_smem_descriptor(b + j * 2 * b_along_k, b_along_k, b_along_columns));
    };
#pragma unroll
    for (int k = 0; k < kStepsK; ++k) {
        product(k, k);
        if constexpr (M::kSplit) product(k, k + kStepsK), product(k + kStepsK, k);
    }
}

#endif

}  // namespace styleforge::sm90
