// The random numbers of dropout: Philox4x32-10 (Salmon et al., 2011), of a seed and an offset that
// are saved, so that backward drops the weights that forward dropped.
// kernels/ops/transformer_reference/philox.py computes the same.
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

// Which weights of 16 queries are kept, as results of mma lie in a warp. Four weights share a
// number of the generator: those of queries i and i + 8, keys k and k + 1, for i of the first eight
// in every sixteen and even k. `plane` numbers sample and head.
struct Dropout {
    uint2 key;
    uint32_t offset, plane, dropped;

    __device__ __forceinline__ Dropout(const long long* state, unsigned dropped, int plane)
        : key{static_cast<uint32_t>(state[0]), static_cast<uint32_t>(state[0] >> 32)},
          offset(static_cast<uint32_t>(state[1])),
          plane(plane),
          dropped(dropped) {}

    __device__ __forceinline__ uint4 block(int query, int first_key) const {
        return philox(make_uint4(first_key / 2, query / 16 * 8 + query % 8, plane, offset), key);
    }

    // Whether one weight is kept.
    __device__ __forceinline__ uint32_t keeps(int query, int at) const {
        const uint4 four = block(query, at / 2 * 2);
        const uint32_t upper = at % 2 ? four.w : four.z, lower = at % 2 ? four.y : four.x;
        return (query / 8 % 2 ? upper : lower) >= dropped;
    }

    // Bit 4 j + i: whether element i of acc[j] is kept, where rows are queries: this thread's
    // first, of the first eight in its sixteen, is `query`, its first column is `first_key`.
    template <int kColumns>
    __device__ __forceinline__ uint32_t kept_of_queries(int query, int first_key) const {
        uint32_t bits = 0;
#pragma unroll 1  // or the generator's code would be there for every column
        for (int j = 0; j < kColumns / 8; ++j) {
            const uint4 numbers = block(query, first_key + j * 8);
            bits |= ((numbers.x >= dropped) | (numbers.y >= dropped) << 1 |
                     (numbers.z >= dropped) << 2 | (numbers.w >= dropped) << 3)
                    << j * 4;
        }
        return bits;
    }

    // The same where rows are keys and columns are queries.
    template <int kColumns>
    __device__ __forceinline__ uint32_t kept_of_keys(int first_query, int key) const {
        uint32_t bits = 0;
#pragma unroll 1
        for (int at = 0; at < kColumns / 2; ++at) {
            const int query = first_query + at / 4 * 8 + at % 2;
            bits |= keeps(query, key + at / 2 % 2 * 8) << at;
        }
        return bits;
    }
};

}  // namespace styleforge::attention
