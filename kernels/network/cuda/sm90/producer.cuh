// Producer warps of the 3x3 layers. All but the last load activations, normalize them and write
// operands into the ring of pixel stages; one thread of the last copies weights into the ring of
// weight stages.
#pragma once

#include "include/sm90/named_barriers.cuh"
#include "operands.cuh"
#include "params.cuh"
#include "include/sm90/pipeline.cuh"
#include "traits.cuh"
#include "include/common/border.cuh"
#include "include/common/pdl.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <typename F>
struct PipelineBarriers {
    uint64_t pixels_full[F::kPixelStages], pixels_empty[F::kPixelStages];
    uint64_t weights_full[F::kWeightStages], weights_empty[F::kWeightStages];
};

// Coordinates of pixel `i` of a patch along the long and the short side of its tile. With stride 2,
// pixels are numbered in memory order, so that a warp reads whole lines.
template <typename F>
__device__ __forceinline__ int2 patch_pixel(int i, bool across) {
    if constexpr (F::kStride == 2)
        return across ? int2{i % F::kPatchLong, i / F::kPatchLong}
                      : int2{i / F::kPatchShort, i % F::kPatchShort};
    else return {i / F::kPitch, i % F::kPitch};
}

// The offset of eight channels of a pixel in a slot.
template <typename F>
__device__ __forceinline__ int operand_place(int part, int pixel) {
    return F::kSwizzled ? pixel * 128 + (part ^ pixel % 8) * 16
                        : part * F::kPartStride + pixel * 16;
}

// The slot positions of a patch's pixels, if they differ from the numbering (stride 2).
template <typename F>
__device__ __forceinline__ void compute_slot_places(unsigned short* places, bool across) {
    if constexpr (F::kStride == 2)
        for (int i = threadIdx.x - kConsumers; i < F::kPatchPixels; i += F::kPixelProducers) {
            const int2 at = patch_pixel<F>(i, across);
            places[i] = (at.x % 2 * 2 + at.y % 2) * F::kQuarter + at.x / 2 * F::kPitch + at.y / 2;
        }
}

// The offset in x of each pixel of a tile's patch, in units of eight channels so that large
// pictures fit in 31 bits. The highest bit is set if another tile stores that activated pixel.
template <typename F, bool kKeep>
__device__ __forceinline__ void compute_pixel_offsets(int* pixel_offsets, const ConvParams& p,
                                                      int tile) {
    const int size_long = p.across ? p.width : p.height, size_short = p.across ? p.height : p.width;
    const int step_long = (p.across ? 1 : p.width) * (F::kCin / 8);
    const int step_short = (p.across ? p.width : 1) * (F::kCin / 8);
    const int from_long = tile / p.tiles_short * F::kTileLong * F::kStride - 1;
    const int from_short = tile % p.tiles_short * 8 * F::kStride - 1;
    for (int i = threadIdx.x - kConsumers; i < F::kPatchPixels; i += F::kPixelProducers) {
        const auto [l, s] = patch_pixel<F>(i, p.across);
        const int along = from_long + l, aside = from_short + s;
        constexpr bool kRepeats = F::kSampling == Sampling::kUp;  // borders apply before upsampling
        const int at =
            (kRepeats ? clamp_index(along, size_long) : reflect_index(along, size_long)) *
                step_long +
            (kRepeats ? clamp_index(aside, size_short) : reflect_index(aside, size_short)) *
                step_short;
        const bool own = l > 0 && l <= F::kTileLong && s > 0 && s <= 8 && along < size_long &&
                         aside < size_short;
        pixel_offsets[i] = !kKeep || own ? at : at | 0x80000000;
    }
}

