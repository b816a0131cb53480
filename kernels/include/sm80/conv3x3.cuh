// The 3x3 layers: stride 1 or 2, or after upsampling, as four phases of 2x2. A patch of x stays in
// shared memory while the weights pass through a ring of stages.
#pragma once

#include <math.h>
#include "../common/border.cuh"
#include "../common/pdl.cuh"
#include "tile_io.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

// Copies a patch of x into shared memory, all of it in flight at once; the thread that copied an
// element then applies norm, ReLU and residual in place.
template <typename T, typename S, bool kAdd>
__device__ __forceinline__ void load_patch(const ConvParams& p, unsigned char* patch,
                                           float2 (&affine)[S::kCin],
                                           const int (&patch_offsets)[S::kPatchH + S::kPatchW],
                                           int sample) {
    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kIterations = (kPatch + kPitch - 1) / kPitch;
    const int part = threadIdx.x % kParts, first = first_pixel<kParts, S::kThreads>(kPatch);
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width * kParts;
    const uint4* x = static_cast<const uint4*>(p.x) + plane + part;
    const uint4* residual = static_cast<const uint4*>(p.residual) + plane + part;
    unsigned char* to = patch + part * 16;
    uint4 add[kAdd ? kIterations : 1];
#pragma unroll
    for (int k = 0; k < kIterations; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            const int at = (patch_offsets[q / S::kPatchW] * p.width +
                            patch_offsets[S::kPatchH + q % S::kPatchW]) *
                           kParts;
            cp_async_16B(smem_address(to + q * S::kPixelBytes), x + at);
            if (kAdd) add[k] = __ldcg(residual + at);
        }
    }
    cp_async_commit();
    load_norm_affine<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    const float floor = p.relu ? 0.f : -INFINITY;
    cp_async_wait<0>();
#pragma unroll
    for (int k = 0; k < kIterations; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            auto* value = reinterpret_cast<uint4*>(to + q * S::kPixelBytes);
            *value = normalize_activate<T, kAdd>(*value, own, floor, add[kAdd ? k : 0]);
        }
    }
    __syncthreads();
}

// Stores the interior of a normalized patch (stride 1): each pixel is interior to one patch.
template <typename S>
__device__ __forceinline__ void store_activated(const ConvParams& p, const unsigned char* patch,
                                                int sample, int tile_y, int tile_x, int rows,
                                                int columns) {
    constexpr int kParts = S::kCin / 8;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width;
    const int part = threadIdx.x % kParts;
#pragma unroll 4
    for (int q = first_pixel<kParts, S::kThreads>(S::kPixels); q < S::kPixels;
         q += S::kThreads / kParts) {
        const int i = q / S::kTileW, j = q % S::kTileW;
        if (i < rows && j < columns)
            static_cast<uint4*>(
                p.activated)[(plane + (tile_y + i) * p.width + tile_x + j) * kParts + part] =
                *reinterpret_cast<const uint4*>(
                    patch + ((i + 1) * S::kPatchW + j + 1) * S::kPixelBytes + part * 16);
    }
}

template <typename T, typename S, bool kAdd>
__global__ void __launch_bounds__(S::kThreads) conv3x3(const ConvParams p) {
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ float2 affine[S::kCin];
    __shared__ int patch_offsets[S::kPatchH + S::kPatchW];
    unsigned char* patch = shared;
    unsigned char* stages = shared + S::kPatchBytes;
    const int phase = blockIdx.y, sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);

    const auto* weight = static_cast<const unsigned char*>(p.weight) +
                         static_cast<size_t>(phase) * S::kSteps * S::kCout * S::kBlockK * 2;
    const auto fetch = [&](int step) {
        constexpr int kChunks = S::kBlockK / 8;
        if (step < S::kSteps) {
            const auto* from = weight + static_cast<size_t>(step) * S::kCout * S::kBlockK * 2;
            const uint32_t to = smem_address(stages + step % S::kStages * S::kStageBytes);
            for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
                cp_async_16B(to + i / kChunks * S::kRowBytes + i % kChunks * 16, from + i * 16);
        }
        cp_async_commit();
    };
