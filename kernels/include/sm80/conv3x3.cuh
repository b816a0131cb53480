// The layers between the first and the last: 3x3 at a stride of 1 or 2, or enlarged, by four phases
// of 2x2. A patch of x stays in shared memory, and the weights pass by it in slices.
#pragma once

#include "tile_io.cuh"

namespace styleforge {

__device__ __forceinline__ int replicate(int i, int size) { return max(0, min(size - 1, i)); }

struct Conv {
    const void* x;         // [N, H, W, Cin] raw
    Norm norm;             // of x
    const void* residual;  // [N, H, W, Cin], or null: added after norm and ReLU
    void* activated;       // [N, H, W, Cin], or null: where what was loaded is kept
    const void* weight;    // [phases][taps][Cin / kSlice][Cout][kSlice]
    void* y;               // [N, H', W', Cout] raw
    Statistics statistics;
    Tiling tiling;         // of the output, before phases are interleaved
    int height, width;     // of x
    int relu;
};

// What a block of threads computes: kTileH x kTileW outputs of all kCout channels.
template <int kCin_, int kCout_, int kKernel_, int kStride_, bool kUpsample_, int kTileH_,
          int kTileW_, int kWarpsM_, int kWarpsN_, int kSlice_, int kStages_>
struct Shape {
    static constexpr int kCin = kCin_, kCout = kCout_, kKernel = kKernel_, kStride = kStride_;
    static constexpr bool kUpsample = kUpsample_;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
    static constexpr int kThreads = kWarpsM * kWarpsN * 32;
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kCout / kWarpsN;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kColumnsOfWarp / 8;
    static constexpr int kSlice = kSlice_, kStages = kStages_;
    static constexpr int kPatchH = (kTileH - 1) * kStride + kKernel;
    static constexpr int kPatchW = (kTileW - 1) * kStride + kKernel;
    // One access width of padding a pixel keeps eight neighbours in different banks.
    static constexpr int kPixelBytes = kCin * 2 + 16, kRowBytes = kSlice * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kStageBytes = kCout * kRowBytes;
    static constexpr int kAhead = kStages - 1;  // steps fetched ahead
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kWorkBytes = kPatchBytes + kStages * kStageBytes;
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static constexpr int kSteps = kKernel * kKernel * (kCin / kSlice);
    static_assert(kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0 && kSlice % 16 == 0);
    static_assert(kSlice % 32 == 0, "an even number of matrices, for taking turns");
    static_assert(kThreads % kCin == 0 && kThreads % kCout == 0);
};

// A patch of x into shared memory: raw first, all of it in flight at once, then norm, ReLU and
// residual in place, by the thread that copied it.
template <typename T, typename S, bool kAdd>
__device__ __forceinline__ void load_patch(const Conv& p, unsigned char* patch,
                                           float2 (&affine)[S::kCin],
                                           const int (&places)[S::kPatchH + S::kPatchW],
                                           int sample) {
    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kTurns = (kPatch + kPitch - 1) / kPitch;
    const int part = threadIdx.x % kParts, first = threadIdx.x / kParts;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width * kParts;
    const uint4* x = static_cast<const uint4*>(p.x) + plane + part;
    const uint4* residual = static_cast<const uint4*>(p.residual) + plane + part;
    unsigned char* to = patch + part * 16;
    uint4 add[kAdd ? kTurns : 1];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            const int at = (places[q / S::kPatchW] * p.width +
                            places[S::kPatchH + q % S::kPatchW]) * kParts;
            copy_async(shared_address(to + q * S::kPixelBytes), x + at);
            if (kAdd) add[k] = __ldcg(residual + at);
        }
    }
    commit_copies();
    read_norm<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    const float floor = p.relu ? 0.f : -INFINITY;
    wait_for_copies<0>();
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            auto* value = reinterpret_cast<uint4*>(to + q * S::kPixelBytes);
            *value = activate<T, kAdd>(*value, own, floor, add[kAdd ? k : 0]);
        }
    }
    __syncthreads();
}

// The inside of a patch of a stride of 1 to memory: each pixel is inside just one.
template <typename S>
__device__ __forceinline__ void keep_patch(const Conv& p, const unsigned char* patch, int sample,
                                           int tile_y, int tile_x, int rows, int columns) {
    constexpr int kParts = S::kCin / 8;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width;
    const int part = threadIdx.x % kParts;
#pragma unroll 4
    for (int q = threadIdx.x / kParts; q < S::kPixels; q += S::kThreads / kParts) {
        const int i = q / S::kTileW, j = q % S::kTileW;
        if (i < rows && j < columns)
            static_cast<uint4*>(p.activated)[(plane + (tile_y + i) * p.width + tile_x + j) *
                                             kParts + part] =
                *reinterpret_cast<const uint4*>(
                    patch + ((i + 1) * S::kPatchW + j + 1) * S::kPixelBytes + part * 16);
    }
}

