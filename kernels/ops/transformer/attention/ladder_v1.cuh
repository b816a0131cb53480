// Attention, first rung: 16 queries per block, tiles of scores in shared memory, two passes. The
// first pass finds the largest score and the sum of exponentials of each row. The second pass
// recomputes the scores and sums values. Every element is loaded separately, and only the scores
// are kept.
#pragma once

#include <math.h>
#include "include/common/dtypes.cuh"
#include "ops/transformer/transformer.h"
#include "shapes.h"

namespace styleforge::attention {

template <typename T>
__global__ void __launch_bounds__(kV1Threads) attention_v1(const StyleforgeAttention p) {
    __shared__ float scores[kV1Queries][kV1Keys];
    __shared__ float largest[kV1Queries], sums[kV1Queries];

    const int head = blockIdx.y, sample = blockIdx.z, first_query = blockIdx.x * kV1Queries;
    const T* const q = static_cast<const T*>(p.q) + sample * p.q_strides[0] + head * p.q_strides[1];
    const T* const k = static_cast<const T*>(p.k) + sample * p.k_strides[0] + head * p.k_strides[1];
    const T* const v = static_cast<const T*>(p.v) + sample * p.v_strides[0] + head * p.v_strides[1];

    const auto compute_scores = [&](int first_key) {
        for (int i = threadIdx.x; i < kV1Queries * kV1Keys; i += kV1Threads) {
            const int query = first_query + i / kV1Keys, key = first_key + i % kV1Keys;
            float score = -INFINITY;
            if (query < p.queries && key < p.keys) {
                score = 0.f;
                for (int d = 0; d < p.columns; ++d)
                    score += to_float(q[query * p.q_strides[2] + d]) *
                             to_float(k[key * p.k_strides[2] + d]);
                score *= p.scale;
            }
            scores[i / kV1Keys][i % kV1Keys] = score;
        }
    };

    const int row = threadIdx.x / 16;
    if (threadIdx.x < kV1Queries) largest[threadIdx.x] = -INFINITY, sums[threadIdx.x] = 0.f;
    for (int first_key = 0; first_key < p.keys; first_key += kV1Keys) {
        __syncthreads();
        compute_scores(first_key);
        __syncthreads();
        if (threadIdx.x < kV1Queries && first_query + static_cast<int>(threadIdx.x) < p.queries) {
            float most = largest[threadIdx.x], sum = 0.f;
            for (int j = 0; j < kV1Keys; ++j) most = fmaxf(most, scores[threadIdx.x][j]);
            for (int j = 0; j < kV1Keys; ++j) sum += expf(scores[threadIdx.x][j] - most);
            sums[threadIdx.x] = sums[threadIdx.x] * expf(largest[threadIdx.x] - most) + sum;
            largest[threadIdx.x] = most;
        }
    }

    float out[kMostColumns / 16] = {};
    for (int first_key = 0; first_key < p.keys; first_key += kV1Keys) {
        __syncthreads();
        compute_scores(first_key);
        __syncthreads();
        for (int j = 0; j < min(kV1Keys, p.keys - first_key); ++j) {
            const float weight = expf(scores[row][j] - largest[row]) / sums[row];
#pragma unroll
            for (int i = 0; i < kMostColumns / 16; ++i) {
                const int column = threadIdx.x % 16 + i * 16;
                if (column < p.columns)
                    out[i] += weight * to_float(v[(first_key + j) * p.v_strides[2] + column]);
            }
        }
    }
    const int query = first_query + row;
    if (query >= p.queries) return;
    T* const to = static_cast<T*>(p.out) + sample * p.out_strides[0] + head * p.out_strides[1] +
                  query * p.out_strides[2];
#pragma unroll
    for (int i = 0; i < kMostColumns / 16; ++i) {
        const int column = threadIdx.x % 16 + i * 16;
        if (column < p.columns) to[column] = from_float<T>(out[i]);
    }
}

}  // namespace styleforge::attention
