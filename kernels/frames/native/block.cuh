// The block that measures a scene's motion: the team for the functions of motion.h.
#pragma once

#include "frames.h"
#include "team.cuh"

namespace styleforge {

struct Block : Threads<kTeam> {

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
};

// Copies 16 bytes at once if both pointers are multiples of 16.
__device__ inline void copy_bytes(const Block& team, const uint8_t* from, uint8_t* to, int count) {
    const size_t places = reinterpret_cast<size_t>(from) | reinterpret_cast<size_t>(to);
    const int vectors = places % 16 == 0 ? count / 16 : 0;
    for (int i = team.rank; i < vectors; i += team.size)
        reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
    for (int i = vectors * 16 + team.rank; i < count; i += team.size) to[i] = from[i];
}

// Compares four bytes at once, with words shifted to the beginnings of the rows.
__device__ inline unsigned row_difference(const Block&, const uint8_t* a, const uint8_t* b,
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
