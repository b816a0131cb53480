// What the kernels of a batch norm share: a channel's parameters, and how blocks walk tensors of
// [samples, channels, inner]: by chunks of planes, which lie one after another, where these are large,
// and in groups of elements, with a division each, elsewhere.
#pragma once

#include "../common/dtypes.cuh"

namespace styleforge {
namespace fusion {

// y = (x - mean) * inverse * weight + bias.
struct Channel {
    float mean, inverse, weight, bias;

    __device__ __forceinline__ float normed(float x) const { return (x - mean) * inverse; }
    __device__ __forceinline__ float affine(float normed) const { return normed * weight + bias; }
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

// One of the `chunks` of a plane, which is what a channel has of a sample: what a block loads at once,
// or less at the plane's end.
struct Chunk {
    int channel;
    long long split;       // of all chunks of the channel
    long long begin, end;  // elements

    // That of this block. Blocks begin with the first plane or, `backward`, with the last: a pass that
    // follows one over the same tensors then finds in the L2 cache what that one read last.
    template <int kCount>
    static __device__ __forceinline__ Chunk of_block(long long channels, long long inner,
                                                     long long chunks, bool backward) {
        const unsigned block = backward ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
        const unsigned plane = block / static_cast<unsigned>(chunks);
        const unsigned part = block % static_cast<unsigned>(chunks);
        const unsigned sample = plane / static_cast<unsigned>(channels);
        const long long length = 1ll * kTogether * blockDim.x * kCount, at = part * length;
        const long long end = at + length < inner ? at + length : inner;
        return {static_cast<int>(plane - sample * channels), sample * chunks + part,
                plane * inner + at, plane * inner + end};
    }
};

// `use(at, values)` for groups of kCount elements of the chunk: values[i] are those of tensor i.
template <int kCount, int kTensors, typename T, typename Use>
__device__ __forceinline__ void each_of(const Chunk& chunk, const T* const (&from)[kTensors],
                                        const Use& use) {
    const int step = blockDim.x * kCount;
    for (long long first = chunk.begin + threadIdx.x * kCount; first < chunk.end;
         first += kTogether * step) {
        AlignedVector<T, kCount> given[kTogether][kTensors];
#pragma unroll
        for (int u = 0; u < kTogether; ++u) {
            // Beyond the end the first is read again, so that no load is conditional.
            const long long at = first + u * step, read = at < chunk.end ? at : first;
#pragma unroll
            for (int i = 0; i < kTensors; ++i)
                given[u][i] = *reinterpret_cast<const AlignedVector<T, kCount>*>(from[i] + read);
        }
#pragma unroll
        for (int u = 0; u < kTogether; ++u) {
            if (first + u * step >= chunk.end) break;
            float values[kTensors][kCount];
#pragma unroll
            for (int i = 0; i < kTensors; ++i) widen(values[i], given[u][i]);
            // A multiple of kCount, or else the compiler would store 4 bytes at a time.
            use((first + u * step) & -1ll * kCount, values);
        }
    }
}

}  // namespace fusion
}  // namespace styleforge
