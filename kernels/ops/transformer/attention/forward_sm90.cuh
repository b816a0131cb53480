// Attention on Hopper (sm_90a): one warp loads tiles of keys and values with TMA. Two warpgroups
// multiply with wgmma and hold an online softmax in registers, like FlashAttention-3 (Shah et al.,
// 2024). While one warpgroup computes exponentials, the tensor cores work for the other.
#pragma once

#include "include/common/convert.cuh"
#include "include/sm90/named_barriers.cuh"
#include "include/sm90/pipeline.cuh"
#include "include/sm90/wgmma.cuh"
#include "ops/transformer/transformer.h"
#include "operands_sm90.cuh"
#include "shapes.h"
#include "softmax.cuh"
#include "tma.cuh"
#include "wgmma_attention.cuh"

namespace styleforge::attention {

// Named barriers besides sm90::kMmaTurnBarrier: sums are ready for the other warpgroup, or
// consumed.
constexpr int kToMergeBarrier = 1, kMergedBarrier = 2;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// scores = q k^T for 64 queries and a tile of keys, committed as a wgmma group.
template <typename T, int kDim, typename Shape>
__device__ __forceinline__ void multiply_keys(float (&scores)[Shape::kKeys / 2], uint32_t q,
                                              uint32_t k) {
    keep(scores);
    sm90::wgmma_fence();
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) {
        const int box = step * 16 / Shape::kBoxColumns;
        const int inside = step * 16 % Shape::kBoxColumns * 2;
        WgmmaSmem<T, Shape::kKeys>::mma(
            scores, descriptor<Shape>(q + box * Shape::kQueries * Shape::kRowBytes + inside, 16),
            descriptor<Shape>(k + box * Shape::kKeys * Shape::kRowBytes + inside, 16), step > 0);
    }
    sm90::wgmma_commit();
}

// out += weights v, committed as a wgmma group.
template <typename T, int kDim, typename Shape>
__device__ __forceinline__ void multiply_values(float (&out)[kDim / 2],
                                                uint32_t (&weights)[Shape::kKeys / 16][4],
                                                uint32_t v) {
    keep(out);
    sm90::wgmma_fence();
#pragma unroll
    for (int step = 0; step < Shape::kKeys / 16; ++step)
        WgmmaRegisters<T, kDim>::mma(
            out, weights[step],
            descriptor<Shape>(v + step * 2 * Shape::kEightRows, Shape::kKeys * Shape::kRowBytes),
            1);
    sm90::wgmma_commit();
}

// The queries and the plane that a block computes next.
struct Work {
    int first_query, head, sample, tiles;  // tiles of keys

    template <int kQueries, int kKeys>
    static __device__ __forceinline__ Work at(int number, const StyleforgeAttention& p) {
        const int across = (p.queries + kQueries - 1) / kQueries, planes = p.heads * p.samples;
        // With a causal mask, the last queries see the most keys, so their tiles start first.
        const int tile = p.causal ? across - 1 - number / planes : number % across;
        const int plane = p.causal ? number % planes : number / across;
        const int last_query = min((tile + 1) * kQueries, p.queries) - 1;
        const int keys = p.causal ? min(p.keys, last_query + 1) : p.keys;
        return {tile * kQueries, plane % p.heads, plane / p.heads, (keys + kKeys - 1) / kKeys};
    }
};

// Waits for all products. The two instances differ, since the compiler would otherwise merge them.
template <int kWhich>
__device__ __forceinline__ void wait_for_values() {
    if constexpr (kWhich)
        asm volatile("wgmma.wait_group.sync.aligned 0;  // and scale" ::: "memory");
    else
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

// Masks the keys of a tile that do not exist or that a query must not see.
template <int kCount>
__device__ __forceinline__ void hide_keys(float (&scores)[kCount], int first_key, int keys,
                                          int row, bool causal) {
    const int column = first_key + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        const int key = column + i / 4 * 8 + i % 2;
        const int limit = causal ? min(keys, row + i / 2 % 2 * 8 + 1) : keys;
        if (key >= limit) scores[i] = -INFINITY;
    }
}

// Packs the accumulators of a product as the A operand of the next one.
template <typename T, int kCount>
__device__ __forceinline__ void pack_weights(uint32_t (&to)[kCount / 8][4],
                                             const float (&from)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) to[i / 8][i / 2 % 4] = Pair<T>::pack(from[i], from[i + 1]);
}

#endif

