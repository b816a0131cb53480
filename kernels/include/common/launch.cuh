// Launches a kernel with dynamic shared memory and programmatic dependent launch.
#pragma once

#include <cuda_runtime.h>

namespace styleforge {

// Returns a cudaError_t. `shared_bytes` may exceed the 48 KB that a kernel has by default.
template <typename Params>
int launch_kernel(void (*kernel)(Params), dim3 grid, int threads, int shared_bytes,
                  cudaStream_t stream, const Params& params) {
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute pdl = {};
    pdl.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    pdl.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid, config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream, config.attrs = &pdl, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, params);
}

}  // namespace styleforge
