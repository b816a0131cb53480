// Copies to shared memory that a thread asks for and goes on (cp.async, sm_80 and up). Where there are
// none they happen at once.
#pragma once

namespace styleforge {

// 16 bytes, aligned.
__device__ __forceinline__ void copy_ahead(uint4* to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
#else
    *to = *static_cast<const uint4*>(from);
#endif
}

// Ends a group of the thread's copies, also where it has none.
__device__ __forceinline__ void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until the thread's copies are there but for those of its last kPending groups.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace styleforge