// Runs at most one block per multiprocessor. The first tiles of the next work item arrive while the
// last sums of the current one are stored.
template <typename T, int kDim, bool kSplitKeys>
__global__ void __launch_bounds__(Sm90Shape<kDim, kSplitKeys>::kThreads, 1)
    attention_sm90(const __grid_constant__ TensorMaps maps, const StyleforgeAttention p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using namespace sm90;
    using Shape = Sm90Shape<kDim, kSplitKeys>;
    constexpr int kKeys = Shape::kKeys;
    constexpr bool kTakesTurns = !kSplitKeys;

    extern __shared__ uint8_t unaligned[];
    uint8_t* const shared =
        // swizzling depends on the address
        unaligned + (1024 - smem_address(unaligned) % 1024) % 1024;
    uint8_t* const q_tile = shared;
    uint8_t* const k_tiles = q_tile + Shape::kQueryBytes;
    uint8_t* const v_tiles = k_tiles + Shape::kStages * Shape::kTileBytes;
    float* const merge = reinterpret_cast<float*>(v_tiles + Shape::kStages * Shape::kTileBytes);
    uint64_t* const q_full =
        reinterpret_cast<uint64_t*>(reinterpret_cast<uint8_t*>(merge) + Shape::kMergeBytes);
    uint64_t* const q_empty = q_full + 1;
    uint64_t *const k_full = q_empty + 1, *const k_empty = k_full + Shape::kStages;
    uint64_t *const v_full = k_empty + Shape::kStages, *const v_empty = v_full + Shape::kStages;

    if (threadIdx.x == 0) {
        constexpr int kWarps = 4 * Shape::kGroups * kArrivals;
        constexpr int kOfStage = kSplitKeys ? 4 * kArrivals : kWarps;
        mbarrier_init(q_full, 1), mbarrier_init(q_empty, kWarps);
        for (int i = 0; i < Shape::kStages; ++i) {
            mbarrier_init(k_full + i, 1), mbarrier_init(k_empty + i, kOfStage);
            mbarrier_init(v_full + i, 1), mbarrier_init(v_empty + i, kOfStage);
        }
        fence_mbarrier_init();
    }
    __syncthreads();

    const int works = (p.queries + Shape::kQueries - 1) / Shape::kQueries * p.heads * p.samples;
    // Uniform across a warp; the shuffle tells the compiler so.
    const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0) - 1;

    if (group < 0) {
        warpgroup_reg_dealloc<24>();
        if (threadIdx.x == 0) {
            tma_prefetch(maps.q), tma_prefetch(maps.k), tma_prefetch(maps.v);
            PipelineState<Shape::kStages> stage;
            int turn = 0;
            for (int number = blockIdx.x; number < works; number += gridDim.x, turn ^= 1) {
                const Work work = Work::at<Shape::kQueries, kKeys>(number, p);
                const auto fetch = [&](const TensorMap& map, uint8_t* tiles_of, uint64_t* full,
                                       uint64_t* empty, int tile) {
                    mbarrier_wait_parity(empty + stage.index, stage.phase ^ 1);
                    mbarrier_arrive_expect_tx(full + stage.index, Shape::kTileBytes);
                    for (int box = 0; box < Shape::kBoxes; ++box)
                        tma_load(tiles_of + stage.index * Shape::kTileBytes +
                                     box * kKeys * Shape::kRowBytes,
                                 map, box * Shape::kBoxColumns, tile * kKeys, work.head,
                                 work.sample, full + stage.index);
                };
                for (int tile = work.tiles - 1; tile >= 0; --tile) {
                    fetch(maps.k, k_tiles, k_full, k_empty, tile);
                    if (tile == work.tiles - 1) {
                        mbarrier_wait_parity(q_empty, turn ^ 1);
                        mbarrier_arrive_expect_tx(q_full, Shape::kQueryBytes);
                        for (int box = 0; box < Shape::kBoxes; ++box)
                            tma_load(q_tile + box * Shape::kQueries * Shape::kRowBytes, maps.q,
                                     box * Shape::kBoxColumns, work.first_query, work.head,
                                     work.sample, q_full);
                    }
                    fetch(maps.v, v_tiles, v_full, v_empty, tile);
                    stage.next();
                }
            }
        }
        return;
    }

    warpgroup_reg_alloc<240>();
    constexpr int kStep = kSplitKeys ? Shape::kGroups : 1;
    const int thread = threadIdx.x % 128;
    const float scale_log2 = p.scale * 1.4426950408889634f;
    const uint32_t q = smem_address(q_tile) + (kSplitKeys ? 0 : group * 64 * Shape::kRowBytes);
    const auto key_tile = [&](int index) {
        return smem_address(k_tiles) + index * Shape::kTileBytes;
    };
    const auto value_tile = [&](int index) {
        return smem_address(v_tiles) + index * Shape::kTileBytes;
    };

    // The warpgroups alternate in issuing products (ping-pong).
    if (kTakesTurns && group == Shape::kGroups - 1) named_barrier_arrive<256>(kMmaTurnBarrier);
    PipelineState<Shape::kStages> first_stage;
    int turn = 0;
    for (int number = blockIdx.x; number < works; number += gridDim.x, turn ^= 1) {
        const Work work = Work::at<Shape::kQueries, kKeys>(number, p);
        const int first_row = work.first_query + (kSplitKeys ? 0 : group * 64);
        const int row = first_row + thread / 32 * 16 + thread % 32 / 4;  // and row + 8
        const int seen_by_all = p.causal ? min(p.keys, first_row + 1) : p.keys;

        float scores[kKeys / 2], out[kDim / 2], shrink[2];
        uint32_t weights[kKeys / 16][4];
        RowState rows[2];
#pragma unroll
        for (int i = 0; i < kDim / 2; ++i) out[i] = 0.f;
        const auto hide = [&](int tile) {
            if ((tile + 1) * kKeys > seen_by_all)
                hide_keys(scores, tile * kKeys, p.keys, row, p.causal);
        };

        int tile = work.tiles - 1 - (kSplitKeys ? group : 0);
        PipelineState<Shape::kStages> stage = first_stage;
        if (kSplitKeys && group) stage.next();
        first_stage.skip(work.tiles);
        mbarrier_wait_parity(q_full, turn);
        if (tile >= 0) {
            mbarrier_wait_parity(k_full + stage.index, stage.phase);
            multiply_keys<T, kDim, Shape>(scores, q, key_tile(stage.index));
            wgmma_wait<0>();
            keep(scores);
            mbarrier_arrive_warp(k_empty + stage.index);
            hide(tile);
            online_softmax(scores, rows, shrink, scale_log2);
            pack_weights<T>(weights, scores);

            for (tile -= kStep; tile >= 0; tile -= kStep) {
                PipelineState<Shape::kStages> next = stage;
                next.skip(kStep);
                mbarrier_wait_parity(k_full + next.index, next.phase);
                if (kTakesTurns) named_barrier_sync<256>(kMmaTurnBarrier + group);
                multiply_keys<T, kDim, Shape>(scores, q, key_tile(next.index));
                mbarrier_wait_parity(v_full + stage.index, stage.phase);
                multiply_values<T, kDim, Shape>(out, weights, value_tile(stage.index));
                if (kTakesTurns)
                    named_barrier_arrive<256>(kMmaTurnBarrier + (group + 1) % Shape::kGroups);
                wgmma_wait<1>();
                keep(scores);
                mbarrier_arrive_warp(k_empty + next.index);
                hide(tile);
                // The compiler would move a wait from before the branch to before the softmax.
                if (online_softmax(scores, rows, shrink, scale_log2)) {
                    wait_for_values<1>();
                    keep(out);
#pragma unroll
                    for (int i = 0; i < kDim / 2; ++i) out[i] *= shrink[i / 2 % 2];
                } else {
                    wait_for_values<0>();
                    keep(out);
                }
                mbarrier_arrive_warp(v_empty + stage.index);
                pack_weights<T>(weights, scores);
                stage = next;
            }
            mbarrier_arrive_warp(q_empty);
            mbarrier_wait_parity(v_full + stage.index, stage.phase);
            multiply_values<T, kDim, Shape>(out, weights, value_tile(stage.index));
            wgmma_wait<0>();
            keep(out);
            mbarrier_arrive_warp(v_empty + stage.index);
        } else {
            mbarrier_arrive_warp(q_empty);
        }

        float sums[2] = {row_sum(rows[0].sum), row_sum(rows[1].sum)};
        if constexpr (kSplitKeys) {
            if (group == 1) {
                if (number != blockIdx.x) named_barrier_sync<256>(kMergedBarrier);
#pragma unroll
                for (int i = 0; i < kDim / 2; ++i) merge[i * 128 + thread] = out[i];
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    merge[(kDim / 2 + r) * 128 + thread] = rows[r].origin;
                    merge[(kDim / 2 + 2 + r) * 128 + thread] = sums[r];
                }
                named_barrier_arrive<256>(kToMergeBarrier);
                continue;
            }
            named_barrier_sync<256>(kToMergeBarrier);
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const float theirs = merge[(kDim / 2 + r) * 128 + thread];
                const float origin = fmaxf(rows[r].origin, theirs);
                const float minus = origin == -INFINITY ? 0.f : -origin;
                const float mine = exp2_fast(rows[r].origin + minus);
                const float other = exp2_fast(theirs + minus);
                rows[r].origin = origin;
                sums[r] = sums[r] * mine + merge[(kDim / 2 + 2 + r) * 128 + thread] * other;
#pragma unroll
                for (int i = 2 * r; i < kDim / 2; i += 4) {
                    out[i] = out[i] * mine + merge[i * 128 + thread] * other;
                    out[i + 1] = out[i + 1] * mine + merge[(i + 1) * 128 + thread] * other;
                }
            }
            if (number + static_cast<int>(gridDim.x) < works)
                named_barrier_arrive<256>(kMergedBarrier);
        }

#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int query = row + 8 * r;
            if (query >= p.queries) continue;
            const float inverse = sums[r] > 0.f ? 1.f / sums[r] : sums[r];  // NaN passes through
            T* const to = static_cast<T*>(p.out) + work.sample * p.out_strides[0] +
                          work.head * p.out_strides[1] + query * p.out_strides[2] +
                          thread % 4 * 2;
#pragma unroll
            for (int i = 2 * r; i < kDim / 2; i += 4)
                *reinterpret_cast<uint32_t*>(to + i / 4 * 8) =
                    Pair<T>::pack(out[i] * inverse, out[i + 1] * inverse);
            if (thread % 4 == 0)
                p.lse[(1ll * work.sample * p.heads + work.head) * p.queries + query] =
                    log_sum_exp(rows[r].origin, sums[r]);
        }
    }
#endif
}

}  // namespace styleforge::attention
