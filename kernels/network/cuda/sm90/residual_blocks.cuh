// All layers of the residual blocks in one launch, for pictures with at most one tile per
// multiprocessor (sm_90a). A block owns one tile: its outputs stay in registers, are activated
// there once all blocks have published their statistics, and become the next layer's operands. Only
// the pixels around the tile come from memory.
//
// One launch per layer would read and write whole tiles and wait for blocks to start and end.
#pragma once

#include "epilogue.cuh"
#include "residual_halo.cuh"
#include "include/sm90/wgmma.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// The inverse of stmatrix_x4_trans.
__device__ __forceinline__ void ldmatrix_x4_trans(uint32_t (&to)[4], uint32_t from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from)
                 : "memory");
}

// One of the two consumer warpgroups, with 64 of the 128 channels.
template <typename F>
struct ResidualConsumer {
    using M = typename F::M;
    using S = typename M::S;
    using Layer = typename F::Layer;
    static constexpr int kGroups = Layer::kTileLong;  // groups of eight pixels
    static constexpr int kBoth = kConsumers + F::kHaloThreads;

    const ResidualParams& p;
    unsigned char* shared;
    ResidualBarriers<F>& barriers;
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    // this thread's first; its second is channel + 8
    const int channel = group * 64 + warp * 16 + lane / 4;
    const ResidualTile tile = ResidualTile::of<F>(p);

    // The address of this lane's row of the operand matrices for pixels 8 * j to 8 * j + 15. Pixels
    // outside the picture go to a position that no product reads.
    __device__ __forceinline__ uint32_t operand_address(int j) const {
        const int along = j + lane / 16, aside = lane % 8;
        const int part = group * 8 + warp * 2 + lane / 8 % 2;
        const int position =
            tile.has(along, aside) ? patch_position<F>(along, aside) : Layer::kPositions;
        return smem_address(shared) + patch_place<F>(part, position);
    }

