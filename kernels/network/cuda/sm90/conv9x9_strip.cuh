// The first and the last layer for Hopper (sm_90a): 9x9 with few channels on one side. The 64 rows
// of a product are 32 channels (first layer), or nine kernel columns times three colors (last
// layer), for two rows of pixels; ten kernel rows then serve both. A block walks down a strip and
// loads each row of x once.
#pragma once

#include "include/common/border.cuh"
#include "include/common/pdl.cuh"
#include "include/common/range.cuh"
#include "epilogue.cuh"
#include "include/sm90/named_barriers.cuh"
#include "params.cuh"
#include "include/sm90/pipeline.cuh"
#include "statistics.cuh"
#include "include/sm90/wgmma.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <typename W>
struct StripBarriers {
    uint64_t pixels_full[W::kPixelStages], pixels_empty[W::kPixelStages], weights_full,
        staging_empty;
};

template <typename W>
__device__ __forceinline__ void init_strip(StripBarriers<W>& barriers, const EdgeConvParams& p,
                                           unsigned char* weights) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < W::kPixelStages; ++i)
            mbarrier_init(&barriers.pixels_full[i], kStripProducers / 32 * kArrivals),
                mbarrier_init(&barriers.pixels_empty[i], 8 * kArrivals);
        mbarrier_init(&barriers.weights_full, 1),
            mbarrier_init(&barriers.staging_empty, 4 * kArrivals);
    }
    fence_proxy_async();
    __syncthreads();
    pdl_launch_dependents();
    if (threadIdx.x == 0) {
        mbarrier_arrive_expect_tx(&barriers.weights_full, W::kWeightBytes);
        for (int i = 0; i < kKernelRows; ++i)
            cp_async_bulk(weights + i * W::kWeightRow,
                          static_cast<const unsigned char*>(p.weight) + i * W::kWeightRow,
                          W::kWeightRow, &barriers.weights_full);
    }
}

// A consumer warpgroup: every second pair of rows; `done(pair, acc)` is its epilogue.
template <typename W, typename Done>
__device__ __forceinline__ void consume_rows(unsigned char* slots, unsigned char* weights,
                                             StripBarriers<W>& barriers, int pairs, Done done) {
    const int group = threadIdx.x / 128;
    const uint32_t a_from = smem_address(weights), b_from = smem_address(slots);
    // The second warpgroup starts at pair 1 and never reads stage 0 in the first round.
    if (group == 1) mbarrier_arrive_warp(&barriers.pixels_empty[0]);
    mbarrier_wait_parity(&barriers.weights_full, 0);
    int seen = 0;
    for (int pair = group; pair < pairs; pair += 2) {
        for (; seen < pair + 5; ++seen)
            mbarrier_wait_parity(&barriers.pixels_full[seen % W::kPixelStages],
                                 seen / W::kPixelStages % 2);
        float acc[W::kBlockN / 2] = {};
        wgmma_fence();
#pragma unroll
        for (int row = 0; row < kKernelRows; ++row)
            wgmma_step<typename W::M, W::kBlockN, 2>(
                acc, a_from + row * W::kWeightRow, 1024,
                b_from + (pair + row / 2) % W::kPixelStages * W::kSlotBytes +
                    row % 2 * W::kRowBytes,
                W::kPartStride, 128);
        wgmma_commit();
        wgmma_wait<0>();
        mbarrier_arrive_warp(&barriers.pixels_empty[pair % W::kPixelStages]);
        mbarrier_arrive_warp(&barriers.pixels_empty[(pair + 1) % W::kPixelStages]);
        done(pair, acc);
    }
}

