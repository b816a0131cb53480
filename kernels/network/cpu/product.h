// The matrix product for one transformed position: rows of channels times a panel of weights.
#pragma once

#include "vectors.h"

namespace styleforge::network {

// Stores kRows rows of N vectors: to[r, :] = sum over k of a[r, k] * b[k, :], in the order of k.
//
// `a` has strides. `b` is a panel of weights: one row of N vectors after another. With `Ahead`, the
// product also prefetches the next panel.
template <int N, bool Ahead>
STYLEFORGE_INLINE void multiply(const float* a, int64_t a_row, int64_t a_step, const float* b,
                                float* to, int64_t to_row, int64_t depth) {
    const float* next = b + depth * N * kLanes;
    Vector sum[kRows][N] = {};
    for (int64_t k = 0; k < depth; ++k) {
        Vector row[N];
        for (int n = 0; n < N; ++n) row[n] = load(b + (k * N + n) * kLanes);
        if constexpr (Ahead) {
            for (int byte = 0; byte < N * kLanes * 4; byte += 64)
                __builtin_prefetch(reinterpret_cast<const char*>(next + k * N * kLanes) + byte);
        }
#pragma GCC unroll 12
        for (int r = 0; r < kRows; ++r) {
            const Vector value = all(a[r * a_row + k * a_step]);
            for (int n = 0; n < N; ++n) sum[r][n] = fma(value, row[n], sum[r][n]);
        }
    }
    for (int r = 0; r < kRows; ++r)
        for (int n = 0; n < N; ++n) store(to + r * to_row + n * kLanes, sum[r][n]);
}

}  // namespace styleforge::network