#pragma unroll
    for (int step = 0; step < S::kPrefetch; ++step) fetch(step);

    const int shift_y = S::kUpsample ? phase / 2 : 0, shift_x = S::kUpsample ? phase % 2 : 0;
    compute_patch_offsets<S::kPatchH, S::kPatchW, S::kThreads>(patch_offsets, [&](int i, bool row) {
        const int at = (row ? tile_y : tile_x) * S::kStride - 1 + (row ? shift_y : shift_x) + i;
        const int size = row ? p.height : p.width;
        return S::kUpsample ? clamp_index(at, size) : reflect_index(at, size);
    });
    pdl_wait();
    load_patch<T, S, kAdd>(p, patch, affine, patch_offsets, sample);
    pdl_launch_dependents();
    if (S::kStride == 1 && !S::kUpsample && p.activated)
        store_activated<S>(p, patch, sample, tile_y, tile_x, rows, columns);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    constexpr int kBlocksK = S::kCin / S::kBlockK, kStepsK = S::kBlockK / 16;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp_m * S::kRowsOfWarp + i * 16 + lane % 16;
        const int at = q / S::kTileW * S::kStride * S::kPatchW + q % S::kTileW * S::kStride;
        a_from[i] = smem_address(patch) + at * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from = smem_address(stages) +
                            (warp_n * S::kColumnsOfWarp + lane / 16 * 8 + lane % 8) * S::kRowBytes +
                            lane / 8 % 2 * 16;
    uint32_t a[2][S::kTilesM][4], b[2][S::kTilesN / 2][4];
    const auto load = [&](int step, int k, int to) {
        const int tap = step / kBlocksK, slice = step % kBlocksK;
        const uint32_t a_step =
            ((tap / S::kKernel) * S::kPatchW + tap % S::kKernel) * S::kPixelBytes +
            slice * S::kBlockK * 2 + k * 32;
        const uint32_t b_step = b_from + step % S::kStages * S::kStageBytes + k * 32;
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) ldmatrix_x4(a[to][i], a_from[i] + a_step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            ldmatrix_x4(b[to][j], b_step + j * 16 * S::kRowBytes);
    };
    const auto multiply = [&](int from) {
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                mma_m16n8k16<T>(acc[i][j], a[from][i], b[from][j / 2][j % 2 * 2],
                                b[from][j / 2][j % 2 * 2 + 1]);
    };
    load(0, 0, 0);
    if constexpr (S::kResident) {  // the weights arrived with the patch: no step waits
#pragma unroll
        for (int i = 0; i < S::kSteps * kStepsK; ++i) {
            if (i + 1 < S::kSteps * kStepsK)
                load((i + 1) / kStepsK, (i + 1) % kStepsK, (i + 1) % 2);
            multiply(i % 2);
        }
    } else {
        for (int step = 0; step < S::kSteps; ++step) {
#pragma unroll
            for (int k = 0; k < kStepsK; ++k) {
                // Load the next fragments while these are multiplied.
                if (k == kStepsK - 1) {
                    fetch(step + S::kPrefetch);
                    cp_async_wait<S::kPrefetch - 1>();
                    __syncthreads();
                    if (step + 1 < S::kSteps) load(step + 1, 0, (k + 1) % 2);
                } else {
                    load(step, k + 1, (k + 1) % 2);
                }
                multiply(k % 2);
            }
        }
    }
    cp_async_wait<0>();
    __syncthreads();

    const int tile = phase * p.tiling.rows * p.tiling.columns + blockIdx.x;
    write_tile_statistics<T, S>(acc, shared, p.statistics, p.tiling, sample, tile, rows, columns);
    constexpr int kScale = S::kUpsample ? 2 : 1;
    const int high = p.tiling.height * kScale, wide = p.tiling.width * kScale;
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        const int oy = (tile_y + i) * kScale + shift_y, ox = (tile_x + j) * kScale + shift_x;
        return (static_cast<size_t>(sample) * high + oy) * wide + ox;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, tile);
}

}  // namespace styleforge::sm80
