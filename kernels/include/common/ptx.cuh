// Tensor-core building blocks: asynchronous copies, matrix loads and products. On sm_75, copies are
// immediate, and products are half as deep and FP16 only. Kernels for BF16 compile there but are
// never launched; see kernels/network/dispatch.py.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace styleforge {

__device__ __forceinline__ uint32_t smem_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Loads 16 bytes from global memory, bypassing the L1 cache. The compiler does not move the load,
// so the code between it and the first use of its result hides its latency.
__device__ __forceinline__ uint4 load_16B(const void* from) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

// Stores 16 bytes to shared memory.
__device__ __forceinline__ void store_shared_16B(uint32_t to, const uint4& v) {
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

// Copies 16 bytes from global to shared memory, bypassing the L1 cache. The copy completes when the
// thread waits for it, or immediately before sm_80. Either way, the destination must be free.
__device__ __forceinline__ void cp_async_16B(uint32_t to, const void* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from)
                 : "memory");
#else
    store_shared_16B(to, load_16B(from));
#endif
}

__device__ __forceinline__ void cp_async_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;");
#endif
}

template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

// Loads four 8x8 matrices of 16-bit elements. Lane l passes the address of row l % 8 of matrix l /
// 8.
__device__ __forceinline__ void ldmatrix_x4(uint32_t (&to)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

// acc[16x8] += a[16x16] b[16x8], accumulated in FP32.
template <typename T>
__device__ __forceinline__ void mma_m16n8k16(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1);

template <>
__device__ __forceinline__ void mma_m16n8k16<__half>(float (&acc)[4], const uint32_t (&a)[4],
                                                     uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
    const auto multiply = [&](uint32_t upper, uint32_t lower, uint32_t b) {
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
            "{%0,%1,%2,%3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(upper), "r"(lower), "r"(b));
    };
    multiply(a[0], a[1], b0);  // the first eight of the depth, then the last
    multiply(a[2], a[3], b1);
#endif
}

template <>
__device__ __forceinline__ void mma_m16n8k16<__nv_bfloat16>(float (&acc)[4], const uint32_t (&a)[4],
                                                            uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

template <typename T>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<__half> = true;

// acc[16x8] += a[16x16] b[16x8] + c[16x16] d[16x8]. The 32 products are summed in FP16 and then
// added to `acc` in FP32.
__device__ __forceinline__ void mma_m16n8k32_fp16_sums(float (&acc)[4], const uint32_t (&a)[4],
                                                       uint32_t b0, uint32_t b1,
                                                       const uint32_t (&c)[4], uint32_t d0,
                                                       uint32_t d1) {
    uint32_t sum[2] = {};
#if __CUDA_ARCH__ >= 800
    const auto multiply = [&](const uint32_t(&x)[4], uint32_t y0, uint32_t y1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, "
            "{%0,%1};"
            : "+r"(sum[0]), "+r"(sum[1])
            : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y0), "r"(y1));
    };
    multiply(a, b0, b1);
    multiply(c, d0, d1);
#else
    const auto multiply = [&](uint32_t upper, uint32_t lower, uint32_t y) {
        asm("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
            : "+r"(sum[0]), "+r"(sum[1])
            : "r"(upper), "r"(lower), "r"(y));
    };
    multiply(a[0], a[1], b0);
    multiply(a[2], a[3], b1);
    multiply(c[0], c[1], d0);
    multiply(c[2], c[3], d1);
#endif
    const float2 upper = __half22float2(reinterpret_cast<const __half2&>(sum[0]));
    const float2 lower = __half22float2(reinterpret_cast<const __half2&>(sum[1]));
    acc[0] += upper.x, acc[1] += upper.y, acc[2] += lower.x, acc[3] += lower.y;
}

// acc[16x8] += a[16x32] b[32x8] for 8-bit integers. `a` is signed if kSigned, otherwise unsigned;
// `b` is signed.
template <bool kSigned>
__device__ __forceinline__ void mma_m16n8k32_integers(int (&acc)[4], const uint32_t (&a)[4],
                                                      uint32_t b0, uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    if constexpr (kSigned)
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+r"(acc[0]), "+r"(acc[1]), "+r"(acc[2]), "+r"(acc[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

}  // namespace styleforge