template <typename F, bool kAdd, bool kKeep>
__device__ __forceinline__ void produce_pixels(const ConvParams& p, unsigned char* pixel_stages,
                                               PipelineBarriers<F>& barriers,
                                               const float2* affine) {
    using M = typename F::M;
    using S = typename M::S;
    constexpr int kParts = F::kParts,
                  kPixels = F::kPixelProducers / kParts;  // pixels per iteration
    constexpr int kIterations = (F::kPatchPixels + kPixels - 1) / kPixels;
    // loads in flight
    constexpr int kPrefetch = (F::kReallocRegisters ? 16
                               : F::kStride == 2    ? 12
                                                    : 8) /
                              (kAdd || kKeep ? 2 : 1) / (M::kStoresFp32 ? 2 : 1);
    __shared__ int pixel_offsets[2][F::kPatchPixels];
    __shared__ unsigned short places[F::kStride == 2 ? F::kPatchPixels : 1];
    compute_slot_places<F>(places, p.across);
    const int first = (threadIdx.x - kConsumers) / kParts, part = threadIdx.x % kParts;
    const size_t from = static_cast<size_t>(blockIdx.z) * p.height * p.width * F::kCin + part * 8;
    const S* x = static_cast<const S*>(p.x) + from;
    const S* residual = kAdd ? static_cast<const S*>(p.residual) + from : nullptr;
    S* keep = kKeep ? static_cast<S*>(p.activated) + from : nullptr;
    const int tiles = p.tiles_long * p.tiles_short;
    PipelineState<F::kPixelStages> slot;
    PipelineState<2> table;
    bool ready = false;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, table.next()) {
        compute_pixel_offsets<F, kKeep>(pixel_offsets[table.index], p, tile);
        named_barrier_sync<F::kPixelProducers>(kProducerBarrier);
        if (!ready) pdl_wait();
        const int* place = pixel_offsets[table.index] + first;
        for (int block_k = 0; block_k < F::kBlocksK; ++block_k, slot.next()) {
            Vec8<S> raw[kPrefetch], add[kAdd ? kPrefetch : 1];
            unsigned offset[kKeep ? kPrefetch : 1];
            bool own_pixel[kKeep ? kPrefetch : 1];
            const auto within = [&](int turn) {
                return (turn + 1) * kPixels <= F::kPatchPixels ||
                       turn * kPixels + first < F::kPatchPixels;
            };
            const auto load = [&](int turn) {
                if (!within(turn)) return;
                const int k = turn % kPrefetch;
                const int at = place[turn * kPixels];
                const int there = kKeep ? at & 0x7fffffff : at;
                raw[k].load(x + block_k * F::kBlockK + 8 * static_cast<size_t>(there));
                if (kAdd)
                    add[k].load(residual + block_k * F::kBlockK + 8 * static_cast<size_t>(there));
                if (kKeep) offset[k] = there, own_pixel[k] = at >= 0;
            };
#pragma unroll
            for (int turn = 0; turn < kPrefetch && turn < kIterations; ++turn) load(turn);
            if (!ready)
                named_barrier_sync<F::kCin + F::kPixelProducers>(kNormReadyBarrier), ready = true;
            float2 own[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) own[i] = affine[block_k * F::kBlockK + part * 8 + i];
            mbarrier_wait_parity(&barriers.pixels_empty[slot.index], slot.phase ^ 1);
            unsigned char* to = pixel_stages + slot.index * F::kSlotBytes;
            // In the swizzle, every second turn of a thread has the same position among eight
            // pixels.
            static_assert(!F::kSwizzled || kPixels % 4 == 0);
            unsigned char* swizzled[2] = {
                to + operand_place<F>(part, first),
                to + operand_place<F>(part, first + kPixels) - kPixels * F::kPixelBytes};
#pragma unroll
            for (int turn = 0; turn < kIterations; ++turn) {
                const int k = turn % kPrefetch, pixel = turn * kPixels + first;
                if (within(turn))
                    normalize_activate<M, kAdd>(
                        F::kSwizzled
                            ? swizzled[turn % 2] + turn * kPixels * F::kPixelBytes
                            : to + operand_place<F>(part, F::kStride == 2 ? places[pixel] : pixel),
                        kParts * F::kPartStride, raw[k], add[kAdd ? k : 0], own,
                        kKeep ? keep + block_k * F::kBlockK + 8 * static_cast<size_t>(offset[k])
                              : nullptr,
                        kKeep && own_pixel[k]);
                if (turn + kPrefetch < kIterations) load(turn + kPrefetch);
            }
            fence_proxy_async();
            __syncwarp();
            mbarrier_arrive_warp(&barriers.pixels_full[slot.index]);
        }
    }
}

template <typename F>
__device__ __forceinline__ void produce_weights(const ConvParams& p, unsigned char* weight_stages,
                                                PipelineBarriers<F>& barriers) {
    const auto* weight = static_cast<const unsigned char*>(p.weight);
    const auto copy = [&](int stage, int step) {
        mbarrier_arrive_expect_tx(&barriers.weights_full[stage], F::kStageBytes);
        cp_async_bulk(weight_stages + stage * F::kStageBytes, weight + step * F::kStageBytes,
                      F::kStageBytes, &barriers.weights_full[stage]);
    };
    if constexpr (F::kResident) {
        for (int step = 0; step < F::kWeightStages; ++step) copy(step, step);
    } else {
        const int tiles = p.tiles_long * p.tiles_short;
        PipelineState<F::kWeightStages> stage;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            for (int turn = 0; turn < 2 * F::kPasses; ++turn) {
                const int pass = turn / 2, group = F::kSplitPixels ? 0 : turn % 2;
                for (int step = 0; step < F::kSteps; ++step, stage.next()) {
                    mbarrier_wait_parity(&barriers.weights_empty[stage.index], stage.phase ^ 1);
                    copy(stage.index, (group * F::kPasses + pass) * F::kSteps + step);
                }
            }
    }
}

#endif

}  // namespace styleforge::sm90
