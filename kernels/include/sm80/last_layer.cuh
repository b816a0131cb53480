// The last layer: 9x9 (5x5 in the lite network) to three colors. Three columns would waste most of a
// tensor core's eight, so the kernel's columns times three colors are computed for every pixel of a
// row, summed over the kernel's rows, and then added along the row, each shifted by its column.
#pragma once

#include "../common/border.cuh"
#include "../common/pdl.cuh"
#include "../common/range.cuh"
#include "tile_io.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

template <typename T, typename Out, typename S = LastLayerTraits>
__global__ void __launch_bounds__(S::kThreads) last_layer(const LastLayerParams p) {
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z, tile_y = blockIdx.y * S::kTileH, tile_x = blockIdx.x * S::kTileW;
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kWeightRows * kChunks; i += S::kThreads)
        cp_async_16B(smem_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                     static_cast<const uint4*>(p.weight) + i);
    cp_async_commit();

    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kIterations = kPatch / kPitch;
    static_assert(S::kThreads % kParts == 0 && kPatch % kPitch == 0);
    __shared__ int patch_offsets[S::kPatchH + S::kPatchW];
    __shared__ float2 affine[S::kCin];
    compute_patch_offsets<S::kPatchH, S::kPatchW, S::kThreads>(patch_offsets, [&](int i, bool row) {
        return row ? reflect_index(tile_y - S::kBorder + i, p.padded_h)
                   : reflect_index(tile_x - S::kBorder + i, p.padded_w);
    });
    pdl_wait();
    const int part = threadIdx.x % kParts, first = threadIdx.x / kParts;
    const auto* x = static_cast<const uint4*>(p.x) +
                    static_cast<size_t>(sample) * p.padded_h * p.padded_w * kParts + part;
    unsigned char* to = shared + part * 16;
#pragma unroll
    for (int k = 0; k < kIterations; ++k) {
        const int q = first + k * kPitch;
        const int at =
            patch_offsets[q / S::kPatchW] * p.padded_w + patch_offsets[S::kPatchH + q % S::kPatchW];
        cp_async_16B(smem_address(to + q * S::kPixelBytes), x + at * kParts);
    }
    cp_async_commit();
    load_norm_affine<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    cp_async_wait<0>();
#pragma unroll
    for (int k = 0; k < kIterations; ++k) {
        auto* value = reinterpret_cast<uint4*>(to + (first + k * kPitch) * S::kPixelBytes);
        *value = normalize_activate<T, false>(*value, own, 0.f, uint4{});
    }
    __syncthreads();
    pdl_launch_dependents();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = (warp * S::kTilesM + i) * 16 + lane % 16;
        a_from[i] = smem_address(shared) + q * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from =
        smem_address(weights) + (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    constexpr int kBlocks = S::kCin / 16;  // of channels, in a row of the kernel
#pragma unroll 6
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = k / kBlocks * S::kPatchW * S::kPixelBytes + k % kBlocks * 32;
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
    float* sums = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int j = 0; j < S::kTilesN; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                sums[((warp * S::kTilesM + i) * 16 + k / 2 * 8 + lane / 4) * S::kSumPitch + j * 8 +
                     lane % 4 * 2 + k % 2] = acc[i][j][k];
    __syncthreads();
    auto* y = static_cast<Out*>(p.y) + static_cast<size_t>(sample) * p.height * p.width * 3;
    OutputRange span;
    for (int q = threadIdx.x; q < S::kTileH * S::kTileW * 3; q += S::kThreads) {
        const int i = q / (S::kTileW * 3), j = q / 3 % S::kTileW, color = q % 3;
        if (tile_y + i >= p.height || tile_x + j >= p.width) continue;
        float sum = p.bias[color];
#pragma unroll
        for (int tap = 0; tap < S::kKernel; ++tap)
            sum += sums[(i * S::kWideW + j + tap) * S::kSumPitch + tap * 3 + color];
        span.add(sum);
        Out* to = y + (static_cast<size_t>(tile_y + i) * p.width + tile_x + j) * 3 + color;
        *to = from_float<Out>(sum);
    }
    span.merge_into(p.range + sample * 3);
}

}  // namespace styleforge::sm80
