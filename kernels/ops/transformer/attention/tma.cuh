// Loads tiles with the tensor memory accelerator (sm_90): one thread requests a box of rows, and an
// mbarrier counts the arriving bytes. Elements outside the tensor arrive as zeros.
#pragma once

#include <stdint.h>
#include "include/common/ptx.cuh"
#include "shapes.h"

namespace styleforge::attention {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Loads the box of `map` whose first element is (column, row, head, sample).
__device__ __forceinline__ void tma_load(void* to, const TensorMap& map, int column, int row,
                                         int head, int sample, uint64_t* barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
        "[%1, {%2, %3, %4, %5}], [%6];" ::"r"(smem_address(to)),
        "l"(&map), "r"(column), "r"(row), "r"(head), "r"(sample), "r"(smem_address(barrier))
        : "memory");
}

__device__ __forceinline__ void tma_prefetch(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Makes initialized mbarriers visible to copies.
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

#endif

}  // namespace styleforge::attention
