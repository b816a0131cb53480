// Attention in FP32 without tensor cores: 64 queries of a block and tiles of 64 keys are in shared
// memory, a thread computes 4 x 4 scores, and the softmax is online, as in forward_mma.cuh.
#pragma once

#include <math.h>
#include "include/common/dtypes.cuh"
#include "ops/transformer/transformer.h"
#include "shapes.h"
#include "dropout.cuh"

namespace styleforge::attention {

// Loads rows first, first + 1, ... into shared memory; rows from `rows` on become zeros.
template <int kDim>
__device__ __forceinline__ void load_rows(float* to, const float* from, long long stride, int first,
                                          int rows) {
    using Shape = FmaShape<kDim>;
    for (int i = threadIdx.x; i < Shape::kRows * kDim / 4; i += Shape::kThreads) {
        const int row = i / (kDim / 4), column = i % (kDim / 4) * 4;
        float four[4] = {};
        if (first + row < rows) load<4>(four, from + (first + row) * stride + column);
        store<4>(to + row * Shape::kStride + column, four);
    }
}

// Reduces over the sixteen threads that share a row.
template <typename Join>
__device__ __forceinline__ float join_row(float v, Join join) {
#pragma unroll
    for (int step = 1; step < 16; step *= 2) v = join(v, __shfl_xor_sync(0xffffffffu, v, step));
    return v;
}

template <int kDim>
__global__ void __launch_bounds__(FmaShape<kDim>::kThreads, 1)
    attention_fma(const StyleforgeAttention p) {
    using Shape = FmaShape<kDim>;
    constexpr int kRows = Shape::kRows, kStride = Shape::kStride, kOwn = kRows / 16;
    constexpr int kWidth = kDim / 16 < 4 ? kDim / 16 : 4, kGroups = kDim / 16 / kWidth;

    extern __shared__ __align__(128) unsigned char shared[];
    float* const q_tile = reinterpret_cast<float*>(shared);
    float* const tile = q_tile + kRows * kStride;  // keys, then values
    float* const weights = tile + kRows * kStride;

    const int head = blockIdx.y, sample = blockIdx.z;
    const float* const q =
        static_cast<const float*>(p.q) + sample * p.q_strides[0] + head * p.q_strides[1];
    const float* const k =
        static_cast<const float*>(p.k) + sample * p.k_strides[0] + head * p.k_strides[1];
    const float* const v =
        static_cast<const float*>(p.v) + sample * p.v_strides[0] + head * p.v_strides[1];
    const float* const mask = p.mask == nullptr ? nullptr
                                                : static_cast<const float*>(p.mask) +
                                                      sample * p.mask_strides[0] +
                                                      head * p.mask_strides[1];
    const int plane = sample * p.heads + head;
    const int first_query = (p.causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * kRows;
    const int last_query = min(first_query + kRows, p.queries) - 1;
    const int keys = p.causal ? min(p.keys, last_query + 1) : p.keys;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;  // rows y + 16 i, keys x + 16 j

    load_rows<kDim>(q_tile, q, p.q_strides[2], first_query, p.queries);
    float largest[kOwn], sum[kOwn] = {}, out[kOwn][kGroups][kWidth] = {};
#pragma unroll
    for (int i = 0; i < kOwn; ++i) largest[i] = -INFINITY;

    for (int first_key = 0; first_key < keys; first_key += kRows) {
        __syncthreads();
        load_rows<kDim>(tile, k, p.k_strides[2], first_key, p.keys);
        __syncthreads();
        float s[kOwn][kOwn] = {};
#pragma unroll 2
        for (int d = 0; d < kDim; d += 4) {
            float a[kOwn][4], b[kOwn][4];
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                load<4>(a[i], q_tile + (y + 16 * i) * kStride + d);
                load<4>(b[i], tile + (x + 16 * i) * kStride + d);
            }
#pragma unroll
            for (int i = 0; i < kOwn; ++i)
#pragma unroll
                for (int j = 0; j < kOwn; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e) s[i][j] = fmaf(a[i][e], b[j][e], s[i][j]);
        }
        uint32_t kept = ~0u;
        if (p.state != nullptr) {
            const Dropout dropout(p.state, p.dropped, plane);
            kept = 0;
#pragma unroll 1
            for (int at = 0; at < kOwn * kOwn; ++at)
                kept |= dropout.keeps(first_query + y + at / kOwn * 16,
                                      first_key + x + at % kOwn * 16)
                        << at;
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i) {
            const int query = first_query + y + 16 * i;
            float most = largest[i];
#pragma unroll
            for (int j = 0; j < kOwn; ++j) {
                const int key = first_key + x + 16 * j;
                s[i][j] *= p.scale;
                if (mask != nullptr && query < p.queries && key < p.keys)
                    s[i][j] += mask[query * p.mask_strides[2] + key];
                if (key >= p.keys || (p.causal && key > query)) s[i][j] = -INFINITY;
                most = fmaxf(most, s[i][j]);
            }
            most = join_row(most, [](float a, float b) { return fmaxf(a, b); });
            // A row without a visible key keeps zero weights instead of NaN.
            const float origin = most == -INFINITY ? 0.f : most;
            const float shrink = expf(largest[i] - origin);
            largest[i] = most;
            sum[i] *= shrink;
#pragma unroll
            for (int j = 0; j < kOwn; ++j) {
                const float weight = expf(s[i][j] - origin);
                sum[i] += weight;
                weights[(y + 16 * i) * Shape::kWeightStride + x + 16 * j] =
                    kept >> (i * kOwn + j) & 1 ? weight * p.kept_scale : 0.f;
            }
#pragma unroll
            for (int group = 0; group < kGroups; ++group)
#pragma unroll
                for (int e = 0; e < kWidth; ++e) out[i][group][e] *= shrink;
        }
        __syncthreads();
        load_rows<kDim>(tile, v, p.v_strides[2], first_key, p.keys);
        __syncthreads();
#pragma unroll 2
        for (int key = 0; key < kRows; ++key) {
            float value[kGroups][kWidth];
#pragma unroll
            for (int group = 0; group < kGroups; ++group)
                load<kWidth>(value[group], tile + key * kStride + (group * 16 + x) * kWidth);
#pragma unroll
            for (int i = 0; i < kOwn; ++i) {
                const float weight = weights[(y + 16 * i) * Shape::kWeightStride + key];
#pragma unroll
                for (int group = 0; group < kGroups; ++group)
#pragma unroll
                    for (int e = 0; e < kWidth; ++e)
                        out[i][group][e] = fmaf(weight, value[group][e], out[i][group][e]);
            }
        }
    }

#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
        const float total = join_row(sum[i], [](float a, float b) { return a + b; });
        const int query = first_query + y + 16 * i;
        if (query >= p.queries) continue;
        const float inverse = total > 0.f ? 1.f / total : total;  // NaN passes through
        float* const to = static_cast<float*>(p.out) + sample * p.out_strides[0] +
                          head * p.out_strides[1] + query * p.out_strides[2];
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
#pragma unroll
            for (int e = 0; e < kWidth; ++e) out[i][group][e] *= inverse;
            store<kWidth>(to + (group * 16 + x) * kWidth, out[i][group]);
        }
        if (x == 0)
            p.lse[1ll * plane * p.queries + query] =
                total > 0.f ? largest[i] + logf(total) : total == 0.f ? -INFINITY : total;
    }
}

}  // namespace styleforge::attention
