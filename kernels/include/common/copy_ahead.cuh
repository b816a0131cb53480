// Asynchronous copies to shared memory (cp.async, sm_80 and up). Older architectures copy
// immediately.
#pragma once

namespace styleforge {

// Copies 16 aligned bytes.
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

// Commits the thread's copies as a group, which may be empty.
__device__ __forceinline__ void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until all but the thread's last kPending groups have arrived.
template <int kPending>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace styleforge
