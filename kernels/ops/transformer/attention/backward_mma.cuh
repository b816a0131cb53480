// The gradients of attention with mma.sync (sm_80 and up), FP16 and BF16, from the saved
// log-sum-exps (Dao et al., 2022, algorithm 4). Weights are recomputed tile by tile, once for the
// gradients of keys and values and once for the queries', so that every sum has a fixed order and
// needs no atomics.
#pragma once

#include "masks.cuh"
#include "shapes.h"
#include "softmax.cuh"
#include "tiles.cuh"

namespace styleforge::attention {

// The sums of out * grad_out, one warp per query.
template <typename T>
__global__ void __launch_bounds__(128) attention_delta(const StyleforgeAttentionBackward p) {
    const StyleforgeAttention& f = p.forward;
    const long long number = blockIdx.x * 4ll + threadIdx.x / 32;
    const bool inside = number < 1ll * f.samples * f.heads * f.queries;
    const int query = number % f.queries, head = number / f.queries % f.heads;
    const long long sample = number / f.queries / f.heads;
    const long long at =
        sample * f.out_strides[0] + head * f.out_strides[1] + query * f.out_strides[2];
    float sum = 0.f;
    for (int i = threadIdx.x % 32; inside && i < f.columns; i += 32)
        sum += to_float(static_cast<const T*>(f.out)[at + i]) *
               to_float(static_cast<const T*>(p.grad_out)[at + i]);
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
    if (inside && threadIdx.x % 32 == 0) p.delta[number] = sum;
}

// Stores 16 rows of a warp's accumulators as rows of [N, L, H, kDim].
template <typename T, int kDim>
__device__ __forceinline__ void store_gradient(void* to, const float (&acc)[1][kDim / 8][4],
                                               float scale, int sample, int head, int heads,
                                               int row, int rows) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (row + 8 * r >= rows) continue;
        T* const at = static_cast<T*>(to) +
                      ((1ll * sample * rows + row + 8 * r) * heads + head) * kDim +
                      threadIdx.x % 4 * 2;
#pragma unroll
        for (int j = 0; j < kDim / 8; ++j)
            *reinterpret_cast<uint32_t*>(at + j * 8) =
                Pair<T>::pack(acc[0][j][2 * r] * scale, acc[0][j][2 * r + 1] * scale);
    }
}

