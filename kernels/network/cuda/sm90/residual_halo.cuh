// The joined residual layers: the layout of a block's patch, and the warps that load the weights
// and the halo, which other blocks have written.
#pragma once

#include "exact_sums.cuh"
#include "grid_barrier.cuh"
#include "include/sm90/named_barriers.cuh"
#include "operands.cuh"
#include "params.cuh"
#include "include/sm90/pipeline.cuh"
#include "traits.cuh"
#include "include/common/pdl.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <typename F>
struct ResidualBarriers {
    uint64_t weights_full[F::kWeightStages], weights_empty[F::kWeightStages];
    uint64_t released;  // all blocks have finished the previous layer
};

// This block's tile, along the long and the short side of tiles.
struct ResidualTile {
    int valid_long, valid_short;  // pixels inside the picture
    int origin;                 // memory offset of its first pixel, in units of eight channels,
    int step_long, step_short;  // and the distance to the next
    // Whether it touches the picture's first and last rows, and its first and last columns.
    unsigned char borders[4];

    template <typename F>
    static __device__ __forceinline__ ResidualTile of(const ResidualParams& p) {
        constexpr int kLong = F::Layer::kTileLong;
        const int size_long = p.across ? p.width : p.height;
        const int size_short = p.across ? p.height : p.width;
        const int from_long = blockIdx.x / p.tiles_short * kLong;
        const int from_short = blockIdx.x % p.tiles_short * 8;
        ResidualTile tile;
        tile.valid_long = min(kLong, size_long - from_long);
        tile.valid_short = min(8, size_short - from_short);
        tile.step_long = (p.across ? 1 : p.width) * F::kParts;
        tile.step_short = (p.across ? p.width : 1) * F::kParts;
        tile.origin = from_long * tile.step_long + from_short * tile.step_short;
        tile.borders[0] = from_long == 0;
        tile.borders[1] = from_long + tile.valid_long == size_long;
        tile.borders[2] = from_short == 0;
        tile.borders[3] = from_short + tile.valid_short == size_short;
        return tile;
    }

    __device__ __forceinline__ bool has(int along, int aside) const {
        return along < valid_long && aside < valid_short;
    }

    // The memory offset of a pixel of the tile from the picture's first pixel.
    __device__ __forceinline__ int offset(int along, int aside) const {
        return origin + along * step_long + aside * step_short;
    }

    // Returns whether other blocks read a pixel of the tile, or this one as a reflection.
    __device__ __forceinline__ bool is_read(int along, int aside) const {
        return along <= borders[0] || along >= valid_long - 1 - borders[1] || aside <= borders[2] ||
               aside >= valid_short - 1 - borders[3];
    }
};

// The offset in the patch of eight of the 128 channels of a pixel.
template <typename F>
__device__ __forceinline__ int patch_place(int part, int position) {
    return part / 8 * F::kSlotBytes + position * 128 + (part % 8 ^ position % 8) * 16;
}

// The patch position of a pixel of the tile; -1 is the pixel before the first.
template <typename F>
__device__ __forceinline__ int patch_position(int along, int aside) {
    return (along + 1) * F::Layer::kPitch + aside + 1;
}

template <typename M>
__device__ __forceinline__ uint4 activate_relu(const Vec8<typename M::S>& raw,
                                               const float2 (&own)[8]) {
    using O = typename M::O;
    float v[8];
    raw.unpack(v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], own[i].x, own[i].y);
    return {pack_pair_relu<O>(v[0], v[1]), pack_pair_relu<O>(v[2], v[3]),
            pack_pair_relu<O>(v[4], v[5]), pack_pair_relu<O>(v[6], v[7])};
}

template <typename M>
__device__ __forceinline__ uint4 activate_sum(const Vec8<typename M::S>& raw,
                                              const float2 (&own)[8], const uint4& residual) {
    using O = typename M::O;
    float v[8], more[8];
    raw.unpack(v);
    Vec8<typename M::S>{residual}.unpack(more);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], own[i].x, own[i].y) + more[i];
    return {pack_pair<O>(v[0], v[1]), pack_pair<O>(v[2], v[3]), pack_pair<O>(v[4], v[5]),
            pack_pair<O>(v[6], v[7])};
}

// A halo pixel: its memory offset in units of eight channels, and its position in the patch.
struct HaloPixel {
    int offset, position;
};

// Halo pixel `i`: first the row before the tile and the row after it, then the other two sides.
// Beyond the picture's border, pixels inside it are reflected.
template <typename F>
__device__ __forceinline__ HaloPixel halo_pixel(const ResidualTile& tile, int i) {
    const int vl = tile.valid_long, vs = tile.valid_short, rest = i - 2 * (vl + 2);
    const int along = (rest < 0 ? i % (vl + 2) : rest / vs * (vl + 1)) - 1;
    const int aside = (rest < 0 ? i / (vl + 2) * (vs + 1) : rest % vs + 1) - 1;
    // Reflect only beyond a border that the tile touches. The reflection falls into the tile; for a
    // tile of one row it falls on the row before the tile.
    const auto reflected = [](int at, int valid, bool first, bool last, bool alone) {
        if (at < 0 && first) return alone ? 0 : 1;
        return at >= valid && last ? (alone ? 0 : valid - 2) : at;
    };
    const bool one_long = vl == 1 && tile.borders[0] && tile.borders[1];
    const bool one_short = vs == 1 && tile.borders[2] && tile.borders[3];
    return {tile.offset(reflected(along, vl, tile.borders[0], tile.borders[1], one_long),
                        reflected(aside, vs, tile.borders[2], tile.borders[3], one_short)),
            patch_position<F>(along, aside)};
}

