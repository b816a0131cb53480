// Copies of 16 bytes to shared memory that a thread does not wait for until it has to. GPUs before
// sm_80, and a CPU, copy at once.
#pragma once

namespace styleforge {

__device__ __forceinline__ void copy_async(uint4* to, const void* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
#else
    *to = *static_cast<const uint4*>(from);
#endif
}

// Ends a group of copies of this thread, which may be empty.
__device__ __forceinline__ void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits for all groups of copies of this thread but the last kPending.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace styleforge
