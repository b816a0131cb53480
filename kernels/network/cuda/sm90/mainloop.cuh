// The tiled 3x3 layers for Hopper (sm_90a): producer warps load and normalize the pixels of the
// next tile while two consumer warpgroups multiply the current one.
#pragma once

#include "epilogue.cuh"
#include "producer.cuh"
#include "statistics.cuh"
#include "include/sm90/wgmma.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Consumer warpgroups, ping-pong: one issues WGMMA while the other runs its epilogue.
template <typename F>
__device__ __forceinline__ void consume_tiles(const ConvParams& p, unsigned char* pixel_stages,
                                              unsigned char* weight_stages,
                                              PipelineBarriers<F>& barriers) {
    using M = typename F::M;
    const int sample = blockIdx.z, group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4;
    const int lane = threadIdx.x % 32;
    const int tiles = p.tiles_long * p.tiles_short;
    const uint32_t weights = smem_address(weight_stages);
    unsigned char* staging = pixel_stages + F::kStagingAt + group * kStagingBytes;
    const int shift = F::kSplitPixels ? group * F::kGroupLong * F::kPitch : 0;
    // Returns the position in the patch of a tap's first pixel.
    const auto place = [&](int tap, int pass) {
        int dy, dx;
        if constexpr (F::kSampling != Sampling::kUp) dy = tap / 3, dx = tap % 3;
        else if constexpr (F::kCout == 64) dy = pass + tap / 2, dx = group + tap % 2;
        else dy = group + tap / 3, dx = tap % 3;
        const int along = p.across ? dx : dy, aside = p.across ? dy : dx;
        if constexpr (F::kStride == 2)
            return (along % 2 * 2 + aside % 2) * F::kQuarter + along / 2 * F::kPitch + aside / 2;
        else return along * F::kPitch + aside;
    };
    WelfordFp32x2 moments;
    PipelineState<F::kPixelStages> slot;
    PipelineState<F::kWeightStages> step;  // one ring for both warpgroups
    if (group == 1) step.skip(F::kSteps), named_barrier_arrive<kConsumers>(kMmaTurnBarrier);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const PipelineState<F::kPixelStages> first = slot;
        const int from_long =
            tile / p.tiles_short * F::kTileLong + (F::kSplitPixels ? group * F::kGroupLong : 0);
        const int from_short = tile % p.tiles_short * 8;
        const int size_long = p.across ? p.out_width : p.out_height;
        const int size_short = p.across ? p.out_height : p.out_width;
#pragma unroll 1
        for (int pass = 0; pass < F::kPasses; ++pass) {
            const bool last_pass = pass == F::kPasses - 1;
            slot = first;
            float acc[F::kBlockN / 2] = {};
            named_barrier_sync<kConsumers>(kMmaTurnBarrier + group);
            int previous_step = 0, previous_slot = 0;
#pragma unroll 1
            for (int block_k = 0; block_k < F::kBlocksK; ++block_k) {
                if (pass == 0) mbarrier_wait_parity(&barriers.pixels_full[slot.index], slot.phase);
                const uint32_t pixels = smem_address(pixel_stages) + slot.index * F::kSlotBytes +
                                        shift * F::kPixelBytes;
#pragma unroll 1
                for (int step_k = 0; step_k < F::kStepsPerBlockK; ++step_k) {
                    const int stage =
                        F::kResident
                            ? ((F::kSplitPixels ? 0 : group) * F::kPasses + pass) * F::kSteps +
                                  block_k * F::kStepsPerBlockK + step_k
                            : step.index;
                    mbarrier_wait_parity(&barriers.weights_full[stage],
                                         F::kResident ? 0 : step.phase);
                    wgmma_fence();
#pragma unroll
                    for (int tap = 0; tap < F::kTapsPerStep; ++tap)
                        wgmma_step<M, F::kBlockN, F::kBlockK / 16, F::kSwizzled>(
                            acc, weights + stage * F::kStageBytes + tap * F::kTapBytes, 64 * 16,
                            pixels + place(step_k * F::kTapsPerStep + tap, pass) * F::kPixelBytes,
                            F::kPartStride, F::kPitch * F::kPixelBytes);
                    wgmma_commit();
                    // The previous step has finished, and at the first step of a block_k the
                    // previous block_k has too.
                    if (block_k + step_k > 0) {
                        wgmma_wait<1>();
                        if (!F::kResident)
                            mbarrier_arrive_warp(&barriers.weights_empty[previous_step]);
                        if (step_k == 0 && last_pass)
                            mbarrier_arrive_warp(&barriers.pixels_empty[previous_slot]);
                    }
                    previous_step = stage;
                    step.next();
                }
                previous_slot = slot.index;
                slot.next();
            }
            // Hand over to the other warpgroup, except after the very last pass.
            if (group == 0 || !last_pass || tile + gridDim.x < tiles)
                named_barrier_arrive<kConsumers>(kMmaTurnBarrier + 1 - group);
            wgmma_wait<0>();
            if (!F::kResident)
                mbarrier_arrive_warp(&barriers.weights_empty[previous_step]), step.skip(F::kSteps);
            if (last_pass) mbarrier_arrive_warp(&barriers.pixels_empty[previous_slot]);

            moments.add<F::kBlockN>(acc, size_long - from_long, size_short - from_short);
            // Each thread stores 16 bytes of every kSide-th pixel along the tile.
            constexpr int kChunk = M::kChunk;
            constexpr int kPieces = 64 * sizeof(typename M::S) / 16, kSide = 128 / kPieces / 8;
            constexpr int kScale = F::kSampling == Sampling::kUp ? 2 : 1;
            const int piece = threadIdx.x % kPieces, q = threadIdx.x % 128 / kPieces;
            const int along = from_long + q / 8, aside = from_short + q % 8;
            int oy = (p.across ? aside : along) * kScale, ox = (p.across ? along : aside) * kScale;
            if constexpr (F::kSampling == Sampling::kUp && F::kCout == 64) oy += pass, ox += group;
            if constexpr (F::kSampling == Sampling::kUp && F::kCout == 32) oy += group;
            const int line = p.out_width * kScale * F::kCout,
                      left = aside < size_short ? size_long - along : 0;
            auto* y = static_cast<typename M::S*>(p.y) +
                      static_cast<size_t>(sample * p.out_height * kScale + oy) * line +
                      ox * F::kCout + (F::kCout == 128 ? group * 64 : 0);
            auto* to = reinterpret_cast<uint4*>(y) + piece;
            const int jump =
                kSide * kScale * (p.across ? F::kCout : line) / (16 / sizeof(typename M::S));
            const unsigned char* from = staging + q * M::kPitch + piece * 16;
#pragma unroll 1
            for (int chunk = 0; chunk < F::kBlockN / kChunk; ++chunk) {
                stage_accumulators<M, F::kBlockN, kChunk>(acc, staging, chunk);
                named_barrier_sync<128>(kStagingBarrier + group);
#pragma unroll
                for (int i = 0; i < kChunk / 8; i += kSide, to += jump)
                    if (chunk * (kChunk / 8) + i < left)
                        *to = *reinterpret_cast<const uint4*>(from + i * 8 * M::kPitch);
                named_barrier_sync<128>(kStagingBarrier + group);
            }
        }
    }
    write_statistics<F::kCout>(p.statistics, moments, sample, group * 64 + warp * 16 + lane / 4,
                               reinterpret_cast<float4*>(pixel_stages));
}

