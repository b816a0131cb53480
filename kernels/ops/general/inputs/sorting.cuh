// A stable sort of tokens. One block sorts each tile. A token's position is its position in its
// tile plus, for every other tile, the number of tokens before it.
#pragma once

#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr unsigned kTile = 256;     // tokens that a block sorts, one per thread
constexpr unsigned kSearchers = 8;  // warps that share the tiles, for 32 tokens
constexpr int kAside = 4;           // tiles that a warp searches in parallel
constexpr unsigned kNone = ~0u;     // a key beyond the last one
constexpr int kZeros = 4;           // vectors that a thread zeroes

// Maps tokens to unsigned numbers from 1 to `entries`; 0 and `entries` + 1 are outside the table.
__device__ __forceinline__ unsigned key_of(long long token, long long entries) {
    return static_cast<unsigned>(min(max(token, -1ll), entries) + 1);
}

// Returns how many keys of a tile precede this thread's key: smaller keys, and equal keys of
// earlier threads. `keys` is in shared memory.
__device__ __forceinline__ unsigned place_in_tile(const unsigned* keys, unsigned key) {
    const unsigned lane = threadIdx.x % 32, own = threadIdx.x - lane;
    unsigned before = 0;
#pragma unroll 8
    for (unsigned j = 0; j < kTile; j += 4) {
        const unsigned limit = key + (j < own);
        const auto others = *reinterpret_cast<const AlignedVector<unsigned, 4>*>(keys + j);
#pragma unroll
        for (int k = 0; k < 4; ++k) before += others.element[k] < limit;
    }
#pragma unroll
    for (unsigned j = 0; j < 32; ++j) before += j < lane && keys[own + j] == key;
    return before;
}

// Returns how many keys of every kSearchers-th tile from `first` on precede a key of the tile at
// `own`. Each step narrows a tile to a quarter, for kAside tiles in parallel, so that few loads
// depend on one another.
__device__ __forceinline__ unsigned count_before(const unsigned* tiles, unsigned whole,
                                                 unsigned first, unsigned own, unsigned key) {
    unsigned before = 0;
    for (; first < whole; first += kAside * kSearchers) {
        unsigned begin[kAside], found[kAside] = {};
#pragma unroll
        for (int u = 0; u < kAside; ++u)
            begin[u] = min(first + u * kSearchers, whole - 1) * kTile;
#pragma unroll
        for (unsigned part = kTile / 4; part > 1; part /= 4) {
            unsigned last[kAside][3];
#pragma unroll
            for (int u = 0; u < kAside; ++u)
#pragma unroll
                for (int i = 0; i < 3; ++i)
                    last[u][i] = (tiles + begin[u] + found[u])[(i + 1) * part - 1];
#pragma unroll
            for (int u = 0; u < kAside; ++u)
#pragma unroll
                for (int i = 0; i < 3; ++i)
                    found[u] += last[u][i] < key + (begin[u] < own) ? part : 0;
        }
        AlignedVector<unsigned, 4> left[kAside];
#pragma unroll
        for (int u = 0; u < kAside; ++u)
            left[u] = *reinterpret_cast<const AlignedVector<unsigned, 4>*>(tiles + begin[u] +
                                                                           found[u]);
#pragma unroll
        for (int u = 0; u < kAside; ++u) {
#pragma unroll
            for (int k = 0; k < 4; ++k)
                found[u] += left[u].element[k] < key + (begin[u] < own);
            if (first + u * kSearchers < whole && begin[u] != own) before += found[u];
        }
    }
    return before;
}

// Zeroes block `block`'s share of `bytes` bytes, which start at a vector boundary.
__device__ __forceinline__ void set_to_zero(void* to, long long bytes, unsigned block) {
    using Vector = AlignedVector<float, 4>;
    const long long vectors = bytes / static_cast<long long>(sizeof(Vector));
    const long long first = 1ll * block * kZeros * blockDim.x + threadIdx.x;
#pragma unroll
    for (int u = 0; u < kZeros; ++u)
        if (first + u * blockDim.x < vectors)
            static_cast<Vector*>(to)[first + u * blockDim.x] = Vector{};
    const long long behind = vectors * static_cast<long long>(sizeof(Vector)) + threadIdx.x;
    if (block == 0 && behind < bytes) static_cast<unsigned char*>(to)[behind] = 0;
}

}  // namespace styleforge
