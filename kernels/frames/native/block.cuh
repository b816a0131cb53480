// The blocks that measure a scene's motion: the team for the functions of motion.h.
#pragma once

#include "cluster.cuh"
#include "frames.h"
#include "team.cuh"

namespace styleforge {

// Publishes the state of this frame to other blocks. The thread that wrote it calls this.
__device__ __forceinline__ void publish_state(TextureState& state) {
    __threadfence();
    *static_cast<volatile int*>(&state.placed) = 1;
}

// Waits for `publish_state` in a block that started earlier.
__device__ __forceinline__ void wait_for_state(const TextureState& state) {
    if (threadIdx.x == 0)
        while (*static_cast<const volatile int*>(&state.placed) == 0) {
        }
    __syncthreads();
    __threadfence();
}

// Halves two pairs of adjacent pixels of two rows; bytes 0 and 2 have the results.
__device__ __forceinline__ unsigned halved_pairs(unsigned above, unsigned below) {
    constexpr unsigned kEven = 0x00ff00ff;
    const unsigned sum = (above & kEven) + (above >> 8 & kEven) + (below & kEven) +
                         (below >> 8 & kEven) + 0x00020002;
    return sum >> 2 & kEven;
}

// The threads of kBlocks blocks: of a cluster if they are several.
template <int kBlocks>
struct Blocks;

template <>
struct Blocks<1> : Threads<kTeam> {
    static constexpr int block = 0, blocks = 1;
    static constexpr int kParts = 4;  // of the rows of a shift, each for one thread

    // Sums the values that `add(row, column, values)` adds for each pixel, independently of timing,
    // for every thread. One warp sums all warps' partial sums of one value, since reading all of
    // them in each thread would take longer than the pixels do.
    template <int kNumber, typename Add>
    __device__ void sum(int rows, int columns, float (&values)[kNumber], const Add& add) const {
        constexpr int kWarps = kTeam / 32;
        static_assert(kNumber <= kWarps && kWarps <= 32 && !(kWarps & (kWarps - 1)));
        __shared__ float sums[kNumber][kWarps], totals[kNumber];
        each_pixel(*this, rows, columns, [&](int row, int column) { add(row, column, values); });
        const int warp = rank / 32, lane = rank & 31;
#pragma unroll
        for (int i = 0; i < kNumber; ++i)
            for (int lanes = 16; lanes > 0; lanes /= 2)
                values[i] += __shfl_down_sync(~0u, values[i], lanes);
        if (lane == 0)
#pragma unroll
            for (int i = 0; i < kNumber; ++i) sums[i][warp] = values[i];
        __syncthreads();  // all have also read the previous totals
        if (warp < kNumber) {
            float total = lane < kWarps ? sums[warp][lane] : 0;
            for (int lanes = kWarps / 2; lanes > 0; lanes /= 2)
                total += __shfl_down_sync(~0u, total, lanes);
            if (lane == 0) totals[warp] = total;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < kNumber; ++i) values[i] = totals[i];
    }

    __device__ void add(unsigned& sum, unsigned value) const { atomicAdd(&sum, value); }
    __device__ void least(unsigned& least, unsigned value) const { atomicMin(&least, value); }
    __device__ unsigned least_of_all(unsigned own) const { return own; }
    __device__ void sync_all() const { __syncthreads(); }
    __device__ void publish(TextureState& state) const { publish_state(state); }
};

template <int kBlocks>
struct Blocks : Threads<kTeam> {
    static constexpr int blocks = kBlocks;
    static constexpr int kParts = 32;  // so that a warp adds to one sum
    int block;
    mutable int turn = 0;  // the totals that the last sum used

    // Does the same over the cluster. Each block sends its sums to all blocks, and every thread adds
    // them in the same order.
    template <int kNumber, typename Add>
    __device__ void sum(int rows, int columns, float (&values)[kNumber], const Add& add) const {
        constexpr int kWarps = kTeam / 32, kMost = 8;  // values
        static_assert(kNumber <= kMost && kWarps == 16);
        __shared__ float4 sums[kMost][kWarps / 4], totals[2][kBlocks][kMost / 4];
        const Part all = {block * kTeam + rank, kBlocks * kTeam};
        each_pixel(all, rows, columns, [&](int row, int column) { add(row, column, values); });
        float kept[kMost];
#pragma unroll
        for (int i = 0; i < kMost; ++i) kept[i] = i < kNumber ? values[i] : 0;
        const float own = sum_of_lanes(kept);
        const int warp = rank / 32, lane = rank & 31;
        if (lane % 4 == 0) reinterpret_cast<float*>(sums[lane / 4])[warp] = own;
        __syncthreads();
        turn ^= 1;  // other threads may still read the previous totals
        if (warp == 0) {
            const float4 some = sums[lane / 4][lane % 4];
            float total = some.x + some.y + (some.z + some.w);
            total += __shfl_xor_sync(~0u, total, 1), total += __shfl_xor_sync(~0u, total, 2);
            float* const to = reinterpret_cast<float*>(totals[turn][block]) + lane / 4;
#pragma unroll
            for (int other = 0; other < kBlocks; other += 4)
                store_in_block(other + lane % 4, to, __float_as_uint(total));
        }
        cluster_sync();
#pragma unroll
        for (int i = 0; i < kNumber; ++i) values[i] = 0;
#pragma unroll
        for (int other = 0; other < kBlocks; ++other) {
            const float4 first = totals[turn][other][0], second = totals[turn][other][1];
            const float given[] = {first.x,  first.y,  first.z,  first.w,
                                   second.x, second.y, second.z, second.w};
#pragma unroll
            for (int i = 0; i < kNumber; ++i) values[i] += given[i];
        }
    }

