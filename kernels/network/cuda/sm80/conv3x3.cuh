// The 3x3 layers: stride 1 or 2, or four phases of 2x2 after upsampling. Blocks are persistent. A
// tile's channels pass through two slots of shared memory in chunks: while one is multiplied, the
// next is copied to the other slot and then normalized there. Weights pass through a ring of
// stages, or stay resident if they fit.
#pragma once

#include <math.h>
#include "include/common/pdl.cuh"
#include "include/common/ptx.cuh"
#include "epilogue.cuh"
#include "int8.cuh"
#include "patch.cuh"
#include "statistics.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

// The offset in a stage of 16-byte piece `i` of a step's weights,
// [taps][copies][outputs][channels]. Rows are in the order of the products' columns (see
// OutputColumns), and pieces are XOR-swizzled so that eight rows fall on different banks.
template <typename S>
__device__ __forceinline__ uint32_t weight_offset(int i) {
    constexpr int kPieces = S::kRowBytes / 16;
    const int row = i / kPieces, piece = i % kPieces, column = OutputColumns<S>::column_of(row);
    return column * S::kRowBytes + (piece ^ column % 8 / (8 / kPieces)) * 16;
}

template <typename T, typename S, bool kAdd>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks) conv3x3(const ConvParams p) {
    using Chunk = PatchChunk<T, S, kAdd>;
    using Pieces = PatchPieces<S>;
    using Eight = ChannelsOf<S>;
    constexpr bool kIntegers = S::kOperandBytes == 1;
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ __align__(16) float2 affine[S::kCin];
    unsigned char* const slots = shared + S::kWeightBytes;
    const int sample = blockIdx.z, tiles = p.tiling.rows * p.tiling.columns;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width * S::kPixelPieces;
    const uint4* const x = static_cast<const uint4*>(p.x) + plane;

    const uint32_t weights_to = smem_address(shared) + weight_offset<S>(threadIdx.x);
    // Calls use(k, from, to) for the thread's pieces of a step's weights and their stage.
    constexpr int kWeightPieces = (S::kStageBytes / 16 + S::kThreads - 1) / S::kThreads;
    const auto each_weight = [&](int step, int stage, auto use) {
        const auto* from =
            static_cast<const uint4*>(p.weight) + step * (S::kStageBytes / 16) + threadIdx.x;
        const uint32_t to = weights_to + stage * S::kStageBytes;
        static_assert(S::kThreads / (S::kRowBytes / 16) % 32 == 0,
                      "the order repeats every 32 rows");
#pragma unroll
        for (int k = 0; k < kWeightPieces; ++k)
            if (S::kStageBytes / 16 % S::kThreads == 0 ||
                threadIdx.x + k * S::kThreads < S::kStageBytes / 16)
                use(k, from + k * S::kThreads, to + k * S::kThreads * 16);
    };
    const auto fetch = [&](int step, int stage) {
        each_weight(step, stage,
                    [](int, const uint4* from, uint32_t to) { cp_async_16B(to, from); });
    };
    // Without cp.async, a step's weights stay in registers from the end of one step to the end of
    // the next.
    constexpr bool kHoldsWeights = !S::kAsync && !S::kResident;
    uint4 held_weights[kHoldsWeights ? kWeightPieces : 1];
    const auto hold = [&](int step) {
        each_weight(step, 0, [&](int k, const uint4* from, uint32_t) {
            held_weights[kHoldsWeights ? k : 0] = load_16B(from);
        });
    };
    const auto release = [&](int stage) {
        each_weight(0, stage, [&](int k, const uint4*, uint32_t to) {
            store_shared_16B(to, held_weights[kHoldsWeights ? k : 0]);
        });
    };
    if constexpr (S::kResident) {
#pragma unroll 1
        for (int step = 0; step < S::kSteps; ++step) fetch(step, step);
    } else {
#pragma unroll
        for (int step = 0; step < S::kPrefetch; ++step) fetch(step, step);
    }
    if constexpr (kHoldsWeights) hold(S::kPrefetch);
    const auto place = [&](int tile, int chunk) {
        return Chunk{tile / p.tiling.columns * S::kTileH, tile % p.tiling.columns * S::kTileW,
                     chunk};
    };
    int tile = blockIdx.x, slot = 0;
    const Pieces own;
    typename Pieces::Held held;
    // Scale factors of the sums, followed by the ranges of the inputs.
    float* const factors = reinterpret_cast<float*>(slots + 2 * S::kSlotBytes);
    float* const ranges = factors + S::kColumns;
    if constexpr (kIntegers) load_scales<S>(p.weight, factors, ranges);
    pdl_wait();
    {
        const Chunk now = place(tile, 0);
        if (S::kAsync) now.copy(p, own, x, smem_address(slots));
        cp_async_commit();
#pragma unroll
        for (int k = 0; k < (S::kAsync ? 0 : Pieces::kCount); ++k) now.hold(p, own, x, held, k);
        Eight add[kAdd ? Pieces::kCount : 1];
#pragma unroll
        for (int k = 0; k < (kAdd ? Pieces::kCount : 0); ++k)
            add[k] = now.residual(p, own, plane, k);
        load_norm_affine<S::kCin, S::kThreads>(p.norm, sample, affine);
        if constexpr (kIntegers) prepare_norm<S, kAdd>(affine, ranges);
        cp_async_wait<0>();
        __syncthreads();
        if constexpr (kIntegers) {
            now.template to_integers<Pieces::kCount>(p, own, plane, slots, affine, ranges, 0, add);
        } else {
            float4 scales[4];
            now.load_affine(own, affine, scales);
#pragma unroll
            for (int k = 0; k < Pieces::kCount; ++k)
                now.normalize(p, own, plane, slots, held, scales, k, add[kAdd ? k : 0]);
        }
        __syncthreads();
    }

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    const int phase = warp_n * S::kColumnsOfWarp / S::kCout;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp_m * S::kRowsOfWarp + i * 16 + lane % 16;
        const int row = q / S::kTileW * S::kStride + phase / 2, column = q % S::kTileW + phase % 2;
        a_from[i] =
            smem_address(slots) + (row * S::kSlotW + column) * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_row = warp_n * S::kColumnsOfWarp + lane / 16 * 8 + lane % 8;
    const uint32_t b_turn = lane % 8 / (8 / (S::kRowBytes / 16));

    BlockMoments<S> moments;
    int fetched = S::kPrefetch;  // steps
    const int steps = ((tiles - tile - 1) / static_cast<int>(gridDim.x) + 1) * S::kSteps;
    for (; tile < tiles; tile += gridDim.x) {
        typename S::Sum acc[S::kTilesM][S::kTilesN][4] = {};
        if (tile + static_cast<int>(gridDim.x) >= tiles) pdl_launch_dependents();
#pragma unroll 1
        for (int chunk = 0; chunk < S::kChunks; ++chunk) {
            const bool ends = chunk + 1 == S::kChunks;
            const Chunk next = place(ends ? tile + gridDim.x : tile, ends ? 0 : chunk + 1);
            const bool more = !ends || tile + static_cast<int>(gridDim.x) < tiles;
            unsigned char* const next_slot = slots + (1 - slot) * S::kSlotBytes;
            // Fragments of this product and the next. With split operands, sixteen channels take
            // three products: low x high, high x high and high x low. The low ones are a[0] and
            // b[1], so that each product reuses a fragment.
            constexpr int kProducts = S::kProductsOfOperands;
            uint32_t a[2][S::kTilesM][4], b[2][S::kTilesN / 2][4];
            // With FP16 sums, two products of a step form a pair, and the fragments of both are
            // loaded first.
            constexpr bool kPairs = S::kFp16Sums && kIsHalf<T>;
            constexpr int kTogether = S::kResident ? S::kProductsOfChunk : S::kProductsOfStep;
            const auto is_second = [](int n) { return kPairs && n % kTogether % 2 == 1; };
            const auto is_first = [](int n) {
                return kPairs && n % kTogether % 2 == 0 && n % kTogether + 1 < kTogether;
            };
            const auto a_of = [&](int n) {
                return kPairs ? is_second(n) : kProducts == 3 ? n % 3 != 0 : n % 2;
            };
            const auto b_of = [&](int n) {
                return kPairs ? is_second(n) : kProducts == 3 ? n % 3 == 2 : n % 2;
            };
            const auto load = [&](int n) {  // for product n of the chunk
                const int sixteen = n / kProducts;
                const int tap = sixteen / S::kProductsOfTap, k = sixteen % S::kProductsOfTap;
                const int a_copy = kProducts == 3 && n % 3 == 0;
                const int b_copy = kProducts == 3 && n % 3 == 2;
                const int ty = tap / S::kKernel, tx = tap % S::kKernel;
                const int column = S::kStride == 2 ? tx % 2 * S::kHalfW + tx / 2 : tx;
                const uint32_t a_step = slot * S::kSlotBytes +
                                        (ty * S::kSlotW + column) * S::kPixelBytes + k * 32 +
                                        a_copy * Eight::kSlotBetween;
                const int step = tap / S::kTapsOfStep;
                const uint32_t b_step =
                    smem_address(shared) +
                    (S::kResident ? chunk * S::kStepsOfChunk + step : step % S::kStages) *
                        S::kStageBytes +
                    ((tap % S::kTapsOfStep * S::kCopies + b_copy) * S::kColumns + b_row) *
                        S::kRowBytes +
                    ((k * 2 + lane / 8 % 2) ^ b_turn) * 16;
                if (kProducts == 1 || n % 3 != 2)
#pragma unroll
                    for (int i = 0; i < S::kTilesM; ++i)
                        ldmatrix_x4(a[a_of(n)][i], a_from[i] + a_step);
                if (kProducts == 1 || n % 3 != 1)
#pragma unroll
                    for (int j = 0; j < S::kTilesN / 2; ++j)
                        ldmatrix_x4(b[b_of(n)][j], b_step + j * 16 * S::kRowBytes);
            };
            Eight add[kAdd ? Pieces::kCount : 1] = {};
            if (!kPairs) load(0);
#pragma unroll
            for (int n = 0; n < S::kProductsOfChunk; ++n) {
                const int step = n / S::kProductsOfStep;
                const bool begins = n % S::kProductsOfStep == 0,
                           finishes = n % S::kProductsOfStep == S::kProductsOfStep - 1;
                if (kPairs && !is_second(n)) load(n);
                if (is_first(n)) load(n + 1);
                if (n == 0) {
                    if (S::kAsync && more) next.copy(p, own, x, smem_address(next_slot));
                    if (S::kResident) cp_async_commit();
                }
                if (!S::kResident && finishes) {
                    const int stage = (step + S::kPrefetch) % S::kStages;
                    if constexpr (kHoldsWeights) {
                        if (fetched < steps) release(stage);
                        if (fetched + 1 < steps) hold((fetched + 1) % S::kSteps);
                    } else if (fetched < steps) {
                        fetch(fetched % S::kSteps, stage);
                    }
                    ++fetched;
                    cp_async_commit();
                    cp_async_wait<S::kPrefetch - 1>();
                    __syncthreads();
                }
                if (S::kResident && begins && step == S::kReady) cp_async_wait<0>();
                if (!kPairs && n + 1 < S::kProductsOfChunk) load(n + 1);
#pragma unroll
                for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < S::kTilesN; ++j) {
                        const uint32_t *const first = &b[0][j / 2][j % 2 * 2],
                                              *const second = &b[1][j / 2][j % 2 * 2];
                        if constexpr (kIntegers)
                            mma_m16n8k32_integers<kAdd>(acc[i][j], a[n % 2][i],
                                                        b[n % 2][j / 2][j % 2 * 2],
                                                        b[n % 2][j / 2][j % 2 * 2 + 1]);
                        else if (is_second(n))
                            mma_m16n8k32_fp16_sums(acc[i][j], a[0][i], first[0], first[1], a[1][i],
                                                   second[0], second[1]);
                        else if (!is_first(n))
                            mma_m16n8k16<T>(acc[i][j], a[a_of(n)][i], b[b_of(n)][j / 2][j % 2 * 2],
                                            b[b_of(n)][j / 2][j % 2 * 2 + 1]);
                    }
                // Normalize a few pieces of the next chunk at a time: each batch costs the latency
                // of shared memory. Pieces in registers leave fewer registers for more.
                constexpr int kSpread = S::kStepsOfChunk - S::kReady;
                constexpr int kFew = S::kAsync ? 3 : 2;
                constexpr int kEach = Pieces::kCount <= kFew * kSpread
                                          ? kFew
                                          : (Pieces::kCount + kSpread - 1) / kSpread;
                constexpr int kTimes = (Pieces::kCount + kEach - 1) / kEach;
                constexpr int kEvery = kSpread / kTimes;
                const int time = (step - S::kReady) / kEvery,
                          soon = (step + 1 - S::kReady) / kEvery;
                if (begins && more) {
                    if (kAdd && step + 1 >= S::kReady && (step + 1 - S::kReady) % kEvery == 0) {
#pragma unroll
                        for (int k = 0; k < kEach; ++k)
                            if (const int at = soon * kEach + k; at < Pieces::kCount)
                                add[at] = next.residual(p, own, plane, at);
                    }
                    // Without cp.async, pieces are loaded one step early, like residuals.
                    if (!S::kAsync && step + 1 >= S::kReady &&
                        (step + 1 - S::kReady) % kEvery == 0) {
#pragma unroll
                        for (int k = 0; k < kEach; ++k)
                            if (const int at = soon * kEach + k; at < Pieces::kCount)
                                next.hold(p, own, x, held, at);
                    }
                    if (step >= S::kReady && (step - S::kReady) % kEvery == 0 && time < kTimes) {
                        if constexpr (kIntegers) {
                            next.template to_integers<kEach>(p, own, plane, next_slot, affine,
                                                             ranges, time * kEach, add);
                        } else {
                            float4 scales[4];
                            next.load_affine(own, affine, scales);
#pragma unroll
                            for (int k = 0; k < kEach; ++k)
                                if (const int at = time * kEach + k; at < Pieces::kCount)
                                    next.normalize(p, own, plane, next_slot, held, scales, at,
                                                   add[kAdd ? at : 0]);
                        }
                    }
                }
            }
            // Otherwise the last step's barrier already follows all reads and writes.
            if (S::kResident || S::kProductsOfStep == 1) __syncthreads();
            slot = 1 - slot;
        }
        if constexpr (kIntegers) {
            float sums[S::kTilesM][S::kTilesN][4];
            scale_sums<S>(acc, factors, sums);
            store_tile<T, S>(sums, p, tile, sample, moments);
        } else {
            store_tile<T, S>(acc, p, tile, sample, moments);
        }
    }
    moments.write(p.statistics, sample, shared);
}

}  // namespace styleforge::sm80
