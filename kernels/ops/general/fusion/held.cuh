// Blocks that hold a normalization group in shared memory, so that it is read once. The blocks of a
// team share a slab. Each holds its part until all have published what the statistics follow from.
// All blocks must be resident at once, so the launch is cooperative.
#pragma once

#include "include/common/copy_ahead.cuh"
#include "include/common/dtypes.cuh"
#include "include/common/team.cuh"
#include "partial.cuh"
#include "slabs.h"

namespace styleforge {
namespace fusion {

constexpr int kHeldWarps = 16, kHeldThreads = 32 * kHeldWarps;
// A thread waits for its loads of a part in this many groups and sums one group while the others
// arrive.
constexpr unsigned kHeldGroups = 4;
// Maximum pieces of planes over all warps: HELD_PIECES in held.py.
constexpr int kHeldPieces = 80;

__device__ __forceinline__ uint4* held_part() {
#ifdef __CUDA_ARCH__
    extern __shared__ __align__(16) unsigned char part[];
    return reinterpret_cast<uint4*>(part);
#else
    static uint4 part[1 << 13];  // for the host, which has no dynamic shared memory
    return part;
#endif
}

// A block's shared memory besides its part.
struct HeldShared {
    Partial of_warps[kHeldWarps], of_pieces[kHeldPieces], of_slab;
};

// Shared parts of forward and backward. A warp's loads are the same for every slab, and contiguous.
template <typename T, bool kGroups, int kTensors>
struct Held {
    static constexpr int kCount = kVectorSize<T>, kBlocksAtOnce = 8;
    const StyleforgeSlabs& p;
    HeldShared& shared;
    unsigned warp, lane, block;    // `block` is its number in the team
    unsigned first, last;          // this block's loads of a slab
    unsigned each, begin, end;     // loads per warp, and this warp's
    unsigned own, teams;           // the team's first slab, and the stride to its next

    __device__ __forceinline__ Held(const StyleforgeSlabs& given, HeldShared& of_block)
        : p(given), shared(of_block), warp(threadIdx.x / 32), lane(threadIdx.x % 32) {
        const unsigned all = p.planes * p.row;
        block = blockIdx.x % p.team;
        first = min(block * p.part, all), last = min(first + p.part, all);
        each = (p.part + kHeldWarps - 1) / kHeldWarps;
        begin = min(first + warp * each, last), end = min(begin + each, last);
        own = blockIdx.x / p.team, teams = gridDim.x / p.team;
    }

    // Returns the index, among all planes, of a slab's plane.
    __device__ __forceinline__ unsigned plane_of(unsigned slab, unsigned plane) const {
        return kGroups ? slab * p.planes + plane : plane * p.channels + slab;
    }
    __device__ __forceinline__ unsigned channel_of(unsigned slab, unsigned plane) const {
        return kGroups ? plane_of(slab, plane) % p.channels : slab;
    }
    __device__ __forceinline__ unsigned first_plane() const {
        return min(begin / p.row, p.planes - 1);
    }
    static __device__ __forceinline__ float elements(unsigned loads) {
        return static_cast<float>(loads * kCount);
    }
    __device__ __forceinline__ float of_block(unsigned other) const {
        const unsigned all = p.planes * p.row;
        return elements(min(p.part, all - min(other * p.part, all)));
    }
    __device__ __forceinline__ float of_warp(unsigned other) const {
        return elements(min(each, last - min(first + other * each, last)));
    }

    // Calls `use(plane, at, local, size)` for the warp's share of each plane: `size` loads from
    // load `at` of the plane, which begin at `local` in the block's part.
    template <typename Use>
    __device__ __forceinline__ void each_plane(const Use& use) const {
        for (unsigned at = begin; at < end;) {
            const unsigned plane = at / p.row, in_plane = at - plane * p.row;
            const unsigned size = min(p.row - in_plane, end - at);
            use(plane, in_plane, at - first, size);
            at += size;
        }
    }

    // Steps of a warp, one load per thread, in a group; the last group may have fewer.
    __device__ __forceinline__ unsigned of_group() const {
        return max(1u, (each + 32 * kHeldGroups - 1) / (32 * kHeldGroups));
    }
    // Starts the copies of a slab's part.
    __device__ __forceinline__ void fetch(unsigned slab) const {
        uint4* const to = held_part();
        const uint4* const from[2] = {static_cast<const uint4*>(p.x),
                                      static_cast<const uint4*>(p.grad)};
        unsigned steps = 0, groups = 0;
        each_plane([&](unsigned plane, unsigned at, unsigned local, unsigned size) {
            const size_t begins = size_t(plane_of(slab, plane)) * p.row + at;
            for (unsigned step = 0; step < size; step += 32) {
                if (const unsigned i = step + lane; i < size)
#pragma unroll
                    for (int t = 0; t < kTensors; ++t)
                        copy_ahead(to + t * p.part + local + i, from[t] + begins + i);
                if (++steps == of_group() && groups < kHeldGroups - 1)
                    end_copies(), ++groups, steps = 0;
            }
        });
        for (; groups < kHeldGroups; ++groups) end_copies();
    }
    // Waits for the first `groups` of kHeldGroups groups.
    static __device__ __forceinline__ void wait_for_groups(unsigned groups) {
        if (groups == 1)
            wait_for_copies<kHeldGroups - 1>();
        else if (groups == 2)
            wait_for_copies<kHeldGroups - 2>();
        else if (groups == 3)
            wait_for_copies<kHeldGroups - 3>();
        else
            wait_for_copies<0>();
    }

