// Named barriers, which synchronize a subset of a block's threads, and the table of their numbers.
#pragma once

namespace styleforge::sm90 {

// __syncthreads uses barrier 0. A + marks one barrier per consumer warpgroup.
constexpr int kConsumerBarrier = 1;    // both consumer warpgroups, while statistics are merged
constexpr int kStagingBarrier = 2;     // + the staging area has been written, or read
constexpr int kProducerBarrier = 4;    // pixel producers: the table of offsets is ready
constexpr int kNormReadyBarrier = 5;   // consumers have computed the input's norm
constexpr int kMmaTurnBarrier = 6;     // + ping-pong: the other warpgroup has issued its products
constexpr int kPatchReadyBarrier = 8;  // joined layers: all pixels of the patch are in place
constexpr int kPatchDoneBarrier = 9;   // joined layers: only the second warpgroup reads it now
constexpr int kLayerDoneBarrier = 10;  // joined layers: the first warpgroup has stored its part

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Waits until `kThreads` of the block's threads have arrived at barrier `number`.
template <int kThreads>
__device__ __forceinline__ void named_barrier_sync(int number) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

// Arrives without waiting.
template <int kThreads>
__device__ __forceinline__ void named_barrier_arrive(int number) {
    asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

// Synchronizes like named_barrier_sync and returns whether `mine` is true in any of the threads.
template <int kThreads>
__device__ __forceinline__ bool named_barrier_any(int number, bool mine) {
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

#endif

}  // namespace styleforge::sm90