// Producers of the first layer unfold rows of the frame. A pixel's 32 values are the 27 colors
// under one kernel row, plus padding.
template <typename W, typename In>
__device__ __forceinline__ void produce_unfolded_rows(const EdgeConvParams& p, unsigned char* slots,
                                                      unsigned char* colors,
                                                      StripBarriers<W>& barriers, int from_x,
                                                      int from_y, int count) {
    using M = typename W::M;
    using O = typename M::O;
    constexpr int kIterations = (W::kColorElements + kStripProducers - 1) / kStripProducers;
    constexpr int kRowOfColors = 2 * W::kSources * W::kColorElements;  // elements
    const int thread = threadIdx.x - kConsumers;
    const In* x =
        static_cast<const In*>(p.x) + static_cast<size_t>(blockIdx.z) * p.height * p.width * 3;
    int column[kIterations];
#pragma unroll
    for (int k = 0; k < kIterations; ++k) {
        const int e = thread + k * kStripProducers;
        // Reflect twice: at the border of the padded picture, then at the frame's border.
        column[k] =
            reflect_index(reflect_index(from_x - 4 + e / 3, p.padded_width), p.width) * 3 + e % 3;
    }
    In value[2][kIterations];
    const auto load = [&](int slot) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const int y = reflect_index(reflect_index(from_y - 4 + slot * 2 + row, p.padded_height),
                                        p.height);
#pragma unroll
            for (int k = 0; k < kIterations; ++k) value[row][k] = x[y * p.width * 3 + column[k]];
        }
    };
    constexpr int kThreadsOfPixel = kStripProducers / W::kBlockN;
    static_assert(4 % kThreadsOfPixel == 0);
    // For odd elements, read words from the copy shifted by one element.
    const int pixel = thread % W::kBlockN, own_part = thread / W::kBlockN;
    const int own_color = pixel * 3 + own_part * 8 + (pixel % 2 ? W::kColorElements - 1 : 0);
    const int own_place = own_part * W::kPartStride + pixel * 16;
    load(0);
    PipelineState<W::kPixelStages> turn;
    for (int slot = 0; slot < count; ++slot, turn.next()) {
        O* rows = reinterpret_cast<O*>(colors) + slot % 2 * 2 * kRowOfColors;
#pragma unroll
        for (int row = 0; row < 2; ++row)
#pragma unroll
            for (int k = 0; k < kIterations; ++k) {
                const int e = thread + k * kStripProducers;
                if (e >= W::kColorElements) continue;
                const float v = to_float(value[row][k]);
                const O high = from_float<O>(v);
                O* to = rows + row * kRowOfColors + e;
                to[0] = high;
                if (e) to[W::kColorElements - 1] = high;
                if constexpr (M::kSplit) {
                    const O low = from_float<O>(v - to_float(high));
                    to[2 * W::kColorElements] = low;
                    if (e) to[3 * W::kColorElements - 1] = low;
                }
            }
        if (slot + 1 < count) load(slot + 1);
        named_barrier_sync<kStripProducers>(kProducerBarrier);
        mbarrier_wait_parity(&barriers.pixels_empty[turn.index], turn.phase ^ 1);
        // A thread always unfolds the same pixel, and the same one of every kThreadsOfPixel parts.
#pragma unroll
        for (int i = 0; i < 2 * W::kAllParts; i += kThreadsOfPixel) {
            const int row = i / W::kAllParts, part = i % W::kAllParts;
            const auto* from =
                reinterpret_cast<const uint32_t*>(rows + own_color + row * kRowOfColors +
                                                  part / 4 * 2 * W::kColorElements + part % 4 * 8);
            *reinterpret_cast<uint4*>(slots + turn.index * W::kSlotBytes + own_place +
                                      row * W::kRowBytes +
                                      part * W::kPartStride) = {from[0], from[1], from[2], from[3]};
        }
        fence_proxy_async();
        __syncwarp();
        mbarrier_arrive_warp(&barriers.pixels_full[turn.index]);
    }
}

