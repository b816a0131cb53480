// The last layer, with three output colors. Three columns would waste most of a tensor core's
// eight. So the kernel's columns times three colors are computed for every pixel of a row, summed
// over the kernel's rows, and then added along the row, each shifted by its column. Blocks are
// persistent.
#pragma once

#include "include/common/border.cuh"
#include "include/common/pdl.cuh"
#include "include/common/ptx.cuh"
#include "include/common/range.cuh"
#include "activate.cuh"
#include "statistics.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

template <typename T, typename Out, typename S>
__global__ void __launch_bounds__(S::kThreads, S::kBlocks) last_layer(const LastLayerParams p) {
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ __align__(16) float2 affine[S::kCin];
    unsigned char* const weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z, columns = p.tiling.columns;
    const int tiles = p.tiling.rows * columns, height = p.tiling.height, width = p.tiling.width;
    constexpr int kPieces = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kCopies * S::kWeightRows * kPieces; i += S::kThreads)
        cp_async_16B(smem_address(weights) + i / kPieces * S::kRowBytes + i % kPieces * 16,
                     static_cast<const uint4*>(p.weight) + i);
    cp_async_commit();

    // A thread copies and normalizes eight channels of the pixels in one column.
    using Eight = EightChannels<S>;
    constexpr int kPixelPieces = S::kCin * S::kStoredBytes / 16;
    constexpr int kParts = S::kCin / 8, kLanes = S::kPatchW * kParts, kRows = S::kThreads / kLanes;
    static_assert(S::kThreads % kLanes == 0 && S::kPatchH % kRows == 0);
    const int row = threadIdx.x / kLanes, column = threadIdx.x % kLanes / kParts;
    const int part = threadIdx.x % kParts;
    unsigned char* const own = shared + (row * S::kPatchW + column) * S::kPixelBytes + part * 16;
    const uint4* const x = static_cast<const uint4*>(p.x) +
                           static_cast<size_t>(sample) * p.padded_h * p.padded_w * kPixelPieces +
                           Eight::first_piece(part);
    uint4 held[S::kAsync ? 1 : S::kPatchH / kRows];  // between load and norm, without cp.async
    const auto copy = [&](int tile) {
        const int y0 = tile / columns * S::kTileH - S::kBorder + row;
        const int j = reflect_index(tile % columns * S::kTileW - S::kBorder + column, p.padded_w);
#pragma unroll
        for (int k = 0; k < S::kPatchH / kRows; ++k) {
            const int i = reflect_index(y0 + k * kRows, p.padded_h);
            const uint4* from = x + (static_cast<size_t>(i) * p.padded_w + j) * kPixelPieces;
            if constexpr (S::kAsync)
                Eight::copy(smem_address(own) + k * (kRows * S::kPatchW * S::kPixelBytes), from);
            else held[k] = load_16B(from);
        }
        cp_async_commit();
    };
    pdl_wait();
    copy(blockIdx.x);
    load_norm_affine<S::kCin, S::kThreads>(p.norm, sample, affine);
    __syncthreads();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = (warp * S::kTilesM + i) * 16 + lane % 16;
        a_from[i] = smem_address(shared) + q * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from =
        smem_address(weights) + (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    constexpr int kBlocksOfRow = S::kCin / 16;  // of channels, in a row of the kernel
    auto* const y = static_cast<Out*>(p.y) + static_cast<size_t>(sample) * height * width * 3;
    OutputRange range;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float4 scales[4];
        Eight::load_affine(affine, part, scales);
        cp_async_wait<0>();
        constexpr int kTogether = S::kAsync ? 4 : S::kPatchH / kRows;
#pragma unroll kTogether
        for (int k = 0; k < S::kPatchH / kRows; ++k) {
            unsigned char* const at = own + k * (kRows * S::kPatchW * S::kPixelBytes);
            const uint4* const raw =
                S::kAsync ? reinterpret_cast<const uint4*>(at) : &held[S::kAsync ? 0 : k];
            Eight value;
            value.template normalize_activate<T, false>(*raw, at, scales, {});
        }
        __syncthreads();
        if (tile + static_cast<int>(gridDim.x) >= tiles) pdl_launch_dependents();
        float acc[S::kTilesM][S::kTilesN][4] = {};
        // A block alone on its multiprocessor loads the next fragments while it multiplies; others
        // lack the registers and overlap with one another instead.
        constexpr int kAhead = S::kBlocks == 1 ? 1 : 0;
        // With split operands, the products are the same as in conv3x3.
        constexpr int kEach = S::kProductsOfOperands, kProducts = S::kDepth / 16 * kEach;
        uint32_t a[kAhead + 1][S::kTilesM][4], b[kAhead + 1][S::kTilesN / 2][4];
        const auto a_of = [](int n) { return (kEach == 3 ? n % 3 != 0 : n % 2) * kAhead; };
        const auto b_of = [](int n) { return (kEach == 3 ? n % 3 == 2 : n % 2) * kAhead; };
        const auto load = [&](int n) {
            const int k = n / kEach;
            const int a_copy = kEach == 3 && n % 3 == 0, b_copy = kEach == 3 && n % 3 == 2;
            const uint32_t step = k / kBlocksOfRow * S::kPatchW * S::kPixelBytes +
                                  k % kBlocksOfRow * 32 + a_copy * Eight::kSlotBetween;
            if (kEach == 1 || n % 3 != 2)
#pragma unroll
                for (int i = 0; i < S::kTilesM; ++i) ldmatrix_x4(a[a_of(n)][i], a_from[i] + step);
            if (kEach == 1 || n % 3 != 1)
#pragma unroll
                for (int j = 0; j < S::kTilesN / 2; ++j)
                    ldmatrix_x4(
                        b[b_of(n)][j],
                        b_from + (b_copy * S::kWeightRows + j * 16) * S::kRowBytes + k * 32);
        };
        if (kAhead) load(0);
#pragma unroll
        for (int n = 0; n < kProducts; ++n) {
            if (n + kAhead < kProducts) load(n + kAhead);
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int j = 0; j < S::kTilesN; ++j)
                    mma_m16n8k16<T>(acc[i][j], a[a_of(n)][i], b[b_of(n)][j / 2][j % 2 * 2],
                                    b[b_of(n)][j / 2][j % 2 * 2 + 1]);
        }
        __syncthreads();
        float* const sums = reinterpret_cast<float*>(shared);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    sums[((warp * S::kTilesM + i) * 16 + k / 2 * 8 + lane / 4) * S::kSumPitch +
                         j * 8 + lane % 4 * 2 + k % 2] = acc[i][j][k];
        __syncthreads();
        const bool more = tile + static_cast<int>(gridDim.x) < tiles;
        if (!S::kAsync && more) copy(tile + gridDim.x);  // to registers, while sums are added
        const int tile_y = tile / columns * S::kTileH, tile_x = tile % columns * S::kTileW;
        for (int q = threadIdx.x; q < S::kTileH * S::kTileW * 3; q += S::kThreads) {
            const int i = q / (S::kTileW * 3), j = q / 3 % S::kTileW, color = q % 3;
            if (tile_y + i >= height || tile_x + j >= width) continue;
            float sum = p.bias[color];
#pragma unroll
            for (int tap = 0; tap < S::kKernel; ++tap)
                sum += sums[(i * S::kWideW + j + tap) * S::kSumPitch + tap * 3 + color];
            range.add(sum);
            y[(static_cast<size_t>(tile_y + i) * width + tile_x + j) * 3 + color] =
                from_float<Out>(sum);
        }
        __syncthreads();
        if (S::kAsync && more) copy(tile + gridDim.x);  // to the patch, where the sums were
    }
    range.merge_into(p.range + sample * 3);
}

}  // namespace styleforge::sm80
