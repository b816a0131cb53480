// A CUDA driver that divides a GPU of 132 multiprocessors in steps of 2, and counts the resources
// not destroyed. Its structs are those in cuda.h.
#include <cuda.h>
#include <string.h>

int stub_alive = 0;
unsigned stub_flags = 0;

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
    if (device != 0 || type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
    memset(resource, 0, sizeof *resource);
    resource->type = type;
    resource->sm.smCount = 132;
    return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned* groups,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned flags, unsigned count) {
    if (*groups != 1 || input->sm.smCount != 132 || !remaining) return CUDA_ERROR_INVALID_VALUE;
    stub_flags = flags;
    *result = *input;
    result->sm.smCount = (count + 1) / 2 * 2;
    if (count > 132) *groups = 0;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* description, CUdevResource* resources,
                                   unsigned count) {
    if (count != 1 || resources->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_VALUE;
    *description = (CUdevResourceDesc)1;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* context, CUdevResourceDesc description, CUdevice device,
                          unsigned flags) {
    if (description != (CUdevResourceDesc)1 || device || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *context = (CUgreenCtx)2;
    ++stub_alive;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx context, unsigned flags,
                                int priority) {
    if (context != (CUgreenCtx)2 || flags != CU_STREAM_NON_BLOCKING || priority)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = (CUstream)3;
    ++stub_alive;
    return CUDA_SUCCESS;
}

#undef cuStreamDestroy
CUresult cuStreamDestroy_v2(CUstream stream) {
    --stub_alive;
    return stream == (CUstream)3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxDestroy(CUgreenCtx context) {
    --stub_alive;
    return context == (CUgreenCtx)2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