#endif

template <typename F, bool kAdd, bool kKeep>
__global__ void __launch_bounds__(F::kThreads, 1) conv3x3_persistent(const ConvParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    // The swizzle requires an alignment of 1,024 bytes.
    extern __shared__ __align__(1024) unsigned char swizzled_shared[];
    unsigned char* weight_stages = swizzled_shared + F::kPixelStages * F::kSlotBytes;
    __shared__ PipelineBarriers<F> barriers;
    __shared__ float2 affine[F::kCin];
    if (threadIdx.x == 0) {
        for (int i = 0; i < F::kPixelStages; ++i)
            mbarrier_init(&barriers.pixels_full[i], F::kPixelProducers / 32 * kArrivals),
                mbarrier_init(&barriers.pixels_empty[i], 8 * kArrivals);
        for (int i = 0; i < F::kWeightStages; ++i)
            mbarrier_init(&barriers.weights_full[i], 1),
                mbarrier_init(&barriers.weights_empty[i], 4 * kArrivals);
    }
    fence_proxy_async();
    __syncthreads();
    pdl_launch_dependents();
    if (threadIdx.x < kConsumers) {
        if constexpr (F::kReallocRegisters) warpgroup_reg_alloc<F::kConsumerRegisters>();
        // Consumers compute the input's norm while the producers load the first pixels.
        if (threadIdx.x < F::kCin) {
            pdl_wait();
            affine[threadIdx.x] = norm_affine<F::kCin>(p.norm, blockIdx.z, threadIdx.x);
            named_barrier_arrive<F::kCin + F::kPixelProducers>(kNormReadyBarrier);
        }
        consume_tiles<F>(p, swizzled_shared, weight_stages, barriers);
    } else {
        if constexpr (F::kReallocRegisters) warpgroup_reg_dealloc<F::kProducerRegisters>();
        if (threadIdx.x < kConsumers + F::kPixelProducers)
            produce_pixels<F, kAdd, kKeep>(p, swizzled_shared, barriers, affine);
        else if (threadIdx.x == kConsumers + F::kPixelProducers)
            produce_weights<F>(p, weight_stages, barriers);
    }
#endif
}

}  // namespace styleforge::sm90
