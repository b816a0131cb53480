// What the kernels of a batch norm share: a channel's parameters, and how blocks walk tensors of
// [samples, channels, inner]: by chunks of planes, which lie one after another, where these are large,
// and in groups of elements, with a division each, elsewhere. A plane is what a channel has of a
// sample.
#pragma once

#include <type_traits>

#include "../common/dtypes.cuh"
#include "../elementwise/functors.h"

namespace styleforge {
namespace fusion {

// y = (x - mean) * inverse * weight + bias.
struct Channel {
    float mean, inverse, weight, bias;

    __device__ __forceinline__ float normed(float x) const { return (x - mean) * inverse; }
    __device__ __forceinline__ float affine(float normed) const { return normed * weight + bias; }
};

// What gradients of x follow from: means of gradients of the normed x, and of these times it, too.
struct ChannelGradient {
    Channel own;
    float of_product, of_normed;

    // Of an element, by that of y.
    __device__ __forceinline__ float at(float grad, float x) const {
        const float normed = own.normed(x);
        const float through = elementwise::relu_gradient(grad, own.affine(normed));
        return (through * own.weight - (of_normed + normed * of_product)) * own.inverse;
    }
};

// Those of all channels, FP32 [channels].
struct Channels {
    const float *mean, *inverse, *weight, *bias;

    __device__ __forceinline__ Channel at(int c) const {
        return {mean[c], inverse[c], weight[c], bias[c]};
    }
};

// `use(at, c, step)` for groups of kCount elements; element k of one is of channel c + k * step.
// `inner` elements of a channel lie together.
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

constexpr int kTogether = 4;  // loads of each tensor that a thread waits for at once

// One of the `chunks` of a plane: what a block loads at once, or less at the plane's end.
struct Chunk {
    int channel;
    long long begin, end;  // elements

    // That of this block. Blocks begin with the last plane: what was read last before, by the pass
    // that summed channels, is then still in the L2 cache.
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

// `use(own, at, values)` for groups of kCount elements of the chunk: values[i] are those of tensor
// i, and `own` is what `of` gives for its channel, which is read after them: it is needed later.
template <int kCount, int kTensors, typename T, typename Of, typename Use>
__device__ __forceinline__ void each_of(const Chunk& chunk, const T* const (&from)[kTensors],
                                        const Of& of, const Use& use) {
    const int step = blockDim.x * kCount;
    const long long first = chunk.begin + threadIdx.x * kCount;
    if (first >= chunk.end) return;
    AlignedVector<T, kCount> given[kTogether][kTensors];
#pragma unroll
    for (int u = 0; u < kTogether; ++u) {
        // Beyond the end the first is read again, so that no load is conditional.
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
        // A multiple of kCount, or else the compiler would store 4 bytes at a time.
        use(own, (first + u * step) & -1ll * kCount, values);
    }
}

constexpr int kAhead = 8;  // loads of a thread under way where channels are summed, of all tensors

// The planes of one channel, in chunks of `chunk` loads, kAhead / kTensors for each lane at most. A
// warp takes one at a time, and all warps of all blocks go from the first sample to the last.
struct Planes {
    long long samples, channels, inner, chunk;
    int channel;
    long long split, splits;  // of the blocks that share the channel

    // `use(values, exists)` for groups of kCount elements: values[i] are those of tensor i, or what
    // is not to be summed: behind a branch, the compiler would load each where it is used.
    template <int kCount, int kTensors, typename T, typename Use>
    __device__ __forceinline__ void each(const T* const (&from)[kTensors], const Use& use) const {
        constexpr int kLoads = kAhead / kTensors;
        using Vector = AlignedVector<T, kCount>;
        const unsigned row = static_cast<unsigned>(inner / kCount);  // loads of a plane
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
