// The epilogue of a matrix product, on its rows: bias and GELU, or bias and residual, in one pass
// of 16-byte loads and stores, or of single elements if rows or addresses are not aligned.
#pragma once

#include "ops/transformer/attention/shapes.h"
#include "include/common/dtypes.cuh"
#include "ops/transformer/transformer.h"
#include "gelu.cuh"

namespace styleforge {

// Calls `each(values, at, column)` for kWidth elements at a time.
template <typename T, int kWidth, typename Each>
__device__ __forceinline__ void for_each_vector(const StyleforgeEpilogue& p, Each each) {
    const int across = p.columns / kWidth;
    const long long count = p.rows * across, step = 1ll * gridDim.x * kEpilogueThreads;
    for (long long i = 1ll * blockIdx.x * kEpilogueThreads + threadIdx.x; i < count; i += step) {
        const long long at = i * kWidth;
        const int column = i % across * kWidth;
        float values[kWidth];
        load<kWidth>(values, static_cast<const T*>(p.x) + at);
        if (p.bias != nullptr) {
            float bias[kWidth];
            load<kWidth>(bias, static_cast<const T*>(p.bias) + column);
#pragma unroll
            for (int j = 0; j < kWidth; ++j) values[j] += bias[j];
        }
        each(values, at);
        store<kWidth>(static_cast<T*>(p.y) + at, values);
    }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kEpilogueThreads) bias_gelu(const StyleforgeEpilogue p) {
    for_each_vector<T, kWidth>(p, [&](float(&values)[kWidth], long long) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) values[j] = gelu(values[j], p.tanh);
    });
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kEpilogueThreads) bias_residual(const StyleforgeEpilogue p) {
    for_each_vector<T, kWidth>(p, [&](float(&values)[kWidth], long long at) {
        if (p.residual == nullptr) return;
        float residual[kWidth];
        load<kWidth>(residual, static_cast<const T*>(p.residual) + at);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) values[j] += residual[j];
    });
}

}  // namespace styleforge
