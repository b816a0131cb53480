// Primitives for warp-specialized blocks (sm_90a): mbarriers in shared memory, bulk copies that
// complete on them, the state of a ring of stages, and register reallocation between warps.
#pragma once

#include <stdint.h>
#include "include/common/ptx.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// An mbarrier completes phase after phase; a wait names the parity of the phase number.
__device__ __forceinline__ void mbarrier_init(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_address(barrier)),
                 "r"(arrivals));
}

__device__ __forceinline__ void mbarrier_arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem_address(barrier))
                 : "memory");
}

// One arrival per warp, by its first thread. compute-sanitizer's racecheck considers only the
// threads that arrive, so for it every thread arrives.
#ifdef STYLEFORGE_RACECHECK
constexpr int kArrivals = 32;
#else
constexpr int kArrivals = 1;
#endif

__device__ __forceinline__ void mbarrier_arrive_warp(uint64_t* barrier) {
    if (kArrivals == 32 || threadIdx.x % 32 == 0) mbarrier_arrive(barrier);
}

// Arrives. The phase completes once `bytes` bytes have been copied as well.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(uint64_t* barrier, int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_address(barrier)),
        "r"(bytes)
        : "memory");
}

__device__ __forceinline__ void mbarrier_wait_parity(uint64_t* barrier, int parity) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}" ::"r"(smem_address(barrier)),
        "r"(parity)
        : "memory");
}

// Copies `bytes`, a multiple of 16, from global to shared memory and signals `barrier`.
__device__ __forceinline__ void cp_async_bulk(void* to, const void* from, int bytes,
                                              uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(smem_address(to)),
        "l"(from), "r"(bytes), "r"(smem_address(barrier))
        : "memory");
}

template <int kRegisters>
__device__ __forceinline__ void warpgroup_reg_alloc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void warpgroup_reg_dealloc() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

#endif

// The current stage of a ring of kSize stages, and the parity of the current round.
template <int kSize>
struct PipelineState {
    int index = 0, phase = 0;
    __device__ __forceinline__ void next() {
        if (++index == kSize) index = 0, phase ^= 1;
    }
    __device__ __forceinline__ void skip(int steps) {
        phase ^= (index + steps) / kSize % 2;
        index = (index + steps) % kSize;
    }
};

}  // namespace styleforge::sm90
