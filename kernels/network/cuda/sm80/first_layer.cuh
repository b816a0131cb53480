// The first layer: reads a frame's three colors as they are and pads by reflection. Two taps share
// 16 bytes, so that ldmatrix can load them; pixels at odd columns read a second copy, shifted by
// one pixel. Blocks are persistent: weights stay resident, and the next tile's colors are in flight
// while the current tile is multiplied.
#pragma once

#include "include/common/border.cuh"
#include "include/common/pdl.cuh"
#include "include/common/ptx.cuh"
#include "include/common/range.cuh"
#include "epilogue.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

template <typename T, typename In, typename S>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks) first_layer(const FirstLayerParams p) {
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* const weights = shared + 2 * S::kPatchBytes;
    const int sample = blockIdx.z, tiles = p.tiling.rows * p.tiling.columns;
    constexpr int kPieces = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kCopies * S::kWeightRows * kPieces; i += S::kThreads)
        cp_async_16B(smem_address(weights) +
                         OutputColumns<S>::column_of(i / kPieces) * S::kRowBytes + i % kPieces * 16,
                     static_cast<const uint4*>(p.weight) + i);
    cp_async_commit();
    pdl_wait();
    if (blockIdx.x == 0 && threadIdx.x == 0) OutputRange::clear(p.range + sample * 3);

    // Bytes are exact in FP16. Other colors may be split like the weights: the two copies of a
    // patch then occupy both buffers, and the next patch waits until this one has been multiplied.
    constexpr bool kSplitColors = S::kCopies == 2 && sizeof(In) == 4;
    // A thread reads pixels of one column.
    constexpr int kRows = S::kThreads / S::kPatchW, kCount = (S::kPatchH + kRows - 1) / kRows;
    static_assert(kRows > 0);
    const int row = threadIdx.x / S::kPatchW, column = threadIdx.x % S::kPatchW;
    const auto has = [&](int k) { return row < kRows && row + k * kRows < S::kPatchH; };
    const In* const x =
        static_cast<const In*>(p.x) + static_cast<size_t>(sample) * p.height * p.width * 3;
    In color[kCount][3];
    const auto load = [&](int tile) {
        const int y0 = tile / p.tiling.columns * S::kTileH - S::kBorder + row;
        const int x0 = tile % p.tiling.columns * S::kTileW - S::kBorder + column;
        // Reflect twice: at the border of the padded picture, then at the frame's border.
        const int j = reflect_index(reflect_index(x0, p.tiling.width), p.width);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            if (has(k)) {
                const int i =
                    reflect_index(reflect_index(y0 + k * kRows, p.tiling.height), p.height);
                const In* from = x + (static_cast<size_t>(i) * p.width + j) * 3;
#pragma unroll
                for (int c = 0; c < 3; ++c) color[k][c] = from[c];
            }
    };
    const auto store = [&](unsigned char* patch) {
        unsigned char* const to = patch + (row * S::kPatchW + column) * 8;
        unsigned char* const second = to + S::kSecond + (column ? -8 : (S::kPatchW - 1) * 8);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            if (has(k)) {
                const float r = to_float(color[k][0]), g = to_float(color[k][1]),
                            b = to_float(color[k][2]);
                const uint2 value = {Pair<T>::pack(r, g), Pair<T>::pack(b, 0)};
                *reinterpret_cast<uint2*>(to + k * kRows * S::kPatchW * 8) = value;
                *reinterpret_cast<uint2*>(second + k * kRows * S::kPatchW * 8) =
                    column ? value : uint2{0, 0};
                if constexpr (kSplitColors) {
                    const uint2 low = {pack_rounding_error(value.x, r, g),
                                       pack_rounding_error(value.y, b, 0)};
                    const int at = S::kPatchBytes + k * kRows * S::kPatchW * 8;
                    *reinterpret_cast<uint2*>(to + at) = low;
                    *reinterpret_cast<uint2*>(second + at) = column ? low : uint2{0, 0};
                }
            }
    };
    load(blockIdx.x);
    store(shared);
    cp_async_wait<0>();
    __syncthreads();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp * S::kRowsOfWarp + i * 16 + lane % 16;
        const int row = q / S::kTileW, column = q % S::kTileW;
        a_from[i] = smem_address(shared) + (column % 2 ? S::kSecond : 0) +
                    (row * S::kPatchW + column / 2 * 2) * 8;
    }
    const uint32_t b_from =
        smem_address(weights) + (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    // Offset of pair q of taps; beyond the last pair, the weights are all zeros.
    const auto offset = [](int q) {
        if (q >= S::kPairs) return 0;
        return (q / S::kPairsOfRow * S::kPatchW + q % S::kPairsOfRow * 2) * 8;
    };
    BlockMoments<S> moments;
    int slot = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int next = tile + gridDim.x;
        if (next < tiles) load(next);
        else pdl_launch_dependents();
        float acc[S::kTilesM][S::kTilesN][4] = {};
        // three copies take more registers
        constexpr int kUnrolled = kSplitColors ? 4 : S::kDepth / 16;
#pragma unroll kUnrolled
        for (int k = 0; k < S::kDepth / 16; ++k) {
            const uint32_t step =
                (lane / 16 ? offset(2 * k + 1) : offset(2 * k)) + slot * S::kPatchBytes;
            uint32_t a[S::kTilesM][4], b[S::kTilesN / 2][4];
            const auto load_a = [&](int copy) {
#pragma unroll
                for (int i = 0; i < S::kTilesM; ++i)
                    ldmatrix_x4(a[i], a_from[i] + step + copy * S::kPatchBytes);
            };
            const auto load_b = [&](int copy) {
#pragma unroll
                for (int j = 0; j < S::kTilesN / 2; ++j)
                    ldmatrix_x4(b[j],
                                b_from + (copy * S::kWeightRows + j * 16) * S::kRowBytes + k * 32);
            };
            const auto multiply = [&] {
#pragma unroll
                for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < S::kTilesN; ++j)
                        mma_m16n8k16<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2],
                                        b[j / 2][j % 2 * 2 + 1]);
            };
            load_a(kSplitColors), load_b(0);
            multiply();
            if (kSplitColors) load_a(0), multiply();
            if (S::kCopies == 2) load_b(1), multiply();
        }
        if (kSplitColors) __syncthreads();
        else slot = 1 - slot;
        if (next < tiles) store(shared + slot * S::kPatchBytes);
        store_tile<T, S>(acc, p, tile, sample, moments);
        __syncthreads();
    }
    moments.write(p.statistics, sample, shared);
}

}  // namespace styleforge::sm80
