// Tokens in a stable order: tiles are sorted, each by a block of threads, and then a token's place in
// the whole is its place in its tile and, of every other tile, how many tokens come before it.
#pragma once

#include "../common/dtypes.cuh"

namespace styleforge {

constexpr unsigned kTile = 256;     // tokens that a block of as many threads sorts
constexpr unsigned kSearchers = 8;  // warps that share the tiles among them, for 32 tokens
constexpr int kAside = 4;           // tiles that a warp searches side by side
constexpr unsigned kNone = ~0u;     // the key behind the last one
constexpr int kZeros = 4;           // vectors that a thread sets to zero

// Tokens as unsigned numbers from 1 to `entries`; 0 and `entries` + 1 are none of the table's.
__device__ __forceinline__ unsigned key_of(long long token, long long entries) {
    return static_cast<unsigned>(min(max(token, -1ll), entries) + 1);
}

// How many keys of a tile come before this thread's: the smaller ones, and equal ones of threads
// before it. `keys` is shared memory.
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

// How many keys of the tiles from `first` on, one of kSearchers, come before one of the tile that begins at
// `own`. A
// quarter of what is left of a tile is chosen at a time, of kAside tiles side by side, so that few
// loads wait for one another.
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

// Sets to zero what block `block` of those that do so has of so many bytes from a vector's beginning.
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