// The halo warps. In each layer they wait for all blocks, load and activate what those have stored,
// and save their part of the residual blocks' inputs.
template <typename F>
__device__ __forceinline__ void produce_halo(const ResidualParams& p, unsigned char* patch,
                                             ResidualBarriers<F>& barriers, const float2* affine) {
    using M = typename F::M;
    using S = typename M::S;
    constexpr int kTurns = F::kHaloTurns, kBoth = kConsumers + F::kHaloThreads;
    __shared__ HaloPixel pixels[F::kHaloPixels];
    const int thread = threadIdx.x - kConsumers, sample = blockIdx.z;
    const int part = thread % F::kParts, first = thread / F::kParts;
    const ResidualTile tile = ResidualTile::of<F>(p);
    const int count = 2 * (tile.valid_long + tile.valid_short) + 4;
    for (int i = thread; i < count; i += F::kHaloThreads) pixels[i] = halo_pixel<F>(tile, i);
    named_barrier_sync<F::kHaloThreads>(kProducerBarrier);
    auto* kept = reinterpret_cast<uint4*>(patch + F::kHaloAt) + part;
    uint32_t positions[(kTurns + 3) / 4] = {};  // one byte each, to save registers
    static_assert(F::Layer::kPositions <= 256);
#pragma unroll
    for (int k = 0; k < kTurns; ++k)
        positions[k / 4] |= pixels[min(first + k * F::kHaloStep, count - 1)].position << k % 4 * 8;
    const size_t from =
        static_cast<size_t>(sample) * p.height * p.width * F::Layer::kCin + part * 8;
    const int between = p.layers - 1;  // layers whose sums are exchanged
    LayerSums* sums = nullptr;
    unsigned half = 0;
#pragma unroll 1
    for (int layer = 0; layer < p.layers; ++layer) {
        if (layer == 0) {
            pdl_wait();
            half = __ldcg(p.halves + sample);
            sums = p.sums + (sample * 2 + half) * between;
        } else {
            if (thread == 0) {
                wait_acquire(&sums[layer - 1].arrived, gridDim.x);
                mbarrier_arrive(&barriers.released);
                if (layer == 1 && blockIdx.x == 0) p.halves[sample] = 1 - half;
            }
            mbarrier_wait_parity(&barriers.released, (layer - 1) % 2);
        }
        const S* x = static_cast<const S*>(layer == 0       ? p.x
                                           : layer % 2 == 1 ? p.inside
                                                            : p.outside) +
                     from;
        Vec8<S> raw[kTurns];
#pragma unroll
        for (int k = 0; k < kTurns; ++k)
            raw[k].load(x + 8 * pixels[min(first + k * F::kHaloStep, count - 1)].offset);
        named_barrier_sync<kBoth>(kNormReadyBarrier);
        float2 own[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
        const auto put = [&](auto activate_one) {
#pragma unroll
            for (int k = 0; k < kTurns; ++k) {
                const int i = first + k * F::kHaloStep;
                const uint4 packed = activate_one(raw[k], i);
                if (i < count)
                    *reinterpret_cast<uint4*>(
                        patch + patch_place<F>(part, positions[k / 4] >> k % 4 * 8 & 255)) = packed;
            }
        };
        if (layer % 2) put([&](const Vec8<S>& one, int) { return activate_relu<M>(one, own); });
        else if (layer == 0)
            put([&](const Vec8<S>& one, int i) {
                return kept[i * F::kParts] = activate_relu<M>(one, own);
            });
        else
            put([&](const Vec8<S>& one, int i) {
                return kept[i * F::kParts] = activate_sum<M>(one, own, kept[i * F::kParts]);
            });
        fence_proxy_async();
        named_barrier_sync<kBoth>(kPatchReadyBarrier);
        if (layer == p.layers - 2) {
            auto* activated = reinterpret_cast<uint4*>(static_cast<S*>(p.activated) + from);
#pragma unroll 1
            for (int q = first; q < F::Layer::kTileLong * 8; q += F::kHaloStep)
                if (tile.has(q / 8, q % 8))
                    activated[tile.offset(q / 8, q % 8)] = *reinterpret_cast<const uint4*>(
                        patch + patch_place<F>(part, patch_position<F>(q / 8, q % 8)));
        }
        if (layer == 0) {
            // Clear the previous launch's sums for the next launch.
            auto* used = reinterpret_cast<uint4*>(p.sums + (sample * 2 + 1 - half) * between);
            const int pieces = between * static_cast<int>(sizeof(LayerSums) / 16);
            for (int i = blockIdx.x * F::kHaloThreads + thread; i < pieces;
                 i += gridDim.x * F::kHaloThreads)
                used[i] = uint4{0, 0, 0, 0};
        }
        named_barrier_sync<kBoth>(kPatchDoneBarrier);
    }
}

// One thread: copies weights in the order in which both warpgroups consume them.
template <typename F>
__device__ __forceinline__ void produce_residual_weights(const ResidualParams& p,
                                                         unsigned char* weight_stages,
                                                         ResidualBarriers<F>& barriers) {
    constexpr int kBytes = F::Layer::kStageBytes;
    const auto* weight = static_cast<const unsigned char*>(p.weight);
    PipelineState<F::kWeightStages> stage;
    for (int step = 0; step < p.layers * 2 * F::Layer::kSteps; ++step, stage.next()) {
        mbarrier_wait_parity(&barriers.weights_empty[stage.index], stage.phase ^ 1);
        mbarrier_arrive_expect_tx(&barriers.weights_full[stage.index], kBytes);
        cp_async_bulk(weight_stages + stage.index * kBytes, weight + step * kBytes, kBytes,
                      &barriers.weights_full[stage.index]);
    }
}

#endif

}  // namespace styleforge::sm90
