// Copies blocks of numbers to places: the gradient of summing blocks over places.
#pragma once

#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kCopyPlaces = 4;   // consecutive places in the order, per warp
constexpr int kCopyVectors = 2;  // of a place per thread, 32 vectors apart

// out[place] = x[places[place]]. A warp copies `part` of the places of run `run` of the order.
// There, the places of a block are adjacent, so the block is read from memory once and then from a
// cache. No load waits for the data of another.
template <typename Vector>
__device__ __forceinline__ void copy_to_places(const void* x, const long long* places,
                                               const long long* order, void* out, long long count,
                                               long long blocks, long long width, unsigned run,
                                               unsigned part) {
    const long long first = 1ll * run * kCopyPlaces;
    const long long at = part * kCopyVectors * 32ll + threadIdx.x % 32, left = width - at;
    long long to[kCopyPlaces], from[kCopyPlaces];
#pragma unroll
    for (int i = 0; i < kCopyPlaces; ++i) to[i] = first + i < count ? order[first + i] : 0;
    bool is_outside = false;
#pragma unroll
    for (int i = 0; i < kCopyPlaces; ++i) {
        const bool is_place = to[i] >= 0 && to[i] < count;
        from[i] = places[is_place ? to[i] : 0];
        is_outside |= !is_place;
    }
#pragma unroll
    for (int i = 0; i < kCopyPlaces; ++i) is_outside |= from[i] < 0 || from[i] >= blocks;
    if (is_outside) {  // PyTorch's indexing also fails here
        __trap();
        return;
    }
    Vector held[kCopyPlaces][kCopyVectors];
#pragma unroll
    for (int i = 0; i < kCopyPlaces; ++i)
#pragma unroll
        for (int v = 0; v < kCopyVectors; ++v)
            if (v * 32 < left)
                held[i][v] = static_cast<const Vector*>(x)[from[i] * width + at + v * 32];
#pragma unroll
    for (int i = 0; i < kCopyPlaces; ++i)
#pragma unroll
        for (int v = 0; v < kCopyVectors; ++v)
            if (first + i < count && v * 32 < left)
                static_cast<Vector*>(out)[to[i] * width + at + v * 32] = held[i][v];
}

}  // namespace styleforge
