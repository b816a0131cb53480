// Masks, hidden keys and dropout for the scores and weights of 16 queries in the accumulator layout
// of mma.
#pragma once

#include <math.h>
#include "include/common/convert.cuh"
#include "ops/transformer/transformer.h"
#include "dropout.cuh"
#include "ptx.cuh"

namespace styleforge::attention {

template <typename T>
__device__ __forceinline__ const T* plane_of(const void* base, const long long (&strides)[3],
                                             int sample, int head) {
    return static_cast<const T*>(base) + sample * strides[0] + head * strides[1];
}

// Scales the scores of 16 queries, adds the mask and hides keys that do not exist or come later.
template <typename T, int kKeys, bool kGeneral>
__device__ __forceinline__ void mask_scores(float (&s)[kKeys / 8][4], const StyleforgeAttention& p,
                                            const T* mask, int row, int first_key) {
    const int column = first_key + threadIdx.x % 4 * 2;
    if constexpr (kGeneral) {
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) s[j][i] *= p.scale;
        if (mask != nullptr) {
            // `pairs`: two keys can be loaded at once; `whole`: all of the tile's keys exist.
            const bool pairs =
                (reinterpret_cast<uintptr_t>(mask) / sizeof(T) | p.mask_strides[2]) % 2 == 0;
            const bool whole = first_key + kKeys <= p.keys;
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const T* const from = mask + min(row + 8 * r, p.queries - 1) * p.mask_strides[2];
                if (pairs && whole) {
#pragma unroll
                    for (int j = 0; j < kKeys / 8; ++j) {
                        const float2 two = Pair<T>::unpack(
                            *reinterpret_cast<const uint32_t*>(from + column + j * 8));
                        s[j][2 * r] += two.x, s[j][2 * r + 1] += two.y;
                    }
                } else {
#pragma unroll
                    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
                        for (int i = 0; i < 2; ++i)
                            s[j][2 * r + i] += to_float(from[min(column + j * 8 + i, p.keys - 1)]);
                }
            }
        }
    }
    if (first_key + kKeys <= (p.causal ? min(p.keys, row / 16 * 16 + 1) : p.keys)) return;
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = column + j * 8 + i % 2;
            if (key >= (p.causal ? min(p.keys, row + i / 2 * 8 + 1) : p.keys)) s[j][i] = -INFINITY;
        }
}

template <int kKeys>
__device__ __forceinline__ void drop_weights(float (&w)[kKeys / 8][4], const StyleforgeAttention& p,
                                             int plane, int row, int first_key) {
    const uint32_t kept = Dropout(p.state, p.dropped, plane)
                              .kept_of_queries<kKeys>(row, first_key + threadIdx.x % 4 * 2);
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            w[j][i] = kept >> (j * 4 + i) & 1 ? w[j][i] * p.kept_scale : 0.f;
}

// Recomputes a weight from its score: 0 if the key is hidden or the query sees no key.
template <typename T>
__device__ __forceinline__ float weight_of(float score, const StyleforgeAttention& p, const T* mask,
                                           int query, int key, float lse) {
    if (query >= p.queries || key >= p.keys || (p.causal && key > query)) return 0.f;
    score *= p.scale;
    if (mask != nullptr) score += to_float(mask[query * p.mask_strides[2] + key]);
    return lse == -INFINITY ? 0.f : exp2_fast((score - lse) * 1.4426950408889634f);
}

}  // namespace styleforge::attention
