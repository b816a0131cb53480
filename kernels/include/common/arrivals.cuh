// Blocks of a cooperative launch that wait for one another, by a count in memory. A count is left as it
// was found but for its upper half, so that the next launch needs no other; two launches that may run at
// once need two.
#pragma once

namespace styleforge {

constexpr unsigned kGeneration = 0x10000;  // by which the last to arrive raises a count

// Says that what this thread wrote, and saw written, may be read, as one of `members` below 2^16; what
// wait_for_all takes.
__device__ __forceinline__ unsigned arrive(unsigned* count, unsigned members) {
    unsigned found;
#ifdef __CUDA_ARCH__
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                 : "=r"(found)
                 : "l"(__cvta_generic_to_global(count))
                 : "memory");
#else
    found = __atomic_fetch_add(count, 1u, __ATOMIC_ACQ_REL);
#endif
    if (found % kGeneration + 1 == members) {
#ifdef __CUDA_ARCH__
        asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(
                         __cvta_generic_to_global(count)),
                     "r"(kGeneration - members)
                     : "memory");
#else
        __atomic_fetch_add(count, kGeneration - members, __ATOMIC_RELEASE);
#endif
    }
    return found / kGeneration;
}

// Waits until all have arrived. What they wrote is then read past the first-level cache.
__device__ __forceinline__ void wait_for_all(const unsigned* count, unsigned arrived) {
    for (;;) {
        unsigned found;
#ifdef __CUDA_ARCH__
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(found)
                     : "l"(__cvta_generic_to_global(count))
                     : "memory");
#else
        found = __atomic_load_n(count, __ATOMIC_ACQUIRE);
#endif
        if (found / kGeneration != arrived) return;
        __nanosleep(20);
    }
}

}  // namespace styleforge
