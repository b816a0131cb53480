// The epilogue: stores accumulators straight to memory, 16 contiguous bytes per thread, and
// accumulates their moments per warp over all tiles of a block.
#pragma once

#include "include/common/convert.cuh"
#include "params.cuh"
#include "statistics.cuh"

namespace styleforge::sm80 {

// Maps the columns of a warp's product to output channels. A thread holds columns 2q and 2q + 1 of
// each eight. Up to four eights are ordered so that these are neighboring channels.
template <typename S>
struct OutputColumns {
    // Eights ordered together: where possible, a thread's channels fill 16 bytes.
    static constexpr int kVector = S::kStoredBytes == 2 && S::kTilesN % 4 == 0 ? 4 : 2;
    // The column of output `n` in [0, kColumns * taps).
    static __device__ __forceinline__ int column_of(int n) {
        constexpr int kWide = kVector * 8;
        const int at = n % kWide, q = at / (kVector * 2), j = at / 2 % kVector;
        return n - at + j * 8 + q * 2 + at % 2;
    }
    // The first channel of a thread's vector `v`, within its warp.
    static __device__ __forceinline__ int channel(int v) {
        return v * kVector * 8 + static_cast<int>(threadIdx.x) % 4 * kVector * 2;
    }
};

// Count, mean and M2 of a warp's outputs. Eight lanes hold the same channels of different pixels
// and divide the channels among themselves as they merge.
template <typename S>
struct BlockMoments {
    static constexpr int kValues = S::kTilesN * 2;  // channels per thread
    static constexpr int kKept = kValues % 8 == 0   ? kValues / 8
                                 : kValues % 4 == 0 ? kValues / 4
                                                    : kValues / 2;
    float count = 0, mean[kKept] = {}, m2[kKept] = {};

    // Adds accumulators. `valid(i, half)` returns whether row `half * 8 + lane / 4` of product i is
    // a pixel.
    template <typename Valid>
    __device__ __forceinline__ void add(const float (&acc)[S::kTilesM][S::kTilesN][4], int n,
                                        Valid valid) {
        float means[kValues], squares[kValues];
        float number = static_cast<float>(n);
        const float part = n ? 1 / number : 0;
#pragma unroll
        for (int v = 0; v < kValues; ++v) {
            float sum = 0, square = 0;
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    if (valid(i, half)) sum += acc[i][v / 2][half * 2 + v % 2];
            const float center = sum * part;
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    if (valid(i, half)) {
                        const float off = acc[i][v / 2][half * 2 + v % 2] - center;
                        square = fmaf(off, off, square);
                    }
            means[v] = center, squares[v] = square;
        }
        merge_lanes<kValues, 4>(means, squares, number);
    }

    template <int kLeft, int kBit>
    __device__ __forceinline__ void merge_lanes(float* means, float* squares, float number) {
        if constexpr (kBit == 32) {
            static_assert(kLeft == kKept);
            const float total = count + number, part = total > 0 ? number / total : 0;
#pragma unroll
            for (int v = 0; v < kKept; ++v) {
                const float delta = means[v] - mean[v];
                mean[v] += delta * part;
                m2[v] += squares[v] + delta * delta * count * part;
            }
            count = total;
        } else {
            constexpr bool kDivide = kLeft % 2 == 0;
            constexpr int kNext = kDivide ? kLeft / 2 : kLeft;
            const float other = __shfl_xor_sync(~0u, number, kBit), total = number + other;
            const float part = total > 0 ? other / total : 0;
            const bool upper = threadIdx.x & kBit;
#pragma unroll
            for (int v = 0; v < kNext; ++v) {
                const int to = kDivide ? v + kNext : v;
                const float own_mean = kDivide && upper ? means[to] : means[v];
                const float own_m2 = kDivide && upper ? squares[to] : squares[v];
                const float their_mean =
                    __shfl_xor_sync(~0u, kDivide && !upper ? means[to] : means[v], kBit);
                const float their_m2 =
                    __shfl_xor_sync(~0u, kDivide && !upper ? squares[to] : squares[v], kBit);
                const float delta = their_mean - own_mean;
                means[v] = own_mean + delta * part;
                squares[v] = own_m2 + their_m2 + delta * delta * number * part;
            }
            merge_lanes<kNext, kBit * 2>(means, squares, total);
        }
    }

