// Shared parts of the batch-norm kernels: a channel's parameters, and how blocks walk tensors of
// [samples, channels, inner]: large planes in contiguous chunks, others in groups of elements, with
// a division each. A plane is one channel of one sample.
#pragma once

#include <type_traits>

#include "include/common/dtypes.cuh"
#include "ops/general/elementwise/functors.h"

namespace styleforge {
namespace fusion {

// y = (x - mean) * inverse * weight + bias.
struct Channel {
    float mean, inverse, weight, bias;

    __device__ __forceinline__ float normed(float x) const { return (x - mean) * inverse; }
    __device__ __forceinline__ float affine(float normed) const { return normed * weight + bias; }
};

// Terms of the gradient of x: `of_normed` is the mean of the gradients of the normed x,
// `of_product` the mean of their products with it.
struct ChannelGradient {
    Channel own;
    float of_product, of_normed;

    // Returns the gradient of an element of x from y's gradient.
    __device__ __forceinline__ float at(float grad, float x) const {
        const float normed = own.normed(x);
        const float through = elementwise::relu_gradient(grad, own.affine(normed));
        return (through * own.weight - (of_normed + normed * of_product)) * own.inverse;
    }
};

// The parameters of all channels, FP32 [channels].
struct Channels {
    const float *mean, *inverse, *weight, *bias;

    __device__ __forceinline__ Channel at(int c) const {
        return {mean[c], inverse[c], weight[c], bias[c]};
    }
};

// Calls `use(at, c, step)` for groups of kCount elements; element k of a group belongs to channel c
// + k * step. `inner` elements of a channel are contiguous.
template <int kCount, typename Use>
__device__ __forceinline__ void each_group(long long count, int channels, long long inner,
                                           const Use& use) {
    const long long first = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    const int step = inner == 1;
    for (long long i = first * kCount; i < count; i += 1ll * gridDim.x * blockDim.x * kCount) {
        const bool narrow = count <= 0x7fffffff;
        const int c = narrow ? static_cast<unsigned>(i) / static_cast<unsigned>(inner) %
                                   static_cast<unsigned>(channels)
                             : static_cast<int>(i / inner % channels);
        use(i, c, step);
    }
}

constexpr int kTogether = 4;  // loads of each tensor that a thread has in flight

// One of the `chunks` of a plane: a block's loads in flight, or fewer at the plane's end.
struct Chunk {
    int channel;
    long long begin, end;  // elements

    // Returns this block's chunk. Blocks begin with the last plane: the preceding pass read it
    // last, so that it is still in the L2 cache.
    template <int kCount>
    static __device__ __forceinline__ Chunk of_block(long long channels, long long inner,
                                                     long long chunks) {
        const unsigned block = gridDim.x - 1 - blockIdx.x;
        const unsigned plane = block / static_cast<unsigned>(chunks);
        const unsigned part = block % static_cast<unsigned>(chunks);
        const unsigned sample = plane / static_cast<unsigned>(channels);
        const long long length = 1ll * kTogether * blockDim.x * kCount, at = part * length;
        const long long end = at + length < inner ? at + length : inner;
        return {static_cast<int>(plane - sample * channels), plane * inner + at,
                plane * inner + end};
    }
};

// Calls `use(own, at, values)` for groups of kCount elements of the chunk. values[i] belongs to
// tensor i. `own` is `of` of the chunk's channel, read after the values because it is needed later.
template <int kCount, int kTensors, typename T, typename Of, typename Use>
__device__ __forceinline__ void each_of(const Chunk& chunk, const T* const (&from)[kTensors],
                                        const Of& of, const Use& use) {
    const int step = blockDim.x * kCount;
    const long long first = chunk.begin + threadIdx.x * kCount;
    if (first >= chunk.end) return;
    AlignedVector<T, kCount> given[kTogether][kTensors];
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
        // Beyond the end, the first elements are read again, so that no load is conditional.
        const long long at = first + u * step, read = at < chunk.end ? at : first;
#pragma unroll
        for (int i = 0; i < kTensors; ++i)
            given[u][i] = *reinterpret_cast<const AlignedVector<T, kCount>*>(from[i] + read);
    }
    const auto own = of(chunk.channel);
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
        if (first + u * step >= chunk.end) break;
        float values[kTensors][kCount];
#pragma unroll
        for (int i = 0; i < kTensors; ++i) widen(values[i], given[u][i]);
        // Mask to a multiple of kCount; otherwise the compiler would store 4 bytes at a time.
        use(own, (first + u * step) & -1ll * kCount, values);
    }
}

constexpr int kAhead = 8;  // loads in flight per thread, over all tensors, when channels are summed

// The planes of one channel, in chunks of `chunk` loads, at most kAhead / kTensors per lane. A warp
// processes one at a time, and all warps of all blocks go from the first sample to the last.
struct Planes {
    long long samples, channels, inner, chunk;
    int channel;
    long long split, splits;  // among the blocks that share the channel

    // Calls `use(values, exists)` for groups of kCount elements; values[i] belongs to tensor i. If
    // `exists` is false, the values must not be summed. The loads are unconditional, because the
    // compiler would move loads behind a branch to their use.
    template <int kCount, int kTensors, typename T, typename Use>
    __device__ __forceinline__ void each(const T* const (&from)[kTensors], const Use& use) const {
        constexpr int kLoads = kAhead / kTensors;
        using Vector = AlignedVector<T, kCount>;
        const unsigned row = static_cast<unsigned>(inner / kCount);  // loads per plane
        const unsigned length = static_cast<unsigned>(chunk), chunks = (row + length - 1) / length;
        const unsigned count = static_cast<unsigned>(samples) * chunks, warps = blockDim.x / 32;
        const unsigned lane = threadIdx.x % 32;
        for (unsigned at = static_cast<unsigned>(split) * warps + threadIdx.x / 32; at < count;
             at += static_cast<unsigned>(splits) * warps) {
            const unsigned sample = at / chunks, begin = (at - sample * chunks) * length;
            const unsigned size = begin + length < row ? length : row - begin;
            const long long first = (sample * channels + channel) * inner + 1ll * begin * kCount;
            const auto take = [&](auto whole) {
                constexpr bool kWhole = decltype(whole)::value;
                Vector given[kLoads][kTensors];
#pragma unroll
                for (int u = 0; u < kLoads; ++u) {
                    const unsigned i = kWhole || lane + 32 * u < size ? lane + 32 * u : 0;
#pragma unroll
                    for (int t = 0; t < kTensors; ++t)
                        given[u][t] =
                            *reinterpret_cast<const Vector*>(from[t] + first + i * kCount);
                }
#pragma unroll
                for (int u = 0; u < kLoads; ++u) {
                    float values[kTensors][kCount];
#pragma unroll
                    for (int t = 0; t < kTensors; ++t) widen(values[t], given[u][t]);
                    use(values, kWhole || lane + 32 * u < size);
                }
            };
            if (size == 32 * kLoads)
                take(std::true_type{});
            else
                take(std::false_type{});
        }
    }
};

}  // namespace fusion
}  // namespace styleforge
