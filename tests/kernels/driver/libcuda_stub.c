// A CUDA driver that launches nothing and records each requested launch in the format of
// launch_record.h. An image is the text "image"; it contains any kernel except "missing".
#include <cuda.h>

#include "launch_record.h"

int stub_version = 12000;  // the reported version, for tests to change

static struct {
    const char* name;
    int shared_bytes;
    int carveout;
} kernels[MOST_KERNELS];
static size_t kernel_count;

int stub_without_context = 0;  // set by tests: launches need a context first
static __thread CUcontext current;

CUresult cuDriverGetVersion(int* version) {
    *version = stub_version;
    return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option* jit, void** values,
                           unsigned jit_count, CUlibraryOption* options, void** option_values,
                           unsigned option_count) {
    (void)jit, (void)values, (void)options, (void)option_values;
    if (jit_count || option_count) return CUDA_ERROR_INVALID_VALUE;
    if (strcmp(code, "image")) return CUDA_ERROR_INVALID_IMAGE;
    *library = (CUlibrary)1;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    if (library != (CUlibrary)1 || kernel_count == MOST_KERNELS) return CUDA_ERROR_INVALID_HANDLE;
    if (!strcmp(name, "missing")) return CUDA_ERROR_NOT_FOUND;
    kernels[kernel_count].name = strdup(name);
    *kernel = (CUkernel)++kernel_count;
    return CUDA_SUCCESS;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT && value <= 100) {
        kernels[(size_t)kernel - 1].carveout = value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (value > 232448) return CUDA_ERROR_INVALID_VALUE;
    kernels[(size_t)kernel - 1].shared_bytes = value;
    return CUDA_SUCCESS;
}

// A kernel with "spill" in its name spills 16 bytes per thread.
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
    if (device || attribute != CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
    *value = strstr(kernels[(size_t)kernel - 1].name, "spill") ? 16 : 0;
    return CUDA_SUCCESS;
}

// The map stores the values it was encoded from, so that a launch's record shows them. CUDA's own
// rules apply.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill outside) {
    cuuint64_t words[16] = {(size_t)address, type | rank << 8 | swizzle << 16 | promotion << 24};
    if (rank != 4 || interleave || outside || (size_t)map % 64 || (size_t)address % 16)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < rank; ++i) {
        if (!sizes[i] || !box[i] || box[i] > 256 || steps[i] != 1) return CUDA_ERROR_INVALID_VALUE;
        words[2 + i] = sizes[i], words[6 + i] = box[i];
        if (i == 0) continue;
        if (strides[i - 1] % 16) return CUDA_ERROR_INVALID_VALUE;
        words[9 + i] = strides[i - 1];
    }
    memcpy(map, words, sizeof words);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (device) return CUDA_ERROR_INVALID_DEVICE;
    *context = (CUcontext)1;
    return CUDA_SUCCESS;
}

int stub_contexts_set = 0;

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = current;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    current = context;
    ++stub_contexts_set;
    return CUDA_SUCCESS;
}

// Returns the carveout that a kernel prefers, in percent; 0 if unset.
int stub_carveout(CUkernel kernel) { return kernels[(size_t)kernel - 1].carveout; }

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** args,
                          void** extra) {
    const size_t i = (size_t)kernel - 1;
    if (stub_without_context && !current) return CUDA_ERROR_INVALID_CONTEXT;
    if (i >= kernel_count || extra) return CUDA_ERROR_INVALID_VALUE;
    const unsigned sizes[] = {config->gridDimX,  config->gridDimY,  config->gridDimZ,
                              config->blockDimX, config->blockDimY, config->blockDimZ,
                              config->sharedMemBytes};
    begin_launch(kernels[i].name, sizes, kernels[i].shared_bytes, config->hStream);
    for (unsigned k = 0; k < config->numAttrs; ++k)
        record_attribute(config->attrs[k].id, &config->attrs[k].value);
    end_launch(kernels[i].name, args);
    return CUDA_SUCCESS;
}
