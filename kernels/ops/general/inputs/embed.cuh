// Lookup of rows of an embedding table, with positions added.
#pragma once

#include "include/common/dtypes.cuh"

namespace styleforge {

// Vectors of a table row per thread, interleaved with its neighbors, so that the dependent loads of
// a token and then its row are waited for only once.
constexpr int kOfRow = 4;

// out = table[token] * scale + position[row % length], with kOfRow vectors of kCount elements per
// thread. `token_of(row, is_first)` returns a row's token: negative for a row of zeros; outside the
// table, the result is NaN. `lanes` threads, a power of two, process part of a row.
template <int kCount, typename T, typename F>
__device__ __forceinline__ void embed(const void* table, const void* position, void* out,
                                      long long rows, long long length, long long width,
                                      long long entries, float scale, unsigned lanes,
                                      const F& token_of) {
    using Vector = AlignedVector<T, kCount>;
    const unsigned of_row = static_cast<unsigned>(width) / kCount, part = kOfRow * lanes;
    const unsigned parts = (of_row + part - 1) / part;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned group = thread / lanes, row = group / parts;
    const unsigned first = group % parts * part + thread % lanes;
    if (row >= rows) return;
    Vector values[kOfRow], added[kOfRow];
    if (position != nullptr) {
        const T* const from =
            static_cast<const T*>(position) + row % static_cast<unsigned>(length) * width;
#pragma unroll
        for (int u = 0; u < kOfRow; ++u)
            if (first + u * lanes < of_row)
                added[u] = reinterpret_cast<const Vector*>(from)[first + u * lanes];
    }
    const long long token = token_of(row, first == 0);
    const bool is_given = token >= 0 && token < entries;
    if (is_given) {
        const T* const from = static_cast<const T*>(table) + token * width;
#pragma unroll
        for (int u = 0; u < kOfRow; ++u)
            if (first + u * lanes < of_row)
                values[u] = reinterpret_cast<const Vector*>(from)[first + u * lanes];
    }
    T* const to = static_cast<T*>(out) + row * width;
#pragma unroll
    for (int u = 0; u < kOfRow; ++u) {
        const unsigned at = first + u * lanes;
        float made[kCount], behind[kCount] = {};
        widen(made, values[u]);
        if (position != nullptr) widen(behind, added[u]);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            made[k] = (is_given ? made[k] * scale : 0) + behind[k];
            if (token >= entries) made[k] = nanf("");
        }
        if (at < of_row) store<kCount>(to + at * kCount, made);
    }
}

}  // namespace styleforge
