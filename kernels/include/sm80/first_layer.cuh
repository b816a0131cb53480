// The first layer: 9x9 (5x5 in the lite network) from the three colors of a frame, which is read as
// it is and padded by reflection. Two taps lie side by side in 16 bytes, so that ldmatrix can load
// them; pixels at odd columns read a second copy that is shifted by one pixel.
#pragma once

#include "../common/border.cuh"
#include "../common/pdl.cuh"
#include "../common/range.cuh"
#include "tile_io.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

template <typename T, typename In, typename S = FirstLayerTraits>
__global__ void __launch_bounds__(S::kThreads) first_layer(const FirstLayerParams p) {
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
        cp_async_16B(smem_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                     static_cast<const uint4*>(p.weight) + i);
    cp_async_commit();
    pdl_wait();
    if (blockIdx.x == 0 && threadIdx.x == 0) OutputRange::clear(p.range + sample * 3);

    const auto* x =
        static_cast<const In*>(p.x) + static_cast<size_t>(sample) * p.height * p.width * 3;
    for (int q = threadIdx.x; q < S::kPatchH * S::kPatchW; q += S::kThreads) {
        // Reflected twice: at the border of the padded picture, then at that of the frame.
        const int row = tile_y - S::kBorder + q / S::kPatchW;
        const int column = tile_x - S::kBorder + q % S::kPatchW;
        const int iy = reflect_index(reflect_index(row, p.tiling.height), p.height);
        const int ix = reflect_index(reflect_index(column, p.tiling.width), p.width);
        const In* from = x + (static_cast<size_t>(iy) * p.width + ix) * 3;
        const uint2 value = {Pair<T>::pack(to_float(from[0]), to_float(from[1])),
                             Pair<T>::pack(to_float(from[2]), 0)};
        *reinterpret_cast<uint2*>(shared + q * 8) = value;
        if (q % S::kPatchW)
            *reinterpret_cast<uint2*>(shared + S::kSecond + (q - 1) * 8) = value;
        else
            *reinterpret_cast<uint2*>(shared + S::kSecond + (q + S::kPatchW - 1) * 8) = uint2{0, 0};
    }
    cp_async_wait<0>();
    __syncthreads();
    pdl_launch_dependents();

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
    float acc[S::kTilesM][S::kTilesN][4] = {};
    // Where pair q of taps lies; one beyond the last is all zeros in the weights.
    const auto offset = [](int q) {
        if (q >= S::kPairs) return 0;
        return (q / S::kPairsOfRow * S::kPatchW + q % S::kPairsOfRow * 2) * 8;
    };
#pragma unroll
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = lane / 16 ? offset(2 * k + 1) : offset(2 * k);
        uint32_t a[S::kTilesM][4], b[S::kTilesN / 2][4];
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) ldmatrix_x4(a[i], a_from[i] + step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            ldmatrix_x4(b[j], b_from + j * 16 * S::kRowBytes + k * 32);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                mma_m16n8k16<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
    write_tile_statistics<T, S>(acc, shared, p.statistics, p.tiling, sample, blockIdx.x, rows,
                                columns);
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        return (static_cast<size_t>(sample) * p.tiling.height + tile_y + i) * p.tiling.width +
               tile_x + j;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, blockIdx.x);
}

}  // namespace styleforge::sm80
