// The random numbers of dropout: Philox4x32-10 (Salmon et al., 2011), from a saved seed and offset,
// so that backward drops the same weights as forward. kernels/table/philox.py
// computes the same.
#pragma once

#include <stdint.h>

namespace styleforge::attention {

__device__ __forceinline__ uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint32_t high0 = __umulhi(0xD2511F53u, counter.x), low0 = 0xD2511F53u * counter.x;
        const uint32_t high1 = __umulhi(0xCD9E8D57u, counter.z), low1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
    }
    return counter;
}

// Selects the kept weights of 16 queries, in the accumulator layout of mma. One counter yields 16
// bits for each of eight weights: queries i and i + 8, keys k, k + 1, k + 8 and k + 9, where i and
// k are among the first eight of every sixteen and k is even. Words x and y belong to keys k and k
// + 1, words z and w to the other two; x and z belong to query i. The lower half of a word is its
// first key. `plane` numbers sample and head.
struct Dropout {
    uint2 key;
    uint32_t offset, plane, dropped;

    __device__ __forceinline__ Dropout(const long long* state, unsigned dropped, int plane)
        : key{static_cast<uint32_t>(state[0]), static_cast<uint32_t>(state[0] >> 32)},
          offset(static_cast<uint32_t>(state[1])),
          plane(plane),
          dropped(dropped) {}

    __device__ __forceinline__ uint4 block(int query, int at) const {
        const uint32_t pair = at / 16 * 4 + at % 8 / 2, row = query / 16 * 8 + query % 8;
        return philox(make_uint4(pair, row, plane, offset), key);
    }

    // Returns whether the number in the lower half of a word keeps a weight.
    __device__ __forceinline__ uint32_t keeps(uint32_t word) const {
        return (word & 0xffffu) >= dropped;
    }
    __device__ __forceinline__ uint32_t keeps(int query, int at) const {
        const uint4 words = block(query, at);
        const uint32_t near = query / 8 % 2 ? words.y : words.x;
        const uint32_t far = query / 8 % 2 ? words.w : words.z;
        return keeps((at / 8 % 2 ? far : near) >> at % 2 * 16);
    }

    // Returns a mask whose bit 4 j + i tells whether element i of acc[j] is kept; rows are queries.
    // `query` is this thread's first row and `first_key` its first column, each among the first
    // eight of its sixteen.
    template <int kColumns>
    __device__ __forceinline__ uint32_t kept_of_queries(int query, int first_key) const {
        static_assert(kColumns % 16 == 0, "a counter is of two columns of acc");
        uint32_t bits = 0;
#pragma unroll 1  // otherwise the generator's code would be repeated for every column
        for (int j = 0; j < kColumns / 8; j += 2) {
            const uint4 words = block(query, first_key + j * 8);
            const uint32_t each[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
            for (int i = 0; i < 4; ++i)
                bits |= (keeps(each[i]) | keeps(each[i] >> 16) << 1) << (j * 4 + i * 2);
        }
        return bits;
    }

    // The same if rows are keys and columns are queries: a counter yields four weights of a thread.
    template <int kColumns>
    __device__ __forceinline__ uint32_t kept_of_keys(int first_query, int row) const {
        static_assert(kColumns % 16 == 0, "a counter is of two columns of acc");
        uint32_t bits = 0;
#pragma unroll 1
        for (int at = 0; at < kColumns / 8; ++at) {
            const uint4 words = block(first_query + at / 2 * 16 + at % 2, row);
            const int shift = row % 2 * 16;
            bits |= (keeps(words.x >> shift) | keeps(words.z >> shift) << 2 |
                     keeps(words.y >> shift) << 4 | keeps(words.w >> shift) << 6)
                    << (at / 2 * 8 + at % 2);
        }
        return bits;
    }
};

}  // namespace styleforge::attention
