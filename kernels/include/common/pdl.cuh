// Programmatic dependent launch (sm_90 and up): the blocks of the next kernel start, and load their
// weights, before this kernel has ended. On older architectures both functions do nothing.
#pragma once

namespace styleforge {

// Waits until the previous kernel has ended and its writes are visible.
__device__ __forceinline__ void pdl_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel start as soon as every block of this one has called it.
__device__ __forceinline__ void pdl_launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

}  // namespace styleforge
