// The network's layers for sm_80 and up: convolutions that normalize and activate what they load,
// and write the statistics of what they store. With instance norm in between, a layer crosses
// memory once.
//
// A layer's output is stored raw, before its norm. The next layer applies norm, ReLU and residual
// while it loads a tile with its border into shared memory, once per element rather than once per
// tap; mma.sync multiplies from there. Activations are channels last.
#include "include/sm80/conv3x3.cuh"
#include "include/sm80/first_layer.cuh"
#include "include/sm80/last_layer.cuh"

#ifndef __CUDACC_RTC__  // NVRTC compiles kernels alone: what launches them runs on the host
#include "include/common/launch.cuh"

namespace styleforge::sm80 {

template <typename T, typename S>
int launch_conv(ConvParams p, int samples, cudaStream_t stream) {
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    p.tiling.copies = S::kUpsample ? 4 : 1;
    const dim3 grid(p.tiling.rows * p.tiling.columns, p.tiling.copies, samples);
    if constexpr (S::kTakesResidual)
        if (p.residual)
            return launch_kernel(conv3x3<T, S, true>, grid, S::kThreads, S::kSharedBytes, stream,
                                 p);
    if (p.residual) return cudaErrorInvalidValue;  // no layer needs it
    return launch_kernel(conv3x3<T, S, false>, grid, S::kThreads, S::kSharedBytes, stream, p);
}

template <typename T>
int launch_kind(int kind, const ConvParams& p, int samples, cudaStream_t stream) {
    return with_conv_traits(
        kind, [&](auto traits) { return launch_conv<T, decltype(traits)>(p, samples, stream); });
}

template <typename T>
int launch_first(bool from_bytes, FirstLayerParams p, int samples, cudaStream_t stream) {
    using S = FirstLayerTraits;
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW, p.tiling.copies = 1;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    const dim3 grid(p.tiling.rows * p.tiling.columns, 1, samples);
    return launch_kernel(from_bytes ? first_layer<T, uint8_t> : first_layer<T, T>, grid,
                         S::kThreads, S::kSharedBytes, stream, p);
}

template <typename T>
int launch_last(bool to_bytes, const LastLayerParams& p, int samples, cudaStream_t stream) {
    using S = LastLayerTraits;
    const dim3 grid((p.width + S::kTileW - 1) / S::kTileW, (p.height + S::kTileH - 1) / S::kTileH,
                    samples);
    return launch_kernel(to_bytes ? last_layer<T, uint8_t> : last_layer<T, T>, grid, S::kThreads,
                         S::kSharedBytes, stream, p);
}

}  // namespace styleforge::sm80

using namespace styleforge::sm80;

// The launchers, called through their C names. `dtype` is a Dtype, `kind` a ConvKind; with `bytes`,
// frames are read or pictures written as uint8. Each returns a cudaError_t.
extern "C" {

int styleforge_sm80_conv(int kind, int dtype, const ConvParams* p, int samples, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    return dtype == kBf16 ? launch_kind<__nv_bfloat16>(kind, *p, samples, s)
                          : launch_kind<__half>(kind, *p, samples, s);
}

int styleforge_sm80_first(int dtype, int bytes, const FirstLayerParams* p, int samples,
                          void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    return dtype == kBf16 ? launch_first<__nv_bfloat16>(bytes, *p, samples, s)
                          : launch_first<__half>(bytes, *p, samples, s);
}

int styleforge_sm80_last(int dtype, int bytes, const LastLayerParams* p, int samples,
                         void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    return dtype == kBf16 ? launch_last<__nv_bfloat16>(bytes, *p, samples, s)
                          : launch_last<__half>(bytes, *p, samples, s);
}

}  // extern "C"

#endif  // __CUDACC_RTC__
