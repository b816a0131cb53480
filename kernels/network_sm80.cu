// Convolutions that normalise and activate what they load, and leave the statistics of what they
// store: with instance norm in between, a layer crosses memory once.
//
// A layer's output is stored raw, before its norm. The layer above applies norm, ReLU and residual
// while it loads a tile with its border into shared memory, once per element rather than once per
// tap; the products are taken by the tensor cores from there. Activations are channels last.
#include "include/sm80/first_layer.cuh"
#include "include/sm80/last_layer.cuh"
#include "include/sm80/conv3x3.cuh"

namespace styleforge {

//                     Cin Cout  k  s  up     tile   warps  slice stages
using Down1 = Shape<32, 64, 3, 2, false, 8, 16, 4, 2, 32, 4>;
using Down2 = Shape<64, 128, 3, 2, false, 8, 16, 2, 4, 64, 3>;
using Same = Shape<128, 128, 3, 1, false, 8, 16, 2, 4, 64, 3>;
using SameWide = Shape<128, 128, 3, 1, false, 8, 16, 2, 2, 64, 3>;
// For GPUs with 99 KB of shared memory for a block.
using Down2Small = Shape<64, 128, 3, 2, false, 8, 8, 2, 4, 32, 4>;
using SameSmall = Shape<128, 128, 3, 1, false, 8, 16, 2, 4, 32, 4>;
static_assert(Down2Small::kSharedBytes < 94000 && SameSmall::kSharedBytes < 94000);
using Up1 = Shape<128, 64, 2, 1, true, 8, 16, 4, 2, 64, 3>;
using Up2 = Shape<64, 32, 2, 1, true, 8, 16, 4, 1, 64, 3>;

template <typename Arguments>
int launch(void (*kernel)(Arguments), dim3 grid, int threads, int shared, cudaStream_t stream,
           const Arguments& arguments) {
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = shared;
    config.stream = stream, config.attrs = &early, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments);
}

template <typename T, typename S>
int launch_conv(Conv p, int samples, cudaStream_t stream) {
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    p.tiling.copies = S::kUpsample ? 4 : 1;
    const dim3 grid(p.tiling.rows * p.tiling.columns, p.tiling.copies, samples);
    if constexpr (S::kCin == 128)
        if (p.residual)
            return launch(convolve<T, S, true>, grid, S::kThreads, S::kSharedBytes, stream, p);
    return launch(convolve<T, S, false>, grid, S::kThreads, S::kSharedBytes, stream, p);
}

// 0: 32-64, stride 2; 1: 64-128, stride 2; 2 and 5: 128-128, for small and large pictures;
// 3: 128-64, enlarged; 4: 64-32, enlarged; 6 and 7: as 1 and 2, with less shared memory.
template <typename T>
int launch_kind(int kind, const Conv& p, int samples, cudaStream_t stream) {
    switch (kind) {
        case 0: return launch_conv<T, Down1>(p, samples, stream);
        case 1: return launch_conv<T, Down2>(p, samples, stream);
        case 2: return launch_conv<T, Same>(p, samples, stream);
        case 3: return launch_conv<T, Up1>(p, samples, stream);
        case 4: return launch_conv<T, Up2>(p, samples, stream);
        case 5: return launch_conv<T, SameWide>(p, samples, stream);
        case 6: return launch_conv<T, Down2Small>(p, samples, stream);
        case 7: return launch_conv<T, SameSmall>(p, samples, stream);
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge

using namespace styleforge;

// The launchers, called through their C names. `dtype` is 0 for FP16, 1 for BF16; `kind` chooses
// the layer, see launch_kind. Each returns a cudaError_t.
extern "C" {

int styleforge_conv(int kind, int dtype, const Conv* p, int samples, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    return dtype ? launch_kind<__nv_bfloat16>(kind, *p, samples, s)
                 : launch_kind<__half>(kind, *p, samples, s);
}

int styleforge_conv_first(int dtype, int from_bytes, const First* q, int samples, void* stream) {
    using S = FirstShape;
    First p = *q;
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW, p.tiling.copies = 1;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    const dim3 grid(p.tiling.rows * p.tiling.columns, 1, samples);
    const auto s = static_cast<cudaStream_t>(stream);
    const auto go = [&](auto* kernel) {
        return launch(kernel, grid, S::kThreads, S::kSharedBytes, s, p);
    };
    if (dtype)
        return from_bytes ? go(convolve_first<__nv_bfloat16, uint8_t>)
                          : go(convolve_first<__nv_bfloat16, __nv_bfloat16>);
    return from_bytes ? go(convolve_first<__half, uint8_t>) : go(convolve_first<__half, __half>);
}

int styleforge_conv_last(int dtype, int to_bytes, const Last* p, int samples, void* stream) {
    using S = LastShape;
    const dim3 grid((p->width + S::kTileW - 1) / S::kTileW, (p->height + S::kTileH - 1) / S::kTileH,
                    samples);
    const auto s = static_cast<cudaStream_t>(stream);
    const auto go = [&](auto* kernel) {
        return launch(kernel, grid, S::kThreads, S::kSharedBytes, s, *p);
    };
    if (dtype)
        return to_bytes ? go(convolve_last<__nv_bfloat16, uint8_t>)
                        : go(convolve_last<__nv_bfloat16, __nv_bfloat16>);
    return to_bytes ? go(convolve_last<__half, uint8_t>) : go(convolve_last<__half, __half>);
}

}  // extern "C"