    // The first layer's tile, from memory.
    __device__ __forceinline__ void load_tile(const float2* affine) const {
        constexpr int kStep = kConsumers / F::kParts, kTurns = kGroups * 8 / kStep;
        const int part = threadIdx.x % F::kParts, first = threadIdx.x / F::kParts;
        const S* x = static_cast<const S*>(p.x) + part * 8 +
                     static_cast<size_t>(blockIdx.z) * p.height * p.width * Layer::kCin;
        float2 own[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
        Vec8<S> raw[kTurns];
#pragma unroll
        for (int k = 0; k < kTurns; ++k) {
            const int q = first + k * kStep;
            if (tile.has(q / 8, q % 8)) raw[k].load(x + 8 * tile.offset(q / 8, q % 8));
        }
#pragma unroll
        for (int k = 0; k < kTurns; ++k) {
            const int q = first + k * kStep;
            if (tile.has(q / 8, q % 8))
                *reinterpret_cast<uint4*>(shared +
                                          patch_place<F>(part, patch_position<F>(q / 8, q % 8))) =
                    activate_relu<M>(raw[k], own);
        }
    }

    // Every later layer's tile, from the previous layer's accumulators.
    template <bool kAdd>
    __device__ __forceinline__ void activate_tile(const uint32_t (&raw)[kGroups * 2],
                                                  uint32_t (&kept)[kGroups * 2],
                                                  const float2* affine) const {
        const float2 own[2] = {affine[channel], affine[channel + 8]};
#pragma unroll
        for (int j = 0; j < kGroups; j += 2) {
            uint32_t packed[4];
#pragma unroll
            for (int m = 0; m < 4; ++m) {
                const float2 v = Pair<S>::unpack(raw[j * 2 + m]);
                const float a = fmaf(v.x, own[m % 2].x, own[m % 2].y);
                const float b = fmaf(v.y, own[m % 2].x, own[m % 2].y);
                if constexpr (kAdd) {
                    const float2 more = Pair<S>::unpack(kept[j * 2 + m]);
                    packed[m] = pack_pair<S>(a + more.x, b + more.y);
                    kept[j * 2 + m] = packed[m];
                } else {
                    packed[m] = pack_pair_relu<S>(a, b);
                }
            }
            stmatrix_x4_trans(operand_address(j), packed[0], packed[1], packed[2], packed[3]);
        }
    }

    // Saves the first layer's activated input as a residual.
    __device__ __forceinline__ void keep_tile(uint32_t (&kept)[kGroups * 2]) const {
#pragma unroll
        for (int j = 0; j < kGroups; j += 2) {
            uint32_t four[4];
            ldmatrix_x4_trans(four, operand_address(j));
#pragma unroll
            for (int m = 0; m < 4; ++m) kept[j * 2 + m] = four[m];
        }
    }

    // Adds the products of a layer to acc. The second warpgroup starts once the first has issued
    // its products.
    __device__ __forceinline__ void multiply(float (&acc)[Layer::kBlockN / 2],
                                             PipelineState<F::kWeightStages>& step) const {
        static_assert(Layer::kTapsPerStep == 3);  // a row of the kernel
        const uint32_t pixels = smem_address(shared), weights = pixels + F::kPatchBytes;
        const int next_row = (p.across ? 1 : Layer::kPitch) * 128;
        const int next_column = (p.across ? Layer::kPitch : 1) * 128;
        if (group == 1) named_barrier_sync<kConsumers>(kMmaTurnBarrier + 1);
        int previous = 0;
#pragma unroll 1
        for (int i = 0; i < Layer::kSteps; ++i) {
            const int block_k = i / Layer::kStepsPerBlockK, row = i % Layer::kStepsPerBlockK;
            mbarrier_wait_parity(&barriers.weights_full[step.index], step.phase);
            const uint32_t a = weights + step.index * Layer::kStageBytes;
            const uint32_t b = pixels + block_k * F::kSlotBytes + row * next_row;
            wgmma_fence();
#pragma unroll
            for (int tap = 0; tap < 3; ++tap)
                wgmma_step<M, Layer::kBlockN, Layer::kBlockK / 16, true>(
                    acc, a + tap * Layer::kTapBytes, 64 * 16, b + tap * next_column, 0,
                    Layer::kPitch * 128);
            wgmma_commit();
            if (i > 0) {
                wgmma_wait<1>();
                mbarrier_arrive_warp(&barriers.weights_empty[previous]);
            }
            previous = step.index;
            step.next();
        }
        if (group == 0) named_barrier_arrive<kConsumers>(kMmaTurnBarrier + 1);
        wgmma_wait<0>();
        mbarrier_arrive_warp(&barriers.weights_empty[previous]);
        step.skip(Layer::kSteps);
    }

    // Stores the whole tile, or only the pixels that other blocks or this one will read: its edges
    // and, at the picture's border, the pixels to reflect. The second warpgroup is the last to need
    // the patch and stages its pixels there.
    __device__ __forceinline__ void store_tile(const uint32_t (&raw)[kGroups * 2], S* y,
                                               bool whole) const {
        // 16-byte pieces; rows stored at a time
        constexpr int kPieces = 8, kSide = 128 / kPieces / 8;
        unsigned char* staging = shared + (group == 0 ? F::kStagingAt : 0);
        if (group == 0) named_barrier_arrive<kBoth>(kPatchDoneBarrier);
        else named_barrier_sync<kBoth>(kPatchDoneBarrier);
        const uint32_t row = smem_address(staging) + (lane / 16 * 8 + lane % 8) * M::kPitch +
                             warp * 32 + lane / 8 % 2 * 16;
#pragma unroll
        for (int j = 0; j < kGroups; j += 2)
            stmatrix_x4_trans(row + j * 8 * M::kPitch, raw[j * 2], raw[j * 2 + 1], raw[j * 2 + 2],
                              raw[j * 2 + 3]);
        const int piece = threadIdx.x % kPieces, q = threadIdx.x % 128 / kPieces, aside = q % 8;
        auto* to = reinterpret_cast<uint4*>(y + static_cast<size_t>(blockIdx.z) * p.height *
                                                    p.width * Layer::kCout) +
                   tile.offset(q / 8, aside) + group * 8 + piece;
        const unsigned char* from = staging + q * M::kPitch + piece * 16;
        named_barrier_sync<128>(kStagingBarrier + group);
        uint4 rows[kGroups / kSide];
#pragma unroll
        for (int i = 0; i < kGroups / kSide; ++i)
            rows[i] = *reinterpret_cast<const uint4*>(from + i * kSide * 8 * M::kPitch);
#pragma unroll
        for (int i = 0; i < kGroups / kSide; ++i) {
            const int along = i * kSide + q / 8;
            if (tile.has(along, aside) && (whole || tile.is_read(along, aside)))
                to[i * kSide * tile.step_long] = rows[i];
        }
    }

    __device__ __forceinline__ void run(float2* affine) {
        uint32_t raw[kGroups * 2], kept[kGroups * 2];  // in the order of stmatrix_x4_trans
        PipelineState<F::kWeightStages> step;
        if (group == 1) step.skip(Layer::kSteps);
        const double part = 1.0 / (static_cast<double>(p.height) * p.width);
        const int between = p.layers - 1, sample = blockIdx.z;
        LayerSums* sums = nullptr;
#pragma unroll 1
        for (int layer = 0; layer < p.layers; ++layer) {
            if (layer == 0) {
                pdl_wait();
                sums = p.sums + (sample * 2 + __ldcg(p.halves + sample)) * between;
                if (threadIdx.x < 128)
                    affine[threadIdx.x] = norm_affine<128>(p.norm, sample, threadIdx.x);
                named_barrier_sync<kBoth>(kNormReadyBarrier);
                load_tile(affine);
            } else {
                const int c = threadIdx.x % 128, at = (layer - 1) * 128 + c;
                const float gamma = __ldg(p.gamma + at), beta = __ldg(p.beta + at);
                mbarrier_wait_parity(&barriers.released, (layer - 1) % 2);
                if (threadIdx.x < 128)
                    affine[c] = exact_affine(sums[layer - 1], c, part, gamma, beta, p.eps);
                named_barrier_sync<kBoth>(kNormReadyBarrier);
                if (layer % 2) activate_tile<false>(raw, kept, affine);
                else activate_tile<true>(raw, kept, affine);
            }
            fence_proxy_async();
            named_barrier_sync<kBoth>(kPatchReadyBarrier);
            if (layer == 0) keep_tile(kept);
            float acc[Layer::kBlockN / 2] = {};
            multiply(acc, step);
            WelfordFp32x2 moments;
            moments.add<Layer::kBlockN>(acc, tile.valid_long, tile.valid_short);
#pragma unroll
            for (int i = 0; i < kGroups * 2; ++i) raw[i] = pack_pair<S>(acc[2 * i], acc[2 * i + 1]);
            const bool last = layer == p.layers - 1;
            const ExactSum sum = exact_sum(moments);
            store_tile(raw, static_cast<S*>(layer % 2 ? p.outside : p.inside), last);
            if (last) {
                write_statistics<128>(p.statistics, moments, sample, channel,
                                      reinterpret_cast<float4*>(shared));
                return;
            }
            add_exact_sum(sums[layer], sum, channel);
            // The second warpgroup finishes last and signals the other blocks.
            if (group == 0) {
                named_barrier_arrive<kConsumers>(kLayerDoneBarrier);
            } else {
                named_barrier_sync<kConsumers>(kLayerDoneBarrier);
                if (threadIdx.x == 128) arrive_release(&sums[layer].arrived);
            }
        }
    }
};

#endif

template <typename F>
__global__ void __launch_bounds__(F::kThreads, 1) residual_blocks_joined(const ResidualParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    // The swizzle requires an alignment of 1,024 bytes.
    extern __shared__ __align__(1024) unsigned char swizzled_shared[];
    __shared__ ResidualBarriers<F> barriers;
    __shared__ float2 affine[F::Layer::kCin];
    if (threadIdx.x == 0) {
        for (int i = 0; i < F::kWeightStages; ++i)
            mbarrier_init(&barriers.weights_full[i], 1),
                mbarrier_init(&barriers.weights_empty[i], 4 * kArrivals);
        mbarrier_init(&barriers.released, 1);
    }
    fence_proxy_async();
    __syncthreads();
    pdl_launch_dependents();
    if (threadIdx.x < kConsumers) {
        warpgroup_reg_alloc<F::kConsumerRegisters>();
        ResidualConsumer<F>{p, swizzled_shared, barriers}.run(affine);
    } else {
        warpgroup_reg_dealloc<F::kProducerRegisters>();
        if (threadIdx.x < kConsumers + F::kHaloThreads)
            produce_halo<F>(p, swizzled_shared, barriers, affine);
        else if (threadIdx.x == kConsumers + F::kHaloThreads)
            produce_residual_weights<F>(p, swizzled_shared + F::kPatchBytes, barriers);
    }
#endif
}

}  // namespace styleforge::sm90
