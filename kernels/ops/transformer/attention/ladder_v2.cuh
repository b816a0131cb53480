// Attention, second rung: tiles of keys and values are loaded into shared memory 16 bytes at a
// time, once for the 32 queries of a block, with rows padded against bank conflicts. A warp has
// four queries, a lane one key, and rows are reduced with shuffles. Two passes, as in the first
// rung.
#pragma once

#include <math.h>
#include "include/common/dtypes.cuh"
#include "ops/transformer/transformer.h"
#include "shapes.h"

namespace styleforge::attention {

// Loads rows into shared memory as FP32, 16 bytes at a time; rows from `rows` on become zeros.
template <typename T, int kDim, int kRows>
__device__ __forceinline__ void load_padded(float* to, const T* from, long long stride, int first,
                                            int rows) {
    using Shape = V2Shape<kDim>;
    constexpr int kSize = kVectorSize<T>, kPieces = kDim / kSize;
    for (int i = threadIdx.x; i < kRows * kPieces; i += Shape::kThreads) {
        const int row = i / kPieces, column = i % kPieces * kSize;
        float values[kSize] = {};
        if (first + row < rows) load<kSize>(values, from + (first + row) * stride + column);
#pragma unroll
        for (int j = 0; j < kSize; j += 4)
            store<4>(to + row * Shape::kStride + column + j, values + j);
    }
}

template <typename Join>
__device__ __forceinline__ float join_warp(float v, Join join) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) v = join(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

template <typename T, int kDim>
__global__ void __launch_bounds__(V2Shape<kDim>::kThreads, 1)
    attention_v2(const StyleforgeAttention p) {
    using Shape = V2Shape<kDim>;
    constexpr int kOwn = Shape::kOwn, kKeys = Shape::kKeys, kStride = Shape::kStride;

    extern __shared__ __align__(128) unsigned char shared[];
    float* const q_tile = reinterpret_cast<float*>(shared);
    float* const k_tile = q_tile + Shape::kQueries * kStride;
    float* const v_tile = k_tile + kKeys * kStride;

    const int head = blockIdx.y, sample = blockIdx.z, first_query = blockIdx.x * Shape::kQueries;
    const T* const q = static_cast<const T*>(p.q) + sample * p.q_strides[0] + head * p.q_strides[1];
    const T* const k = static_cast<const T*>(p.k) + sample * p.k_strides[0] + head * p.k_strides[1];
    const T* const v = static_cast<const T*>(p.v) + sample * p.v_strides[0] + head * p.v_strides[1];
    const int lane = threadIdx.x % 32, first_own = threadIdx.x / 32 * kOwn;

    load_padded<T, kDim, Shape::kQueries>(q_tile, q, p.q_strides[2], first_query, p.queries);

    // Computes the scores of this lane's key with the warp's queries.
    const auto compute_scores = [&](float(&s)[kOwn], int first_key) {
#pragma unroll
        for (int i = 0; i < kOwn; ++i) s[i] = 0.f;
#pragma unroll 2
        for (int d = 0; d < kDim; d += 4) {
            float key[4], query[4];
            load<4>(key, k_tile + lane * kStride + d);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                load<4>(query, q_tile + (first_own + i) * kStride + d);
#pragma unroll
                for (int e = 0; e < 4; ++e) s[i] = fmaf(query[e], key[e], s[i]);
            }
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
            s[i] = first_key + lane < p.keys ? s[i] * p.scale : -INFINITY;
    };

    float largest[kOwn], sum[kOwn], s[kOwn];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) largest[i] = -INFINITY, sum[i] = 0.f;
    for (int first_key = 0; first_key < p.keys; first_key += kKeys) {
        __syncthreads();
        load_padded<T, kDim, kKeys>(k_tile, k, p.k_strides[2], first_key, p.keys);
        __syncthreads();
        compute_scores(s, first_key);
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
            const float most = fmaxf(
                largest[i], join_warp(s[i], [](float a, float b) { return fmaxf(a, b); }));
            sum[i] = sum[i] * expf(largest[i] - most) + expf(s[i] - most);
            largest[i] = most;
        }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i)
        sum[i] = join_warp(sum[i], [](float a, float b) { return a + b; });

    float out[kOwn][kDim / 32] = {};
    for (int first_key = 0; first_key < p.keys; first_key += kKeys) {
        __syncthreads();
        load_padded<T, kDim, kKeys>(k_tile, k, p.k_strides[2], first_key, p.keys);
        load_padded<T, kDim, kKeys>(v_tile, v, p.v_strides[2], first_key, p.keys);
        __syncthreads();
        compute_scores(s, first_key);
#pragma unroll
        for (int i = 0; i < kOwn; ++i) s[i] = expf(s[i] - largest[i]) / sum[i];
#pragma unroll 2
        for (int key = 0; key < kKeys; ++key)
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                const float weight = __shfl_sync(0xffffffffu, s[i], key);
#pragma unroll
                for (int c = 0; c < kDim / 32; ++c)
                    out[i][c] = fmaf(weight, v_tile[key * kStride + c * 32 + lane], out[i][c]);
            }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        const int query = first_query + first_own + i;
        if (query >= p.queries) continue;
        T* const to = static_cast<T*>(p.out) + sample * p.out_strides[0] +
                      head * p.out_strides[1] + query * p.out_strides[2];
#pragma unroll
        for (int c = 0; c < kDim / 32; ++c) to[c * 32 + lane] = from_float<T>(out[i][c]);
    }
}

}  // namespace styleforge::attention
