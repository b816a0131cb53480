// A batch norm whose statistics are the batch's, and its gradient, with one pass over memory: what is
// read stays in shared memory until all blocks that have a part of its channel have told each other
// their sums.
#pragma once

#include "../common/arrivals.cuh"
#include "../common/async_copy.cuh"
#include "../common/dtypes.cuh"
#include "../common/team.cuh"
#include "../elementwise/functors.h"
#include "channels.cuh"

namespace styleforge {
namespace fusion {

// THREADS and STAGES in kernels/ops/fusions/joined_channels.py say the same. Of two blocks on a
// multiprocessor one works while the other waits.
constexpr int kJoinedThreads = 512, kJoinedStages = 3, kJoinedBlocks = 2;

// What both kernels are called with; [samples, channels, inner] in whole vectors. A channel is cut into
// `members` parts of `length` vectors, the last of what is left. Blocks take the parts of all channels
// in turn, no block two of a channel, since there are at least as many blocks as members.
struct JoinedChannels {
    const void *x, *grad;  // no grad forward
    float *mean, *inverse;  // written forward, read backward
    const float *weight, *bias;
    float* sums;      // backward: the gradients of weight and bias, [2, channels]
    void* to;         // what is computed
    float* partial;   // [channels, members, 2]
    unsigned* counts; // [channels]
    long long samples, channels, inner;
    unsigned length, members;
    int slots;  // vectors of a part and a tensor that a thread holds
    float eps;
};

// The work of a block, which is always at three parts: of one it writes the results, of the next it
// computes the sums, and that behind is being copied.
template <typename T, bool kForward>
struct JoinedBlock {
    static constexpr int kCount = kVectorSize<T>, kTensors = kForward ? 1 : 2;
    const JoinedChannels& p;
    uint4* const stages;  // [kJoinedStages, slots, kTensors, kJoinedThreads]
    float (&found)[2][2];
    const Team team;
    const unsigned row, vectors, parts;  // of a plane, of a channel, of all channels

    __device__ __forceinline__ JoinedBlock(const JoinedChannels& p, unsigned char* shared,
                                           float* of_warps, float (&found)[2][2])
        : p(p),
          stages(reinterpret_cast<uint4*>(shared)),
          found(found),
          team{kJoinedThreads, static_cast<int>(threadIdx.x), of_warps},
          row(static_cast<unsigned>(p.inner / kCount)),
          vectors(static_cast<unsigned>(p.samples) * row),
          parts(static_cast<unsigned>(p.channels) * p.members) {}

    __device__ __forceinline__ unsigned begin_of(unsigned part) const {
        return part % p.members * p.length;
    }
    __device__ __forceinline__ unsigned size_of(unsigned part) const {
        const unsigned left = vectors - begin_of(part);
        return left < p.length ? left : p.length;
    }
    __device__ __forceinline__ uint4* at(int stage, int slot, int tensor) const {
        return stages + ((stage * p.slots + slot) * kTensors + tensor) * kJoinedThreads +
               threadIdx.x;
    }
    // `use(slot, i)` for the vectors of this thread; i counts those of the channel.
    template <typename Use>
    __device__ __forceinline__ void each(unsigned part, const Use& use) const {
        const unsigned begin = begin_of(part), size = size_of(part);
#pragma unroll 4
        for (int slot = 0; slot < p.slots; ++slot) {
            const unsigned i = slot * kJoinedThreads + threadIdx.x;
            if (i < size) use(slot, begin + i);
        }
    }
    __device__ __forceinline__ long long address(unsigned channel, unsigned i) const {
        const unsigned sample = i / row;
        return (1ll * sample * p.channels + channel) * p.inner + 1ll * (i - sample * row) * kCount;
    }
    __device__ __forceinline__ void read(float (&v)[kCount], int stage, int slot,
                                         int tensor) const {
        load<kCount>(v, reinterpret_cast<const T*>(at(stage, slot, tensor)));
    }

