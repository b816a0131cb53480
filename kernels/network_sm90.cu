// The network's layers for Hopper (sm_90a): persistent, warp-specialized blocks in which producer
// warps load and normalize the next pixels while two consumer warpgroups multiply.
//
// The operation is that of network_sm80.cu: raw outputs in memory, norm, ReLU and residual on the
// way in. Here output channels are the rows of a product and pixels its columns, so that a thread
// holds many pixels of two channels: statistics need no other thread until the very end. Pixels
// lie in shared memory as [8-channel part][pixel][16 bytes]; a tap is a shift by whole pixels.
//
// In FP32, activations are FP32 in memory. Operands are then FP16, which has the 10 bits of TF32,
// or, for full precision, the sum of two FP16 numbers.
#include "include/sm90/conv9x9_strip.cuh"
#include "include/sm90/mainloop.cuh"

#ifndef __CUDACC_RTC__  // NVRTC compiles kernels alone: what launches them runs on the host
#include "include/common/launch.cuh"

namespace styleforge::sm90 {

template <typename F>
int launch_conv(const ConvParams& p, dim3 grid, cudaStream_t stream) {
    const auto launched = [&](auto* kernel) {
        return launch_kernel(kernel, grid, F::kThreads, F::kSharedBytes, stream, p);
    };
    if constexpr (F::kKeepsActivated) {
        if (p.residual && p.activated) return launched(conv3x3_persistent<F, true, true>);
        if (p.activated) return launched(conv3x3_persistent<F, false, true>);
    } else if constexpr (F::kTakesResidual) {
        if (p.residual && !p.activated) return launched(conv3x3_persistent<F, true, false>);
    }
    if (p.residual || p.activated) return cudaErrorInvalidValue;  // no layer needs it
    return launched(conv3x3_persistent<F, false, false>);
}

template <typename M>
int launch_first(bool from_bytes, const EdgeConvParams& p, dim3 grid, cudaStream_t stream) {
    using W = typename TraitsFor<M>::First;
    const auto kernel =
        from_bytes ? first_layer_strips<W, uint8_t> : first_layer_strips<W, typename M::S>;
    return launch_kernel(kernel, grid, W::kThreads, W::kSharedBytes, stream, p);
}

template <typename M>
int launch_last(bool to_bytes, const EdgeConvParams& p, dim3 grid, cudaStream_t stream) {
    using W = typename TraitsFor<M>::Last;
    const auto kernel =
        to_bytes ? last_layer_strips<W, uint8_t> : last_layer_strips<W, typename M::S>;
    return launch_kernel(kernel, grid, W::kThreads, W::kSharedBytes, stream, p);
}

}  // namespace styleforge::sm90

using namespace styleforge::sm90;

// The launchers, called through their C names. `kind` is a ConvKind, `precision` a Precision; with
// `bytes`, frames are read or pictures written as uint8; `blocks` is the number of persistent
// blocks for each of the samples. Each returns a cudaError_t.
extern "C" {

int styleforge_sm90_conv(int kind, int precision, const ConvParams* p, int blocks, int samples,
                         void* stream) {
    return with_precision(precision, [&](auto policy) {
        return with_conv_traits<decltype(policy)>(kind, [&](auto traits) {
            return launch_conv<decltype(traits)>(*p, dim3(blocks, 1, samples),
                                                 static_cast<cudaStream_t>(stream));
        });
    });
}

int styleforge_sm90_first(int precision, int bytes, const EdgeConvParams* p, int blocks,
                          int samples, void* stream) {
    return with_precision(precision, [&](auto policy) {
        return launch_first<decltype(policy)>(bytes, *p, dim3(blocks, 1, samples),
                                              static_cast<cudaStream_t>(stream));
    });
}

int styleforge_sm90_last(int precision, int bytes, const EdgeConvParams* p, int blocks, int samples,
                         void* stream) {
    return with_precision(precision, [&](auto policy) {
        return launch_last<decltype(policy)>(bytes, *p, dim3(blocks, 1, samples),
                                             static_cast<cudaStream_t>(stream));
    });
}

}  // extern "C"

#endif  // __CUDACC_RTC__
