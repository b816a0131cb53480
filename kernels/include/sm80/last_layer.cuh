// The last layer: 9x9 to three colours. Three columns would waste most of a tensor core's eight,
// so the nine columns of the kernel times three colours are computed for every pixel of a row,
// summed over the kernel's rows, and then added along the row with a shift each.
#pragma once

#include "tile_io.cuh"

namespace styleforge {

struct Last {
    const void* x;         // [N, H', W', 32] raw
    Norm norm;             // of x
    const void* weight;    // [32][288]: column of the kernel times 3 plus colour; row, channel
    const float* bias;     // [3]
    void* y;               // [N, H, W, 3], uint8 (rounded, 0-255) or T
    int height, width;     // H, W of the picture
    int padded_h, padded_w;
    int* range;            // [N, 3] of the picture, see Span
};

struct LastShape {
    static constexpr int kCin = 32, kTileH = 8, kTileW = 32, kWideW = kTileW + 8;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kWideW;
    static constexpr int kThreads = 320, kWarps = 10, kTilesM = 2, kTilesN = 4;
    static constexpr int kPixelBytes = kCin * 2 + 16, kDepth = 288, kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kSumPitch = 33;
    static constexpr int kSumBytes = kTileH * kWideW * kSumPitch * 4;
    static constexpr int kSharedBytes = kPatchBytes + 32 * kRowBytes;
    static_assert(kSumBytes <= kPatchBytes);
};

__device__ __forceinline__ void put(uint8_t* to, float v) {
    *to = static_cast<uint8_t>(fminf(fmaxf(v, 0.f), 255.f) + 0.5f);
}
__device__ __forceinline__ void put(__half* to, float v) { *to = __float2half(v); }
__device__ __forceinline__ void put(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }

template <typename T, typename Out>
__global__ void __launch_bounds__(LastShape::kThreads) convolve_last(const Last p) {
    using S = LastShape;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z, tile_y = blockIdx.y * S::kTileH, tile_x = blockIdx.x * S::kTileW;
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < 32 * kChunks; i += S::kThreads)
        copy_async(shared_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                   static_cast<const uint4*>(p.weight) + i);
    commit_copies();

    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kTurns = kPatch / kPitch;
    static_assert(kPatch % kPitch == 0);
    __shared__ int places[S::kPatchH + S::kPatchW];
    __shared__ float2 affine[S::kCin];
    place_patch<S::kPatchH, S::kPatchW, S::kThreads>(places, [&](int i, bool row) {
        return row ? reflect(tile_y - 4 + i, p.padded_h) : reflect(tile_x - 4 + i, p.padded_w);
    });
    wait_for_previous_layer();
    const int part = threadIdx.x % kParts, first = threadIdx.x / kParts;
    const auto* x = static_cast<const uint4*>(p.x) +
                    static_cast<size_t>(sample) * p.padded_h * p.padded_w * kParts + part;
    unsigned char* to = shared + part * 16;
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        const int at = places[q / S::kPatchW] * p.padded_w + places[S::kPatchH + q % S::kPatchW];
        copy_async(shared_address(to + q * S::kPixelBytes), x + at * kParts);
    }
    commit_copies();
    read_norm<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    wait_for_copies<0>();
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        auto* value = reinterpret_cast<uint4*>(to + (first + k * kPitch) * S::kPixelBytes);
        *value = activate<T, false>(*value, own, 0.f, uint4{});
    }
    __syncthreads();
    let_next_layer_start();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = (warp * S::kTilesM + i) * 16 + lane % 16;
        a_from[i] = shared_address(shared) + q * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from = shared_address(weights) +
                            (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    float acc[S::kTilesM][S::kTilesN][4] = {};
#pragma unroll 6
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = k / 2 * S::kPatchW * S::kPixelBytes + k % 2 * 32;
        uint32_t a[S::kTilesM][4], b[S::kTilesN / 2][4];
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) load_matrices(a[i], a_from[i] + step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            load_matrices(b[j], b_from + j * 16 * S::kRowBytes + k * 32);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                multiply<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
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
    Span span;
    for (int q = threadIdx.x; q < S::kTileH * S::kTileW * 3; q += S::kThreads) {
        const int i = q / (S::kTileW * 3), j = q / 3 % S::kTileW, colour = q % 3;
        if (tile_y + i >= p.height || tile_x + j >= p.width) continue;
        float sum = p.bias[colour];
#pragma unroll
        for (int tap = 0; tap < 9; ++tap)
            sum += sums[(i * S::kWideW + j + tap) * S::kSumPitch + tap * 3 + colour];
        span.add(sum);
        put(y + (static_cast<size_t>(tile_y + i) * p.width + tile_x + j) * 3 + colour, sum);
    }
    span.leave(p.range + sample * 3);
}

}  // namespace styleforge