    // Adds the values of a warp, which are all for one sum.
    __device__ void add(unsigned& sum, unsigned value) const {
        const unsigned total = sum_of_warp(value);
        if (rank % 32 == 0) sum = total;
    }
    __device__ void least(unsigned& least, unsigned value) const { atomicMin(&least, value); }
    __device__ unsigned least_of_all(unsigned own) const {
        __shared__ unsigned given[kBlocks];
        if (rank < kBlocks) store_in_block(rank, &given[block], own);
        cluster_sync();
        for (int other = 0; other < kBlocks; ++other) own = min(own, given[other]);
        return own;
    }
    __device__ void sync_all() const { cluster_sync(); }
    __device__ void publish(TextureState& state) const { publish_state(state); }

 private:
    struct Part {
        int rank, size;
    };

    // Sums eight values over a warp. Lanes 4 i to 4 i + 3 return the sum of value i.
    static __device__ float sum_of_lanes(float (&values)[8]) {
        const int lane = threadIdx.x & 31;
#pragma unroll
        for (int half = 4; half > 0; half /= 2) {
            const bool upper = lane & 4 * half;
#pragma unroll
            for (int i = 0; i < half; ++i) {
                const float given = upper ? values[i] : values[i + half];
                values[i] = (upper ? values[i + half] : values[i]) +
                            __shfl_xor_sync(~0u, given, 4 * half);
            }
        }
        values[0] += __shfl_xor_sync(~0u, values[0], 2);
        return values[0] + __shfl_xor_sync(~0u, values[0], 1);
    }
};

// Halves four pixels at once if rows are whole words.
template <int kBlocks>
__device__ void halve(const Blocks<kBlocks>& team, const GrayPicture& from, const GrayPicture& to) {
    if (from.width % 8 != 0 || from.height % 2 != 0) {
        each_pixel(team, to.height, to.width, [=](int row, int column) {
            to.pixels[row * to.width + column] = halved_pixel(from, row, column);
        });
    } else {
        const int words = to.width / 4;
        each_pixel(team, to.height, words, [=](int row, int word) {
            const auto* upper =
                reinterpret_cast<const uint2*>(from.pixels + 2 * row * from.width) + word;
            const uint2 above = *upper, below = upper[words];
            reinterpret_cast<unsigned*>(to.pixels + row * to.width)[word] =
                __byte_perm(halved_pairs(above.x, below.x), halved_pairs(above.y, below.y), 0x6420);
        });
    }
}

// Copies 16 bytes at once if both pointers are multiples of 16.
template <int kBlocks>
__device__ void copy_bytes(const Blocks<kBlocks>& team, const uint8_t* from, uint8_t* to,
                           int count) {
    const size_t places = reinterpret_cast<size_t>(from) | reinterpret_cast<size_t>(to);
    const int vectors = places % 16 == 0 ? count / 16 : 0;
    for (int i = team.rank; i < vectors; i += team.size)
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    for (int i = vectors * 16 + team.rank; i < count; i += team.size) to[i] = from[i];
}

// Reads up to 2 * kTeam vectors of both pictures before it writes any.
template <int kBlocks>
__device__ void copy_both(const Blocks<kBlocks>& team, const uint8_t* const (&from)[2],
                          uint8_t* const (&to)[2], int count) {
    static_assert(kTracked * kTracked <= 2 * kTeam * 16);
    const size_t places = reinterpret_cast<size_t>(from[0]) | reinterpret_cast<size_t>(from[1]);
    if (places % 16 != 0 || count % 16 != 0) {
        copy_bytes(team, from[0], to[0], count), copy_bytes(team, from[1], to[1], count);
        return;
    }
    const int first = team.rank, second = team.rank + kTeam, vectors = count / 16;
    uint4 here[2] = {}, there[2] = {};
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const auto* all = reinterpret_cast<const uint4*>(from[k]);
        if (first < vectors) here[k] = all[first];
        if (second < vectors) there[k] = all[second];
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        auto* all = reinterpret_cast<uint4*>(to[k]);
        if (first < vectors) all[first] = here[k];
        if (second < vectors) all[second] = there[k];
    }
}

// Compares four bytes at once, with words shifted to the beginnings of the rows.
template <int kBlocks>
__device__ unsigned row_difference(const Blocks<kBlocks>&, const uint8_t* a, const uint8_t* b,
                                   int count) {
    if (count <= 0) return 0;
    const unsigned a_byte = reinterpret_cast<size_t>(a) % 4, b_byte = reinterpret_cast<size_t>(b) % 4;
    const auto* a_words = reinterpret_cast<const unsigned*>(a - a_byte);
    const auto* b_words = reinterpret_cast<const unsigned*>(b - b_byte);
    unsigned a_word = *a_words, b_word = *b_words, sum = 0;
    for (int left = count; left > 0; left -= 4) {
        const unsigned a_next = *++a_words, b_next = *++b_words;
        const unsigned shown = left < 4 ? (1u << left * 8) - 1 : ~0u;
        sum += __vsadu4(__funnelshift_r(a_word, a_next, a_byte * 8) & shown,
                        __funnelshift_r(b_word, b_next, b_byte * 8) & shown);
        a_word = a_next, b_word = b_next;
    }
    return sum;
}

}  // namespace styleforge