    // Has the part copied to its stage.
    __device__ __forceinline__ void begin(unsigned part, int stage) const {
        if (part < parts) {
            const unsigned channel = part / p.members;
            each(part, [&](int slot, unsigned i) {
                const long long from = address(channel, i);
                copy_async(at(stage, slot, 0), static_cast<const T*>(p.x) + from);
                if constexpr (!kForward)
                    copy_async(at(stage, slot, 1), static_cast<const T*>(p.grad) + from);
            });
        }
        end_copies();
    }
    // What the part's channel is normed by; of any where there is none. Forward, where it is not known,
    // its first element in place of the mean: so a large mean takes no digits of the squares.
    __device__ __forceinline__ Channel channel_of(unsigned part) const {
        const unsigned c = (part < parts ? part : 0) / p.members;
        if constexpr (kForward)
            return {to_float(static_cast<const T*>(p.x)[c * p.inner]), 1.f, p.weight[c], p.bias[c]};
        return {p.mean[c], p.inverse[c], p.weight[c], p.bias[c]};
    }
    // Tells the channel's other blocks the sums of the part: of the gradients of weight and bias or,
    // forward, of squares of elements and of these. What their wait takes, to the first thread.
    __device__ __forceinline__ unsigned tell(unsigned part, int stage, const Channel& own) const {
        float sums[2] = {};
        each(part, [&](int slot, unsigned) {
            float v[kCount], g[kCount];
            read(v, stage, slot, 0);
            if constexpr (!kForward) read(g, stage, slot, 1);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float normed = own.normed(v[k]);
                if constexpr (kForward) g[k] = normed;
                else g[k] = elementwise::relu_gradient(g[k], own.affine(normed));
                sums[0] += g[k] * normed;
                sums[1] += g[k];
            }
        });
        team.sum(sums);
        if (threadIdx.x != 0) return 0;
        p.partial[2 * part] = sums[0], p.partial[2 * part + 1] = sums[1];
        return arrive(p.counts + part / p.members, p.members);
    }
    // What all blocks told of the part's channel: its mean and the reciprocal of its deviation, or the
    // means of both gradients. All threads of the block have it.
    __device__ __forceinline__ const float (&merged(unsigned part, unsigned arrived,
                                                    const Channel& own, int turn) const)[2] {
        const unsigned channel = part / p.members;
        if (threadIdx.x < 32) {
            if (threadIdx.x == 0) wait_for_all(p.counts + channel, arrived);
            __syncwarp();
            const float* const told = p.partial + 2 * (channel * p.members);
            constexpr int kTogether = 9;  // loads, none of which waits for another
            float sums[2] = {};
            for (unsigned first = threadIdx.x; first < p.members; first += 32 * kTogether) {
                float each[kTogether][2];
#pragma unroll
                for (int u = 0; u < kTogether; ++u) {
                    const unsigned i = first + 32 * u;
#pragma unroll
                    for (int k = 0; k < 2; ++k)
                        each[u][k] = i < p.members ? __ldcg(told + 2 * i + k) : 0.f;
                }
#pragma unroll
                for (int u = 0; u < kTogether; ++u) sums[0] += each[u][0], sums[1] += each[u][1];
            }
            Team{32, static_cast<int>(threadIdx.x), nullptr}.sum(sums);
            const bool tells = threadIdx.x == 0 && part == channel * p.members;
            const float share = 1.f / (static_cast<float>(vectors) * kCount);
            if constexpr (kForward) {
                const float beside = sums[1] * share, spread = sums[0] * share - beside * beside;
                sums[0] = own.mean + beside;
                sums[1] = rsqrtf((spread < 0 ? 0 : spread) + p.eps);
                if (tells) p.mean[channel] = sums[0], p.inverse[channel] = sums[1];
            } else {
                if (tells) p.sums[channel] = sums[0], p.sums[p.channels + channel] = sums[1];
                sums[0] *= share, sums[1] *= share;
            }
            if (threadIdx.x == 0) found[turn][0] = sums[0], found[turn][1] = sums[1];
        }
        __syncthreads();
        return found[turn];
    }
    __device__ __forceinline__ void write(unsigned part, int stage, Channel own,
                                          const float (&of)[2]) const {
        const unsigned channel = part / p.members;
        const float first = of[0], second = of[1];
        if constexpr (kForward) own.mean = first, own.inverse = second;
        each(part, [&](int slot, unsigned i) {
            float v[kCount], g[kCount];
            read(v, stage, slot, 0);
            if constexpr (!kForward) read(g, stage, slot, 1);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float normed = own.normed(v[k]), z = own.affine(normed);
                if constexpr (kForward) {
                    v[k] = elementwise::relu(z);
                } else {
                    const float through = elementwise::relu_gradient(g[k], z);
                    v[k] = (through - (second + normed * first)) * (own.inverse * own.weight);
                }
            }
            store<kCount>(static_cast<T*>(p.to) + address(channel, i), v);
        });
    }

    __device__ __forceinline__ void run() const {
        const unsigned step = gridDim.x;
        unsigned part = blockIdx.x;
        for (int stage = 0; stage < kJoinedStages; ++stage) begin(part + stage * step, stage);
        Channel own = channel_of(part), next = channel_of(part + step);
        wait_for_copies<kJoinedStages - 1>();
        unsigned arrived = tell(part, 0, own);
        for (int stage = 0, turn = 0; part < parts; part += step, turn ^= 1) {
            const int following = stage + 1 < kJoinedStages ? stage + 1 : 0;
            const Channel behind = channel_of(part + 2 * step);
            // Known before the next part has come, for which a block waits longest.
            const float(&of)[2] = merged(part, arrived, own, turn);
            wait_for_copies<kJoinedStages - 2>();
            if (part + step < parts) arrived = tell(part + step, following, next);
            write(part, stage, own, of);
            begin(part + kJoinedStages * step, stage);
            own = next, next = behind, stage = following;
        }
        wait_for_copies<0>();
    }
};

}  // namespace fusion
}  // namespace styleforge
