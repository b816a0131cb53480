// Attention with mma.sync (sm_80 and up), FP16 and BF16. A warp holds 16 or 32 queries, cp.async
// loads tiles of keys and values while the previous tiles are multiplied, and the softmax is
// online: scores never leave the registers (Dao et al., 2022).
#pragma once

#include "ops/transformer/transformer.h"
#include "shapes.h"
#include "masks.cuh"
#include "softmax.cuh"
#include "tiles.cuh"

namespace styleforge::attention {

template <typename T, int kDim, bool kGeneral>
__global__ void __launch_bounds__(MmaShape<kDim, kGeneral>::kThreads)
    attention_mma(const StyleforgeAttention p) {
    using Shape = MmaShape<kDim, kGeneral>;
    using Keys = Tile<T, kDim, Shape::kKeys>;
    using Queries = Tile<T, kDim, Shape::kQueries>;
    constexpr int kThreads = Shape::kThreads, kKeys = Shape::kKeys, kRowTiles = Shape::kRowTiles;

    extern __shared__ __align__(128) unsigned char shared[];
    const uint32_t q_tile = smem_address(shared);
    const uint32_t k_tiles = q_tile + Queries::kBytes, v_tiles = k_tiles + 2 * Keys::kBytes;

    const int head = blockIdx.y, sample = blockIdx.z;
    const T* const q = plane_of<T>(p.q, p.q_strides, sample, head);
    const T* const k = plane_of<T>(p.k, p.k_strides, sample, head);
    const T* const v = plane_of<T>(p.v, p.v_strides, sample, head);
    const T* const mask =
        kGeneral && p.mask != nullptr ? plane_of<T>(p.mask, p.mask_strides, sample, head) : nullptr;

    // With a causal mask, the last tiles of queries see the most keys, so they start first.
    const int first_query = (p.causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Shape::kQueries;
    const int last_query = min(first_query + Shape::kQueries, p.queries) - 1;
    const int keys = p.causal ? min(p.keys, last_query + 1) : p.keys;
    const int tiles = (keys + kKeys - 1) / kKeys;

    Queries::template copy<kThreads>(q_tile, q, p.q_strides[2], first_query, p.queries);
    Keys::template copy<kThreads>(k_tiles, k, p.k_strides[2], 0, p.keys);
    cp_async_commit();
    Keys::template copy<kThreads>(v_tiles, v, p.v_strides[2], 0, p.keys);
    cp_async_commit();

    const int warp = threadIdx.x / 32;
    const int first_row = first_query + warp * 16 * kRowTiles + threadIdx.x % 32 / 4;
    const float scale = kGeneral ? 1.f : p.scale;
    uint32_t q_operand[kRowTiles][kDim / 16][4];
    float out[kRowTiles][kDim / 8][4] = {};
    RowState rows[kRowTiles][2];

    for (int tile = 0; tile < tiles; ++tile) {
        const uint32_t here = tile % 2 * Keys::kBytes, there = Keys::kBytes - here;
        if (tile + 1 < tiles)
            Keys::template copy<kThreads>(k_tiles + there, k, p.k_strides[2], (tile + 1) * kKeys,
                                          p.keys);
        cp_async_commit();
        cp_async_wait<2>();
        __syncthreads();
        if (tile == 0) {
#pragma unroll
            for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
                for (int step = 0; step < kDim / 16; ++step)
                    Queries::first_operand(q_operand[t][step], q_tile, (warp * kRowTiles + t) * 16,
                                           step);
        }
        float s[kRowTiles][kKeys / 8][4];
        multiply_rows<T, kDim, kKeys>(s, q_operand, k_tiles + here);
#pragma unroll
        for (int t = 0; t < kRowTiles; ++t) {
            const int row = first_row + t * 16;
            mask_scores<T, kKeys, kGeneral>(s[t], p, mask, row, tile * kKeys);
            float shrink[2];
            if (online_softmax(reinterpret_cast<float(&)[kKeys / 2]>(s[t]), rows[t], shrink,
                               scale * 1.4426950408889634f)) {
#pragma unroll
                for (int j = 0; j < kDim / 8; ++j)
#pragma unroll
                    for (int i = 0; i < 4; ++i) out[t][j][i] *= shrink[i / 2];
            }
            if constexpr (kGeneral) {
                if (p.state != nullptr)
                    drop_weights<kKeys>(s[t], p, sample * p.heads + head, row, tile * kKeys);
            }
        }
        if (tile + 1 < tiles)
            Keys::template copy<kThreads>(v_tiles + there, v, p.v_strides[2], (tile + 1) * kKeys,
                                          p.keys);
        cp_async_commit();
        cp_async_wait<2>();
        __syncthreads();
        accumulate_rows<T, kDim, kKeys>(out, s, v_tiles + here);
    }

#pragma unroll
    for (int t = 0; t < kRowTiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float sum = row_sum(rows[t][r].sum);
            const int query = first_row + t * 16 + r * 8;
            if (query >= p.queries) continue;
            const float inverse = sum > 0.f ? 1.f / sum : sum;  // NaN passes through
            T* const to = static_cast<T*>(p.out) + sample * p.out_strides[0] +
                          head * p.out_strides[1] + query * p.out_strides[2] + threadIdx.x % 4 * 2;
#pragma unroll
            for (int j = 0; j < kDim / 8; ++j)
                *reinterpret_cast<uint32_t*>(to + j * 8) = Pair<T>::pack(
                    out[t][j][2 * r] * inverse, out[t][j][2 * r + 1] * inverse);
            if (threadIdx.x % 4 == 0)
                p.lse[(static_cast<long long>(sample) * p.heads + head) * p.queries + query] =
                    log_sum_exp(rows[t][r].origin, sum);
        }
}

}  // namespace styleforge::attention
