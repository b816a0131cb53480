// A CUDA runtime that launches nothing and writes down each launch it is asked for, in the form of
// launch_record.h. nvcc links it in place of its own.
#include <cuda_runtime_api.h>

#include "launch_record.h"

static struct {
    const void* host;
    const char* name;
    int shared_bytes;
} kernels[MOST_KERNELS];
static int kernel_count;

static int find(const void* host) {
    for (int i = 0; i < kernel_count; ++i)
        if (kernels[i].host == host) return i;
    return -1;
}

// The name in an image of the kernel that the host code knows by this address.
const char* stub_name(const void* host) {
    const int i = find(host);
    return i < 0 ? "" : kernels[i].name;
}

// What the host code that nvcc generates calls.

void** __cudaRegisterFatBinary(void* binary) {
    static void* handle;
    (void)binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void** handle) { (void)handle; }

char __cudaInitModule(void** handle) {
    (void)handle;
    return 1;
}

void __cudaUnregisterFatBinary(void** handle) { (void)handle; }

void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name,
                            int threads, void* thread, void* block, void* block_size, void* grid,
                            int* warp_size) {
    (void)handle, (void)device, (void)threads, (void)thread, (void)block, (void)block_size;
    (void)grid, (void)warp_size;
    if (kernel_count == MOST_KERNELS) return;
    kernels[kernel_count].host = host;
    kernels[kernel_count++].name = strdup(name);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
    *kernel = (cudaKernel_t)host;
    return cudaSuccess;
}

// What the launchers call.

cudaError_t cudaFuncSetAttribute(const void* host, enum cudaFuncAttribute attribute, int value) {
    const int i = find(host);
    if (i < 0 || attribute != cudaFuncAttributeMaxDynamicSharedMemorySize)
        return cudaErrorInvalidDeviceFunction;
    kernels[i].shared_bytes = value;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void) { return cudaSuccess; }

static cudaError_t launch(const cudaLaunchConfig_t* config, const void* host, void** args) {
    const int i = find(host);
    if (i < 0) return cudaErrorInvalidDeviceFunction;
    const dim3 grid = config->gridDim, block = config->blockDim;
    const unsigned sizes[] = {grid.x,  grid.y,  grid.z,
                              block.x, block.y, block.z, (unsigned)config->dynamicSmemBytes};
    begin_launch(kernels[i].name, sizes, kernels[i].shared_bytes, config->stream);
    for (unsigned k = 0; k < config->numAttrs; ++k)
        record_attribute(config->attrs[k].id, &config->attrs[k].val);
    end_launch(kernels[i].name, args);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* host, void** args) {
    return launch(config, host, args);
}

// kernel<<<...>>>(...) leaves its configuration here, and the kernel's own stub takes it.
static cudaLaunchConfig_t pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* s) {
    memset(&pushed, 0, sizeof pushed);
    pushed.gridDim = grid, pushed.blockDim = block, pushed.dynamicSmemBytes = shared;
    pushed.stream = s;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
    *grid = pushed.gridDim, *block = pushed.blockDim, *shared = pushed.dynamicSmemBytes;
    *(void**)stream = pushed.stream;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t shared,
                             cudaStream_t stream) {
    const cudaLaunchConfig_t config = {grid, block, shared, stream, 0, 0};
    return launch(&config, host, args);
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** args,
                               size_t shared, cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}
