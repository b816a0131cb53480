// A barrier of all blocks of a launch, by a count in memory. All of them have to run at once: the
// launch is a cooperative one.
#pragma once

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Says that this block is done, and that everything is written which it saw written so far.
__device__ __forceinline__ void arrive_release(unsigned* count) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

// Waits until `blocks` blocks have said so; what they wrote can then be read past the first-level
// cache.
__device__ __forceinline__ void wait_acquire(const unsigned* count, unsigned blocks) {
    unsigned arrived;
    do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(arrived) : "l"(count) : "memory");
    while (arrived < blocks);
}

#endif

}  // namespace styleforge::sm90