    // Writes the block's moments. Every thread calls it once, with shared memory that is free by
    // then.
    __device__ __forceinline__ void write(const StatisticsParams& s, int sample, void* shared) {
        constexpr int kWarps = S::kWarpsM * S::kWarpsN,
                      kShares = kWarps * S::kColumnsOfWarp / S::kCout;
        float4* moments = static_cast<float4*>(shared);  // [share][Cout]
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
        // The channels that merge_lanes left to this thread.
        int first = 0, left = kValues;
        bool writes = true;
#pragma unroll
        for (int bit = 4; bit < 32; bit *= 2) {
            if (left % 2 == 0) {
                left /= 2;
                if (lane & bit) first += left;
            } else if (lane & bit) {
                writes = false;
            }
        }
        const int phase = warp_n * S::kColumnsOfWarp / S::kCout;
        const int columns = warp_n * S::kColumnsOfWarp % S::kCout;
        if (writes)
#pragma unroll
            for (int v = 0; v < kKept; ++v) {
                const int value =
                    first + v;  // value / 2: the group of eight; value % 2: the column of the pair
                constexpr int kVector = OutputColumns<S>::kVector;
                const int channel = columns + OutputColumns<S>::channel(value / 2 / kVector) +
                                    value / 2 % kVector * 2 + value % 2;
                moments[(phase * S::kWarpsM + warp_m) * S::kCout + channel] = {count, mean[v],
                                                                               m2[v], 0};
            }
        __syncthreads();
        float4* entries = s.entries + static_cast<size_t>(sample) * gridDim.x * S::kCout;
        for (int c = threadIdx.x; c < S::kCout; c += S::kThreads) {
            WelfordFp32 total;
#pragma unroll
            for (int k = 0; k < kShares; ++k) {
                const float4 part = moments[k * S::kCout + c];
                if (part.x > 0) total.merge(part.x, part.y, part.z);
            }
            entries[blockIdx.x * S::kCout + c] = {total.count, total.mean, total.m2, 0};
        }
        merge_group<S::kCout, S::kThreads>(s, sample, static_cast<float4*>(shared));
    }
};

template <typename T, typename S, typename Params>
__device__ __forceinline__ void store_tile(const float (&acc)[S::kTilesM][S::kTilesN][4],
                                           const Params& p, int tile, int sample,
                                           BlockMoments<S>& moments) {
    constexpr int kScale = S::kUpsample ? 2 : 1, kVector = OutputColumns<S>::kVector;
    constexpr int kPixelBytes = S::kCout * S::kStoredBytes;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    const int phase = warp_n * S::kColumnsOfWarp / S::kCout;
    const int tile_y = tile / p.tiling.columns * S::kTileH;
    const int tile_x = tile % p.tiling.columns * S::kTileW;
    const int rows = p.tiling.height - tile_y, columns = p.tiling.width - tile_x;
    const int wide = p.tiling.width * kScale;
    auto* y = static_cast<unsigned char*>(p.y) +
              static_cast<size_t>(sample) * p.tiling.height * kScale * wide * kPixelBytes +
              (warp_n * S::kColumnsOfWarp % S::kCout) * S::kStoredBytes;
    const auto row = [&](int i, int half) {
        return (warp_m * S::kRowsOfWarp + i * 16 + half * 8 + lane / 4) / S::kTileW;
    };
    const auto column = [&](int i, int half) {
        return (warp_m * S::kRowsOfWarp + i * 16 + half * 8 + lane / 4) % S::kTileW;
    };
    const auto valid = [&](int i, int half) {
        return row(i, half) < rows && column(i, half) < columns;
    };
    int n = 0;
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (!valid(i, half)) continue;
            ++n;
            const int oy = (tile_y + row(i, half)) * kScale + phase / 2;
            const int ox = (tile_x + column(i, half)) * kScale + phase % 2;
            unsigned char* to = y + (static_cast<size_t>(oy) * wide + ox) * kPixelBytes;
#pragma unroll
            for (int v = 0; v < S::kTilesN / kVector; ++v) {
                unsigned char* at = to + OutputColumns<S>::channel(v) * S::kStoredBytes;
                if constexpr (S::kStoredBytes == 4) {
                    const float *first = acc[i][v * 2] + half * 2, *second = first + 4;
                    *reinterpret_cast<float4*>(at) = {first[0], first[1], second[0], second[1]};
                } else {
                    uint32_t word[kVector];
#pragma unroll
                    for (int j = 0; j < kVector; ++j) {
                        const float* from = acc[i][v * kVector + j] + half * 2;
                        word[j] = Pair<T>::pack(from[0], from[1]);
                    }
                    if constexpr (kVector == 4)
                        *reinterpret_cast<uint4*>(at) = {word[0], word[1], word[2], word[3]};
                    else *reinterpret_cast<uint2*>(at) = {word[0], word[1]};
                }
            }
        }
    if (rows >= S::kTileH && columns >= S::kTileW)
        moments.add(acc, S::kTilesM * 2, [](int, int) { return true; });
    else moments.add(acc, n, valid);
}

}  // namespace styleforge::sm80