// Gradients of 64 keys and their values. Rows of a product are keys, columns are queries.
template <typename T, int kDim>
__global__ void __launch_bounds__(BackwardShape<kDim>::kThreads)
    attention_backward_keys(const StyleforgeAttentionBackward p) {
    using Shape = BackwardShape<kDim>;
    using Own = Tile<T, kDim, Shape::kOwn>;
    using Other = Tile<T, kDim, Shape::kOther>;
    constexpr int kThreads = Shape::kThreads, kQueries = Shape::kOther;
    const StyleforgeAttention& f = p.forward;

    extern __shared__ __align__(128) unsigned char shared[];
    const uint32_t k_tile = smem_address(shared), v_tile = k_tile + Own::kBytes;
    const uint32_t q_tiles = v_tile + Own::kBytes, g_tiles = q_tiles + 2 * Other::kBytes;
    float* const statistics =  // two buffers of lse and delta of a tile of queries
        reinterpret_cast<float*>(shared + 2 * Own::kBytes + 4 * Other::kBytes);

    const int head = blockIdx.y, sample = blockIdx.z;
    const T* const q = plane_of<T>(f.q, f.q_strides, sample, head);
    const T* const g = plane_of<T>(p.grad_out, f.out_strides, sample, head);
    const T* const mask =
        f.mask != nullptr ? plane_of<T>(f.mask, f.mask_strides, sample, head) : nullptr;
    const long long plane = 1ll * sample * f.heads + head;
    const int first_key = blockIdx.x * Shape::kOwn;
    const int begin = f.causal ? first_key / kQueries : 0;
    const int tiles = (f.queries + kQueries - 1) / kQueries;

    const auto fetch = [&](int tile) {
        if (tile < tiles) {
            const int side = tile % 2 * Other::kBytes;
            Other::template copy<kThreads>(q_tiles + side, q, f.q_strides[2], tile * kQueries,
                                           f.queries);
            Other::template copy<kThreads>(g_tiles + side, g, f.out_strides[2], tile * kQueries,
                                           f.queries);
            for (int i = threadIdx.x; i < 2 * kQueries; i += kThreads) {
                const int query = min(tile * kQueries + i % kQueries, f.queries - 1);
                const float* const from = i < kQueries ? f.lse : p.delta;
                statistics[tile % 2 * 2 * kQueries + i] = from[plane * f.queries + query];
            }
        }
        cp_async_commit();
    };
    Own::template copy<kThreads>(k_tile, plane_of<T>(f.k, f.k_strides, sample, head),
                                 f.k_strides[2], first_key, f.keys);
    Own::template copy<kThreads>(v_tile, plane_of<T>(f.v, f.v_strides, sample, head),
                                 f.v_strides[2], first_key, f.keys);
    fetch(begin);

    const int warp = threadIdx.x / 32;
    const int row = first_key + warp * 16 + threadIdx.x % 32 / 4;
    float grad_k[1][kDim / 8][4] = {}, grad_v[1][kDim / 8][4] = {};

    for (int tile = begin; tile < tiles; ++tile) {
        fetch(tile + 1);
        cp_async_wait<1>();
        __syncthreads();
        const uint32_t q_tile = q_tiles + tile % 2 * Other::kBytes;
        const uint32_t g_tile = g_tiles + tile % 2 * Other::kBytes;
        const float* const lse = statistics + tile % 2 * 2 * kQueries;
        const float* const delta = lse + kQueries;

        uint32_t operand[1][kDim / 16][4];
        float weights[1][kQueries / 8][4], change[1][kQueries / 8][4];
#pragma unroll
        for (int step = 0; step < kDim / 16; ++step)
            Own::first_operand(operand[0][step], k_tile, warp * 16, step);
        multiply_rows<T, kDim, kQueries>(weights, operand, q_tile);
#pragma unroll
        for (int step = 0; step < kDim / 16; ++step)
            Own::first_operand(operand[0][step], v_tile, warp * 16, step);
        multiply_rows<T, kDim, kQueries>(change, operand, g_tile);
        const uint32_t kept =
            f.state == nullptr ? ~0u
                               : Dropout(f.state, f.dropped, plane)
                                     .kept_of_keys<kQueries>(
                                         tile * kQueries + threadIdx.x % 4 * 2, row);
#pragma unroll
        for (int j = 0; j < kQueries / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int column = j * 8 + threadIdx.x % 4 * 2 + i % 2;
                const int query = tile * kQueries + column, key = row + i / 2 * 8;
                const float w =
                    weight_of<T>(weights[0][j][i], f, mask, query, key, lse[column]);
                const float share = kept >> (j * 4 + i) & 1 ? f.kept_scale : 0.f;
                weights[0][j][i] = w * share;
                change[0][j][i] = w * (change[0][j][i] * share - delta[column]);
            }
        accumulate_rows<T, kDim, kQueries>(grad_v, weights, g_tile);
        accumulate_rows<T, kDim, kQueries>(grad_k, change, q_tile);
        __syncthreads();
    }
    cp_async_wait<0>();
    store_gradient<T, kDim>(p.grad_k, grad_k, f.scale, sample, head, f.heads, row, f.keys);
    store_gradient<T, kDim>(p.grad_v, grad_v, 1.f, sample, head, f.heads, row, f.keys);
}