    // The elements that a thread processes at once.
    using Values = float[kTensors][kCount];
    __device__ __forceinline__ void values_at(unsigned local, Values& values) const {
#pragma unroll
        for (int t = 0; t < kTensors; ++t)
            load<kCount>(values[t], reinterpret_cast<const T*>(held_part() + t * p.part + local));
    }

    // Calls `use(values)` for the warp's loads as they arrive, between begin_plane(plane) and
    // end_plane(plane, size); `size` is the warp's share of the plane.
    template <typename Begin, typename Use, typename End>
    __device__ __forceinline__ void each_arriving(const Begin& begin_plane, const Use& use,
                                                  const End& end_plane) const {
        unsigned steps = 0, groups = 0;
        each_plane([&](unsigned plane, unsigned, unsigned local, unsigned size) {
            begin_plane(plane);
            for (unsigned step = 0; step < size; step += 32) {
                if (steps == 0 && groups < kHeldGroups) wait_for_groups(++groups);
                if (++steps == of_group() && groups < kHeldGroups) steps = 0;
                if (const unsigned i = step + lane; i < size) {
                    Values values;
                    values_at(local + i, values);
                    use(values);
                }
            }
            end_plane(plane, size);
        });
    }
    __device__ __forceinline__ void keep(unsigned plane, float one, float two) const {
        if (lane == 0) shared.of_pieces[warp + plane - first / p.row] = {one, two};
    }
    // Sum of the warps' saved values for a plane.
    __device__ __forceinline__ Partial kept_of(unsigned plane) const {
        const unsigned from = max(plane * p.row, first), to = min((plane + 1) * p.row, last);
        Partial sums{0, 0};
        for (unsigned w = (from - first) / each; w <= (to - 1 - first) / each; ++w) {
            const Partial piece = shared.of_pieces[w + plane - first / p.row];
            sums.first += piece.first, sums.second += piece.second;
        }
        return sums;
    }
    // Sum of the blocks' published values for a plane.
    __device__ __forceinline__ Partial published_of(unsigned slab, unsigned plane) const {
        constexpr int kAtOnce = 4;
        const unsigned from = plane * p.row / p.part, to = ((plane + 1) * p.row - 1) / p.part;
        Partial sums{0, 0};
        for (unsigned b = from; b <= to; b += kAtOnce) {
            Partial found[kAtOnce];
            Partial::await(found, of_planes(slab) + b + plane, 1, to + 1 - b);
#pragma unroll
            for (int i = 0; i < kAtOnce; ++i)
                sums.first += found[i].first, sums.second += found[i].second;
        }
        return sums;
    }
    __device__ __forceinline__ Partial* of_planes(unsigned slab) const {
        return static_cast<Partial*>(p.of_planes) + size_t(slab) * (p.team + p.planes);
    }
    __device__ __forceinline__ Partial* of_blocks(unsigned slab) const {
        return static_cast<Partial*>(p.of_blocks) + size_t(slab) * p.team;
    }
    // Calls `use(found, block)` with what blocks published for a slab; each lane gets every 32nd
    // block, starting at `block`.
    template <typename Use>
    __device__ __forceinline__ void each_block(unsigned slab, const Use& use) const {
        for (unsigned from = 0; from < p.team; from += 32 * kBlocksAtOnce) {
            const unsigned b = from + lane;
            Partial found[kBlocksAtOnce];
            const int count = b < p.team ? (p.team - b + 31) / 32 : 0;
            Partial::await(found, of_blocks(slab) + b, 32, count);
            use(found, b);
        }
    }

    // Calls `use(at)` for a slab's planes that begin in this block; `at` counts all planes.
    template <typename Use>
    __device__ __forceinline__ void each_first(unsigned slab, const Use& use) const {
        for (unsigned plane = (first + p.row - 1) / p.row + lane; plane * p.row < last; plane += 32)
            use(plane_of(slab, plane));
    }

    // Processes the team's slabs one after another. `ready` starts reading a slab's parameters;
    // `sum` saves each warp's sums; `of_part` combines them into the pair that the block publishes;
    // `finish` combines all blocks' pairs into the input of `apply`, which writes the part. For
    // groups, `finish_plane` writes the results of a plane's sums.
    template <typename Steps>
    __device__ __forceinline__ void run(Steps& steps) const {
        if (own % p.phases > 0) {
            // While one team waits, another then has the memory bandwidth to itself.
            if (Partial found[1]; threadIdx.x == 0) Partial::await(found, of_blocks(own - 1), 1, 1);
            __syncthreads();
        }
        for (unsigned slab = own; slab < p.slabs; slab += teams) {
            fetch(slab);
            steps.ready(slab);
            steps.sum(slab);
            __syncthreads();
            if (warp == 0) {
                const Partial found = steps.of_part();
                if (lane == 0) found.publish(of_blocks(slab) + block);
                steps.finish(slab);
            } else if (kGroups && warp == 1 && last > first) {
                for (unsigned plane = first / p.row + lane; plane * p.row < last; plane += 32)
                    kept_of(plane).publish(of_planes(slab) + block + plane);
            }
            __syncthreads();
            steps.apply(slab);
        }
        if constexpr (kGroups) {
            __syncthreads();
            const unsigned from = (first + p.row - 1) / p.row, to = (last + p.row - 1) / p.row;
            const unsigned turns = (p.slabs - own + teams - 1) / teams;
            for (unsigned i = threadIdx.x; i < turns * (to - from); i += blockDim.x) {
                const unsigned turn = i / (to - from), plane = from + i - turn * (to - from);
                const unsigned slab = own + turn * teams;
                steps.finish_plane(slab, plane, published_of(slab, plane));
            }
        }
    }
};

}  // namespace fusion
}  // namespace styleforge
