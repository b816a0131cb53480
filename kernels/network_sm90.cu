// The network's layers for Hopper (sm_90a): persistent blocks in which some warps load and
// normalise the next pixels while two warpgroups multiply these.
//
// The operation is that of network_sm80.cu: raw outputs in memory, norm, ReLU and residual on the
// way in. Here output channels are the rows of a product and pixels its columns, so that a thread
// holds many pixels of two channels: statistics need no other thread until the very end. Pixels
// lie in shared memory as [8-channel part][pixel][16 bytes]; a tap is a shift by whole pixels.
//
// In FP32, activations are FP32 in memory. Operands are then FP16, the 10 bits of TF32, or, for
// full precision, two FP16 each, of which three of the four products are taken: 22 bits.
#include "include/sm90/conv9x9_strip.cuh"
#include "include/sm90/mainloop.cuh"

namespace styleforge {

using Half = Mode<__half, __half, false>;
using Brain = Mode<__nv_bfloat16, __nv_bfloat16, false>;
using Single = Mode<float, __half, false>;  // TF32 allowed
using Exact = Mode<float, __half, true>;

//                         Cin  Cout  px  slice burst stages ring
template <typename M> struct Forms {
    using Down1 = Form<M, kDown, 32, 64, 128, 32, 9, 1, 2>;
    using Down2 = Form<M, kDown, 64, 128, 128, 32, 3, 8, 2>;
    using Same = Form<M, kSame, 128, 128, 128, 64, 3, 4, 4>;
    using SameLarge = Form<M, kSame, 128, 128, 256, 64, 1, 8, 3>;
    using Up1 = Form<M, kUp, 128, 64, 128, 64, 2, 5, 4>;
    using Up2 = Form<M, kUp, 64, 32, 256, 64, 6, 2, 2>;
    using First = Sweep<M, 128, 8, true>;
    using Last = Sweep<M, 136, 8, false>;
};
template <> struct Forms<Exact> {
    using M = Exact;
    using Down1 = Form<M, kDown, 32, 64, 128, 16, 3, 3, 2>;
    using Down2 = Form<M, kDown, 64, 128, 128, 16, 3, 4, 4>;
    using Same = Form<M, kSame, 128, 128, 128, 32, 1, 7, 6>;
    using SameLarge = Form<M, kSame, 128, 128, 256, 32, 1, 4, 4>;
    using Up1 = Form<M, kUp, 128, 64, 128, 32, 1, 6, 6>;
    using Up2 = Form<M, kUp, 64, 32, 128, 32, 1, 12, 4>;
    using First = Sweep<M, 64, 6, true>;
    using Last = Sweep<M, 72, 6, false>;
};

template <typename Arguments>
int start(void (*kernel)(Arguments), dim3 grid, int threads, int shared, cudaStream_t stream,
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

template <typename F>
int start_layer(const Layer& p, dim3 grid, cudaStream_t stream) {
    const auto started = [&](auto* kernel) {
        return start(kernel, grid, F::kThreads, F::kSharedBytes, stream, p);
    };
    if constexpr (F::kKind == kSame) {
        if (p.residual && p.activated) return started(convolve_tiles<F, true, true>);
        if (p.activated) return started(convolve_tiles<F, false, true>);
    } else if constexpr (F::kCin == 128) {
        if (p.residual) return started(convolve_tiles<F, true, false>);
    }
    if (p.residual || p.activated) return cudaErrorInvalidValue;  // no layer needs it
    return started(convolve_tiles<F, false, false>);
}

// 0: 32-64, stride 2; 1: 64-128, stride 2; 2 and 3: 128-128 with small and large tiles;
// 4: 128-64, enlarged; 5: 64-32, enlarged.
template <typename M>
int start_kind(int kind, const Layer& p, dim3 grid, cudaStream_t stream) {
    switch (kind) {
        case 0: return start_layer<typename Forms<M>::Down1>(p, grid, stream);
        case 1: return start_layer<typename Forms<M>::Down2>(p, grid, stream);
        case 2: return start_layer<typename Forms<M>::Same>(p, grid, stream);
        case 3: return start_layer<typename Forms<M>::SameLarge>(p, grid, stream);
        case 4: return start_layer<typename Forms<M>::Up1>(p, grid, stream);
        case 5: return start_layer<typename Forms<M>::Up2>(p, grid, stream);
    }
    return cudaErrorInvalidValue;
}

template <typename M>
int start_first(int bytes, const Ends& p, dim3 grid, cudaStream_t stream) {
    using W = typename Forms<M>::First;
    return bytes ? start(sweep_first<W, uint8_t>, grid, W::kThreads, W::kSharedBytes, stream, p)
                 : start(sweep_first<W, typename M::S>, grid, W::kThreads, W::kSharedBytes, stream, p);
}

template <typename M>
int start_last(int bytes, const Ends& p, dim3 grid, cudaStream_t stream) {
    using W = typename Forms<M>::Last;
    return bytes ? start(sweep_last<W, uint8_t>, grid, W::kThreads, W::kSharedBytes, stream, p)
                 : start(sweep_last<W, typename M::S>, grid, W::kThreads, W::kSharedBytes, stream, p);
}

template <typename Call>
int with_mode(int mode, Call call) {
    switch (mode) {
        case 0: return call(Half{});
        case 1: return call(Brain{});
        case 2: return call(Single{});
        case 3: return call(Exact{});
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge

using namespace styleforge;

// The launchers, called through their C names. `mode` is 0 for FP16, 1 for BF16, 2 for FP32 with
// TF32 allowed, 3 for FP32; `kind` chooses the layer, see start_kind; `blocks` is the number of
// persistent blocks for each of the samples. Each returns a cudaError_t.
extern "C" {

int styleforge_hopper_conv(int kind, int mode, const Layer* p, int blocks, int samples,
                           void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_kind<decltype(m)>(kind, *p, dim3(blocks, 1, samples),
                                       static_cast<cudaStream_t>(stream));
    });
}

int styleforge_hopper_first(int mode, int bytes, const Ends* p, int blocks, int samples,
                            void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_first<decltype(m)>(bytes, *p, dim3(blocks, 1, samples),
                                        static_cast<cudaStream_t>(stream));
    });
}

int styleforge_hopper_last(int mode, int bytes, const Ends* p, int blocks, int samples,
                           void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_last<decltype(m)>(bytes, *p, dim3(blocks, 1, samples),
                                       static_cast<cudaStream_t>(stream));
    });
}

}  // extern "C"
