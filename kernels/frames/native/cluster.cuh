// The blocks of a cluster (sm_90 and up), which write to one another's shared memory. Older
// architectures compile these functions, but never call them.
#pragma once

#ifdef __CUDACC__

namespace styleforge {

__device__ __forceinline__ int cluster_rank() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return static_cast<int>(rank);
}

// Waits for all threads of all blocks of the cluster, whose writes are then visible.
__device__ __forceinline__ void cluster_sync() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
}

// Writes a word to the place in block `rank` that `at` has in this block.
__device__ __forceinline__ void store_in_block(int rank, void* at, unsigned word) {
#if __CUDA_ARCH__ >= 900
    const auto own = static_cast<unsigned>(__cvta_generic_to_shared(at));
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own), "r"(rank));
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there), "r"(word) : "memory");
#endif
}

// Sums a number over the warp.
__device__ __forceinline__ unsigned sum_of_warp(unsigned value) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, value);
#else
    return value;
#endif
}

}  // namespace styleforge

#endif
