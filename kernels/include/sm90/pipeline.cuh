// What lets warps of one block work on different things at once (sm_90a): barriers in shared
// memory, bulk copies that arrive at them, registers that move between warps.
#pragma once

#include <stdint.h>

#include "../common/ptx.cuh"

namespace styleforge {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Barriers complete phase after phase; `parity` is that of the phase's number.
__device__ __forceinline__ void begin_barrier(uint64_t* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(arrivals));
}

__device__ __forceinline__ void arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier))
                 : "memory");
}

// Every warp arrives once, when all of it has: its first thread does, for all of them. Racecheck
// takes account of no threads but those that arrive, so for it every thread does.
#ifdef STYLEFORGE_RACECHECK
constexpr int kArrivals = 32;
#else
constexpr int kArrivals = 1;
#endif

__device__ __forceinline__ void arrive_as_warp(uint64_t* barrier) {
    if (kArrivals == 32 || threadIdx.x % 32 == 0) arrive(barrier);
}

// Arrives too; the phase then ends when that many bytes have been copied.
__device__ __forceinline__ void expect_bytes(uint64_t* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void wait_for(uint64_t* barrier, int parity) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

// `bytes`, a multiple of 16, from global to shared memory; they arrive at `barrier`.
__device__ __forceinline__ void copy_bulk(void* to, const void* from, int bytes,
                                          uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(shared_address(barrier))
        : "memory");
}

// A barrier of `kThreads` of the block's threads; 0 is that of __syncthreads.
template <int kThreads>
__device__ __forceinline__ void meet(int number) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

// Those that arrive do not wait for those that meet.
template <int kThreads>
__device__ __forceinline__ void arrive_to_meet(int number) {
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

// Whether `mine` is true for any of the threads that meet.
template <int kThreads>
__device__ __forceinline__ bool meet_any(int number, bool mine) {
    int any;
    asm volatile(
        "{.reg .pred mine, any;\n"
        "setp.ne.s32 mine, %3, 0;\n"
        "bar.red.or.pred any, %1, %2, mine;\n"
        "selp.s32 %0, 1, 0, any;}"
        : "=r"(any)
        : "r"(number), "n"(kThreads), "r"(static_cast<int>(mine))
        : "memory");
    return any;
}

template <int kRegisters>
__device__ __forceinline__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ __forceinline__ void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Four 8x8 matrices of 16-bit elements, each stored on its side; lane l gives the address of row
// l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices_aside(uint32_t to, uint32_t a, uint32_t b,
                                                     uint32_t c, uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

#endif

// A place in a ring of kSize buffers, and the parity of the round it is in.
template <int kSize>
struct Turn {
    int at = 0, parity = 0;
    __device__ __forceinline__ void next() {
        if (++at == kSize) at = 0, parity ^= 1;
    }
    __device__ __forceinline__ void skip(int steps) {
        parity ^= (at + steps) / kSize % 2;
        at = (at + steps) % kSize;
    }
};

}  // namespace styleforge
