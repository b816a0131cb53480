// What the layers of network_sm80.cu share: where a patch lies in x, its norm, ReLU and residual,
// and a tile of results on its way out, with its statistics.
#pragma once

#include <type_traits>
#include "../common/convert.cuh"
#include "../common/ptx.cuh"
#include "statistics.cuh"

namespace styleforge::sm80 {

// The indices in x of the rows and columns of a patch, reflected or repeated at the border.
template <int kPatchH, int kPatchW, int kThreads, typename Place>
__device__ __forceinline__ void compute_patch_offsets(int (&patch_offsets)[kPatchH + kPatchW],
                                                      Place place) {
    for (int i = threadIdx.x; i < kPatchH + kPatchW; i += kThreads)
        patch_offsets[i] = i < kPatchH ? place(i, true) : place(i - kPatchH, false);
    __syncthreads();
}

// Threads take kParts parts of 16 bytes of each pixel, thread t part t % kParts, of as many pixels
// at once as there are whole groups of kParts threads: the first pixel of a thread, or `none` where
// it belongs to no such group.
template <int kParts, int kThreads>
__device__ __forceinline__ int first_pixel(int none) {
    const int pixel = threadIdx.x / kParts;
    if constexpr (kThreads % kParts != 0)
        if (pixel == kThreads / kParts) return none;
    return pixel;
}

// Eight channels: norm, ReLU and residual in FP32, rounded once.
template <typename T, bool kAdd>
__device__ __forceinline__ uint4 normalize_activate(const uint4& raw, const float2 (&affine)[8],
                                                    float floor, const uint4& add) {
    uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
    const uint32_t more[4] = {add.x, add.y, add.z, add.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 v = Pair<T>::unpack(word[i]);
        v.x = fmaxf(fmaf(v.x, affine[2 * i].x, affine[2 * i].y), floor);
        v.y = fmaxf(fmaf(v.y, affine[2 * i + 1].x, affine[2 * i + 1].y), floor);
        if (kAdd) {
            const float2 r = Pair<T>::unpack(more[i]);
            v.x += r.x, v.y += r.y;
        }
        word[i] = Pair<T>::pack(v.x, v.y);
    }
    return {word[0], word[1], word[2], word[3]};
}

// The accumulators of a warp, kTilesM x kTilesN products of 16 x 8, hold the raw outputs:
// writes their statistics to memory, and the outputs, rounded, to `out` [kPixels][kCout].
template <typename T, typename S>
__device__ __forceinline__ void write_tile_statistics(float (&acc)[S::kTilesM][S::kTilesN][4],
                                                      unsigned char* out,
                                                      const StatisticsParams& statistics,
                                                      const Tiling& tiling, int sample, int tile,
                                                      int rows, int columns) {
    __shared__ float sums[S::kWarpsM][S::kCout];
    __shared__ float means[S::kCout];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    const auto pixel = [&](int i, int half) {
        return warp_m * S::kRowsOfWarp + i * 16 + half * 8 + lane / 4;
    };
    const auto inside = [&](int q) { return q / S::kTileW < rows && q % S::kTileW < columns; };
    const auto channel = [&](int j) { return warp_n * S::kColumnsOfWarp + j * 8 + lane % 4 * 2; };
    bool valid[S::kTilesM][2];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) valid[i][half] = inside(pixel(i, half));

    // Two passes over the registers: the mean of the tile, then squared deviations from it.
    const auto reduce = [&](auto squared) {
        constexpr bool kSquared = decltype(squared)::value;
#pragma unroll
        for (int j = 0; j < S::kTilesN; ++j) {
            float a = 0, b = 0;
            const float mean_a = kSquared ? means[channel(j)] : 0;
            const float mean_b = kSquared ? means[channel(j) + 1] : 0;
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    if (valid[i][half]) {
                        const float u = acc[i][j][2 * half] - mean_a;
                        const float v = acc[i][j][2 * half + 1] - mean_b;
                        a += kSquared ? u * u : u;
                        b += kSquared ? v * v : v;
                    }
#pragma unroll
            for (int step = 4; step < 32; step *= 2) {
                a += __shfl_xor_sync(~0u, a, step);
                b += __shfl_xor_sync(~0u, b, step);
            }
            if (lane < 4) sums[warp_m][channel(j)] = a, sums[warp_m][channel(j) + 1] = b;
        }
        __syncthreads();
    };
    const auto total = [&](int c) {
        float sum = 0;
#pragma unroll
        for (int m = 0; m < S::kWarpsM; ++m) sum += sums[m][c];
        return sum;
    };
    reduce(std::false_type{});
    const float count = static_cast<float>(rows * columns);
    for (int c = threadIdx.x; c < S::kCout; c += S::kThreads) means[c] = total(c) / count;
    __syncthreads();
    reduce(std::true_type{});
    float2* to =
        statistics.tiles + (static_cast<size_t>(sample) * tiling.tiles() + tile) * S::kCout;
    for (int c = threadIdx.x; c < S::kCout; c += S::kThreads) to[c] = {means[c], total(c)};

#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                *reinterpret_cast<uint32_t*>(out + pixel(i, half) * (S::kCout * 2 + 16) +
                                             channel(j) * 2) =
                    Pair<T>::pack(acc[i][j][2 * half], acc[i][j][2 * half + 1]);
    __syncthreads();
}

// Stores `out`, 16 bytes a thread; pixel (i, j) of the tile goes to index `place(i, j)`.
template <typename S, typename Place>
__device__ __forceinline__ void store_tile(const unsigned char* out, void* y, int rows, int columns,
                                           Place place) {
    constexpr int kParts = S::kCout / 8;
    for (int q = first_pixel<kParts, S::kThreads>(S::kPixels); q < S::kPixels;
         q += S::kThreads / kParts) {
        const int i = q / S::kTileW, j = q % S::kTileW, part = threadIdx.x % kParts;
        if (i < rows && j < columns)
            static_cast<uint4*>(y)[place(i, j) * kParts + part] =
                *reinterpret_cast<const uint4*>(out + q * (S::kCout * 2 + 16) + part * 16);
    }
}

}  // namespace styleforge::sm80