template <typename T, typename S, bool kAdd>
__global__ void __launch_bounds__(S::kThreads) convolve(const Conv p) {
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ float2 affine[S::kCin];
    __shared__ int places[S::kPatchH + S::kPatchW];
    unsigned char* patch = shared;
    unsigned char* stages = shared + S::kPatchBytes;
    const int phase = blockIdx.y, sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);

    const auto* weight = static_cast<const unsigned char*>(p.weight) +
                         static_cast<size_t>(phase) * S::kSteps * S::kCout * S::kSlice * 2;
    const auto fetch = [&](int step) {
        constexpr int kChunks = S::kSlice / 8;
        if (step < S::kSteps) {
            const auto* from = weight + static_cast<size_t>(step) * S::kCout * S::kSlice * 2;
            const uint32_t to = shared_address(stages + step % S::kStages * S::kStageBytes);
            for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
                copy_async(to + i / kChunks * S::kRowBytes + i % kChunks * 16, from + i * 16);
        }
        commit_copies();
    };
#pragma unroll
    for (int step = 0; step < S::kAhead; ++step) fetch(step);

    const int shift_y = S::kUpsample ? phase / 2 : 0, shift_x = S::kUpsample ? phase % 2 : 0;
    place_patch<S::kPatchH, S::kPatchW, S::kThreads>(places, [&](int i, bool row) {
        const int at = (row ? tile_y : tile_x) * S::kStride - 1 + (row ? shift_y : shift_x) + i;
        const int size = row ? p.height : p.width;
        return S::kUpsample ? replicate(at, size) : reflect(at, size);
    });
    wait_for_previous_layer();
    load_patch<T, S, kAdd>(p, patch, affine, places, sample);
    let_next_layer_start();
    if (S::kStride == 1 && !S::kUpsample && p.activated)
        keep_patch<S>(p, patch, sample, tile_y, tile_x, rows, columns);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    constexpr int kSlices = S::kCin / S::kSlice, kDeep = S::kSlice / 16;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp_m * S::kRowsOfWarp + i * 16 + lane % 16;
        const int at = q / S::kTileW * S::kStride * S::kPatchW + q % S::kTileW * S::kStride;
        a_from[i] = shared_address(patch) + at * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from = shared_address(stages) +
                            (warp_n * S::kColumnsOfWarp + lane / 16 * 8 + lane % 8) * S::kRowBytes +
                            lane / 8 % 2 * 16;
    uint32_t a[2][S::kTilesM][4], b[2][S::kTilesN / 2][4];
    const auto load = [&](int step, int k, int to) {
        const int tap = step / kSlices, slice = step % kSlices;
        const uint32_t a_step = ((tap / S::kKernel) * S::kPatchW + tap % S::kKernel) *
                                    S::kPixelBytes + slice * S::kSlice * 2 + k * 32;
        const uint32_t b_step = b_from + step % S::kStages * S::kStageBytes + k * 32;
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) load_matrices(a[to][i], a_from[i] + a_step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            load_matrices(b[to][j], b_step + j * 16 * S::kRowBytes);
    };
    load(0, 0, 0);
    for (int step = 0; step < S::kSteps; ++step) {
#pragma unroll
        for (int k = 0; k < kDeep; ++k) {
            // The next matrices are on their way while these are multiplied.
            if (k == kDeep - 1) {
                fetch(step + S::kAhead);
                wait_for_copies<S::kAhead - 1>();
                __syncthreads();
                if (step + 1 < S::kSteps) load(step + 1, 0, (k + 1) % 2);
            } else {
                load(step, k + 1, (k + 1) % 2);
            }
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int j = 0; j < S::kTilesN; ++j)
                    multiply<T>(acc[i][j], a[k % 2][i], b[k % 2][j / 2][j % 2 * 2],
                                b[k % 2][j / 2][j % 2 * 2 + 1]);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    const int tile = phase * p.tiling.rows * p.tiling.columns + blockIdx.x;
    keep_tile<T, S>(acc, shared, p.statistics, p.tiling, sample, tile, rows, columns);
    constexpr int kScale = S::kUpsample ? 2 : 1;
    const int high = p.tiling.height * kScale, wide = p.tiling.width * kScale;
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        const int oy = (tile_y + i) * kScale + shift_y, ox = (tile_x + j) * kScale + shift_x;
        return (static_cast<size_t>(sample) * high + oy) * wide + ox;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, tile);
}

}  // namespace styleforge
