// A grid-wide barrier that counts blocks in global memory. All blocks must be resident at once, so
// the launch is cooperative.
#pragma once

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Signals that this block has arrived, after its own writes and all writes that it has observed.
__device__ __forceinline__ void arrive_release(unsigned* count) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

// Waits until `blocks` blocks have arrived. Loads that bypass the L1 cache can then read their
// writes.
__device__ __forceinline__ void wait_acquire(const unsigned* count, unsigned blocks) {
    unsigned arrived;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(count) : "memory");
    while (arrived < blocks);
}

#endif

}  // namespace styleforge::sm90