// Producers of the last layer load rows of its input and normalize them.
template <typename W>
__device__ __forceinline__ void produce_normalized_rows(const EdgeConvParams& p,
                                                        unsigned char* slots,
                                                        StripBarriers<W>& barriers, int from_x,
                                                        int from_y, int count) {
    using M = typename W::M;
    using S = typename M::S;
    constexpr int kPixels = kStripProducers / 4;
    constexpr int kIterations = (2 * W::kBlockN + kPixels - 1) / kPixels;
    __shared__ float2 affine[32];
    const int thread = threadIdx.x - kConsumers, part = thread % 4;
    const S* x = static_cast<const S*>(p.x) +
                 static_cast<size_t>(blockIdx.z) * p.padded_height * p.padded_width * 32 + part * 8;
    int column[kIterations];
#pragma unroll
    for (int k = 0; k < kIterations; ++k)
        column[k] =
            reflect_index(from_x - 4 + (thread / 4 + k * kPixels) % W::kBlockN, p.padded_width);
    Vec8<S> value[kIterations];
    const auto load = [&](int slot) {
        int row[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
            row[i] = reflect_index(from_y - 4 + slot * 2 + i, p.padded_height) * p.padded_width;
#pragma unroll
        for (int k = 0; k < kIterations; ++k) {
            const int q = thread / 4 + k * kPixels;
            if (q < 2 * W::kBlockN)
                value[k].load(x + 32 * static_cast<size_t>(row[q >= W::kBlockN] + column[k]));
        }
    };
    load(0);
    if (thread < 32) affine[thread] = norm_affine<32>(p.norm, blockIdx.z, thread);
    named_barrier_sync<kStripProducers>(kProducerBarrier);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    PipelineState<W::kPixelStages> turn;
    for (int slot = 0; slot < count; ++slot, turn.next()) {
        mbarrier_wait_parity(&barriers.pixels_empty[turn.index], turn.phase ^ 1);
        unsigned char* to = slots + turn.index * W::kSlotBytes + part * W::kPartStride;
#pragma unroll
        for (int k = 0; k < kIterations; ++k) {
            const int q = thread / 4 + k * kPixels;
            if (q >= 2 * W::kBlockN) continue;
            normalize_activate<M, false>(
                to + (q < W::kBlockN ? q * 16 : W::kRowBytes + (q - W::kBlockN) * 16),
                4 * W::kPartStride, value[k], value[k], own, nullptr, false);
        }
        if (slot + 1 < count) load(slot + 1);
        fence_proxy_async();
        __syncwarp();
        mbarrier_arrive_warp(&barriers.pixels_full[turn.index]);
    }
}

#endif

template <typename W, typename In>
__global__ void __launch_bounds__(W::kThreads, 1) first_layer_strips(const EdgeConvParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using M = typename W::M;
    using S = typename M::S;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared;
    unsigned char* staging = weights + W::kWeightBytes;
    unsigned char* slots = staging + W::kStagingSpace;
    unsigned char* colors = slots + W::kPixelStages * W::kSlotBytes;
    __shared__ StripBarriers<W> barriers;
    init_strip<W>(barriers, p, weights);
    const int sample = blockIdx.z;
    const int from_x = blockIdx.x % p.strips * W::kWidth, from_y = blockIdx.x / p.strips * p.rows;
    const int pairs = min(p.rows, p.padded_height - from_y) / 2;
    if (threadIdx.x >= kConsumers) {
        pdl_wait();
        if (blockIdx.x == 0 && threadIdx.x == kConsumers) OutputRange::clear(p.range + sample * 3);
        produce_unfolded_rows<W, In>(p, slots, colors, barriers, from_x, from_y, pairs + 4);
        return;
    }
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int valid = p.padded_width - from_x;
    unsigned char* own = staging + group * W::kStagingOfGroup;
    WelfordFp32x2 moments;
    consume_rows<W>(slots, weights, barriers, pairs, [&](int pair, float (&acc)[W::kBlockN / 2]) {
        moments.add_row<W::kBlockN>(acc, valid);
        constexpr int kChunk = W::kChunk;
        constexpr int kPieces = 64 * sizeof(S) / 16;
        const int piece = threadIdx.x % kPieces, below = piece / (kPieces / 2);
        auto* y = static_cast<S*>(p.y) +
                  ((static_cast<size_t>(sample) * p.padded_height + from_y + pair * 2 + below) *
                       p.padded_width +
                   from_x) *
                      32;
#pragma unroll 1
        for (int chunk = 0; chunk < W::kBlockN / kChunk; ++chunk) {
            stage_accumulators<M, W::kBlockN, kChunk>(acc, own, chunk);
            named_barrier_sync<128>(kStagingBarrier + group);
#pragma unroll 4
            for (int q = threadIdx.x % 128 / kPieces; q < kChunk; q += 128 / kPieces) {
                const int column = chunk * kChunk + q;
                if (column < valid)
                    reinterpret_cast<uint4*>(y + column * 32)[piece % (kPieces / 2)] =
                        *reinterpret_cast<const uint4*>(own + q * M::kPitch + piece * 16);
            }
            named_barrier_sync<128>(kStagingBarrier + group);
        }
    });
    write_statistics<32>(p.statistics, moments, sample, group * 64 + warp * 16 + lane / 4,
                         reinterpret_cast<float4*>(staging));
#endif
}

template <typename W, typename Out>
__global__ void __launch_bounds__(W::kThreads, 1) last_layer_strips(const EdgeConvParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared;
    float* staging = reinterpret_cast<float*>(weights + W::kWeightBytes);
    unsigned char* slots = weights + W::kWeightBytes + W::kStagingSpace;
    __shared__ StripBarriers<W> barriers;
    init_strip<W>(barriers, p, weights);
    const int sample = blockIdx.z;
    const int from_x = blockIdx.x % p.strips * W::kWidth, from_y = blockIdx.x / p.strips * p.rows;
    const int pairs = (min(p.rows, p.height - from_y) + 1) / 2;
    if (threadIdx.x >= kConsumers) {
        pdl_wait();
        produce_normalized_rows<W>(p, slots, barriers, from_x, from_y, pairs + 4);
        return;
    }
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    auto* y = static_cast<Out*>(p.y) + static_cast<size_t>(sample) * p.height * p.width * 3;
    OutputRange span;
    float bias[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) bias[c] = __ldg(p.bias + c);
    consume_rows<W>(slots, weights, barriers, pairs, [&](int pair, float (&acc)[W::kBlockN / 2]) {
        // The warpgroups alternate on the staging area, pair by pair.
        if (pair > 0) mbarrier_wait_parity(&barriers.staging_empty, (pair - 1) % 2);
        const int row = warp * 16 + lane / 4;
#pragma unroll
        for (int h = 0; h < 2; ++h)
            if (row + h * 8 < 54)
#pragma unroll
                for (int j = 0; j < W::kBlockN / 8; ++j)
                    *reinterpret_cast<float2*>(staging + (row + h * 8) * W::kBlockN + j * 8 +
                                               lane % 4 * 2) = {acc[j * 4 + h * 2],
                                                                acc[j * 4 + h * 2 + 1]};
        named_barrier_sync<128>(kStagingBarrier + group);
        for (int i = threadIdx.x % 128; i < 2 * W::kWidth; i += 128) {
            const int x = i % W::kWidth, below = i / W::kWidth, oy = from_y + pair * 2 + below;
            float sum[3] = {bias[0], bias[1], bias[2]};
#pragma unroll
            for (int tap = 0; tap < 9; ++tap)
#pragma unroll
                for (int c = 0; c < 3; ++c)
                    sum[c] += staging[(below * 27 + tap * 3 + c) * W::kBlockN + x + tap];
            if (from_x + x >= p.width || oy >= p.height) continue;
            Out* to = y + (static_cast<size_t>(oy) * p.width + from_x + x) * 3;
#pragma unroll
            for (int c = 0; c < 3; ++c) span.add(sum[c]), to[c] = from_float<Out>(sum[c]);
        }
        __syncwarp();
        mbarrier_arrive_warp(&barriers.staging_empty);
    });
    span.merge_into(p.range + sample * 3);
#endif
}

}  // namespace styleforge::sm90
