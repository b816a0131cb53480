// The first layer: 9x9 from the three colours of a frame, which is read as it is, with its
// reflection padding. Two taps lie side by side in 16 bytes, so that matrices of taps can be
// loaded; for pixels at odd columns they do in a second copy, one pixel on.
#pragma once

#include "tile_io.cuh"

namespace styleforge {

struct First {
    const void* x;       // [N, H, W, 3], uint8 or T
    const void* weight;  // [32][368]: row of the kernel, column padded to 10, colour padded to 4
    void* y;             // [N, H', W', 32] raw
    Statistics statistics;
    Tiling tiling;       // H' and W' are H and W rounded up to multiples of 4
    int height, width;
    int* range;          // [N, 3], cleared; see Span
};

struct FirstShape {
    static constexpr int kCout = 32, kTileH = 8, kTileW = 32, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = 8, kWarpsN = 1, kThreads = 256;
    static constexpr int kRowsOfWarp = 32, kColumnsOfWarp = 32, kTilesM = 2, kTilesN = 4;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kTileW + 10, kDepth = 368;
    static constexpr int kCopyBytes = kPatchH * kPatchW * 8, kSecond = kCopyBytes + 64;
    static constexpr int kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = (kSecond + kCopyBytes + 127) / 128 * 128;
    static constexpr int kWorkBytes = kPatchBytes + kCout * kRowBytes;
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static_assert(kCopyBytes % 128 == 0, "the second copy lies half a cycle of banks on");
};

__device__ __forceinline__ float as_float(uint8_t v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T, typename In>
__global__ void __launch_bounds__(FirstShape::kThreads) convolve_first(const First p) {
    using S = FirstShape;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
        copy_async(shared_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                   static_cast<const uint4*>(p.weight) + i);
    commit_copies();
    wait_for_previous_layer();
    if (blockIdx.x == 0 && threadIdx.x == 0) Span::clear(p.range + sample * 3);

    const auto* x = static_cast<const In*>(p.x) + static_cast<size_t>(sample) * p.height * p.width * 3;
    for (int q = threadIdx.x; q < S::kPatchH * S::kPatchW; q += S::kThreads) {
        // Mirrored twice: at the edge of the padded picture, then at that of the frame.
        const int iy = reflect(reflect(tile_y - 4 + q / S::kPatchW, p.tiling.height), p.height);
        const int ix = reflect(reflect(tile_x - 4 + q % S::kPatchW, p.tiling.width), p.width);
        const In* from = x + (static_cast<size_t>(iy) * p.width + ix) * 3;
        const uint2 value = {Pair<T>::close(as_float(from[0]), as_float(from[1])),
                             Pair<T>::close(as_float(from[2]), 0)};
        *reinterpret_cast<uint2*>(shared + q * 8) = value;
        if (q % S::kPatchW) *reinterpret_cast<uint2*>(shared + S::kSecond + (q - 1) * 8) = value;
        else *reinterpret_cast<uint2*>(shared + S::kSecond + (q + S::kPatchW - 1) * 8) = uint2{0, 0};
    }
    wait_for_copies<0>();
    __syncthreads();
    let_next_layer_start();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp * S::kRowsOfWarp + i * 16 + lane % 16;
        const int row = q / S::kTileW, column = q % S::kTileW;
        a_from[i] = shared_address(shared) + (column % 2 ? S::kSecond : 0) +
                    (row * S::kPatchW + column / 2 * 2) * 8;
    }
    const uint32_t b_from = shared_address(weights) +
                            (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    // Pair q of taps lies in row q / 5 of the kernel; the 46th is all zeros in the weights.
    const auto offset = [](int q) { return q < 45 ? (q / 5 * S::kPatchW + q % 5 * 2) * 8 : 0; };
#pragma unroll
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = lane / 16 ? offset(2 * k + 1) : offset(2 * k);
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
    keep_tile<T, S>(acc, shared, p.statistics, p.tiling, sample, blockIdx.x, rows, columns);
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        return (static_cast<size_t>(sample) * p.tiling.height + tile_y + i) * p.tiling.width +
               tile_x + j;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, blockIdx.x);
}

}  // namespace styleforge