// Gradients of 64 queries. Rows of a product are queries, columns are keys.
template <typename T, int kDim>
__global__ void __launch_bounds__(BackwardShape<kDim>::kThreads)
    attention_backward_queries(const StyleforgeAttentionBackward p) {
    using Shape = BackwardShape<kDim>;
    using Own = Tile<T, kDim, Shape::kOwn>;
    using Other = Tile<T, kDim, Shape::kOther>;
    constexpr int kThreads = Shape::kThreads, kKeys = Shape::kOther;
    const StyleforgeAttention& f = p.forward;

    extern __shared__ __align__(128) unsigned char shared[];
    const uint32_t q_tile = smem_address(shared), g_tile = q_tile + Own::kBytes;
    const uint32_t k_tiles = g_tile + Own::kBytes, v_tiles = k_tiles + 2 * Other::kBytes;

    const int head = blockIdx.y, sample = blockIdx.z;
    const T* const k = plane_of<T>(f.k, f.k_strides, sample, head);
    const T* const v = plane_of<T>(f.v, f.v_strides, sample, head);
    const T* const mask =
        f.mask != nullptr ? plane_of<T>(f.mask, f.mask_strides, sample, head) : nullptr;
    const long long plane = 1ll * sample * f.heads + head;
    const int first_query = (f.causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Shape::kOwn;
    const int last_query = min(first_query + Shape::kOwn, f.queries) - 1;
    const int keys = f.causal ? min(f.keys, last_query + 1) : f.keys;
    const int tiles = (keys + kKeys - 1) / kKeys;

    const auto fetch = [&](int tile) {
        if (tile < tiles) {
            const int side = tile % 2 * Other::kBytes;
            Other::template copy<kThreads>(k_tiles + side, k, f.k_strides[2], tile * kKeys, f.keys);
            Other::template copy<kThreads>(v_tiles + side, v, f.v_strides[2], tile * kKeys, f.keys);
        }
        cp_async_commit();
    };
    Own::template copy<kThreads>(q_tile, plane_of<T>(f.q, f.q_strides, sample, head),
                                 f.q_strides[2], first_query, f.queries);
    Own::template copy<kThreads>(g_tile, plane_of<T>(p.grad_out, f.out_strides, sample, head),
                                 f.out_strides[2], first_query, f.queries);
    fetch(0);

    const int warp = threadIdx.x / 32;
    const int row = first_query + warp * 16 + threadIdx.x % 32 / 4;
    float lse[2], delta[2], grad_q[1][kDim / 8][4] = {};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const long long at = plane * f.queries + min(row + 8 * r, f.queries - 1);
        lse[r] = f.lse[at], delta[r] = p.delta[at];
    }

    for (int tile = 0; tile < tiles; ++tile) {
        fetch(tile + 1);
        cp_async_wait<1>();
        __syncthreads();
        const uint32_t k_tile = k_tiles + tile % 2 * Other::kBytes;
        const uint32_t v_tile = v_tiles + tile % 2 * Other::kBytes;

        uint32_t operand[1][kDim / 16][4];
        float weights[1][kKeys / 8][4], change[1][kKeys / 8][4];
#pragma unroll
        for (int step = 0; step < kDim / 16; ++step)
            Own::first_operand(operand[0][step], q_tile, warp * 16, step);
        multiply_rows<T, kDim, kKeys>(weights, operand, k_tile);
#pragma unroll
        for (int step = 0; step < kDim / 16; ++step)
            Own::first_operand(operand[0][step], g_tile, warp * 16, step);
        multiply_rows<T, kDim, kKeys>(change, operand, v_tile);
        const uint32_t kept = f.state == nullptr
                                  ? ~0u
                                  : Dropout(f.state, f.dropped, plane)
                                        .kept_of_queries<kKeys>(
                                            row, tile * kKeys + threadIdx.x % 4 * 2);
#pragma unroll
        for (int j = 0; j < kKeys / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int query = row + i / 2 * 8;
                const int key = tile * kKeys + j * 8 + threadIdx.x % 4 * 2 + i % 2;
                const float w =
                    weight_of<T>(weights[0][j][i], f, mask, query, key, lse[i / 2]);
                const float share = kept >> (j * 4 + i) & 1 ? f.kept_scale : 0.f;
                change[0][j][i] = w * (change[0][j][i] * share - delta[i / 2]);
            }
        accumulate_rows<T, kDim, kKeys>(grad_q, change, k_tile);
        __syncthreads();
    }
    cp_async_wait<0>();
    store_gradient<T, kDim>(p.grad_q, grad_q, f.scale, sample, head, f.heads, row, f.queries);
}

}  // namespace styleforge::attention
