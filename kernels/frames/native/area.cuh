// Computes gray_area of texture.h on a GPU by words of pixels, with the same bits.
#pragma once

#include "frames.h"

namespace styleforge {

// The largest pixel count whose sum of squares is below 2^24, so that FP32 is exact in any order.
constexpr int kExactArea = (1 << 24) / (255 * 255);

// Returns the gray level of the three lower bytes.
__device__ __forceinline__ unsigned gray_of_word(unsigned pixel) {
    const unsigned red_and_green = kGreenShare << 16 | kRedShare, blue = kBlueShare;
    const unsigned sum = __dp2a_lo(red_and_green, pixel, 1u << (kGrayBits - 1));
    return __dp2a_hi(blue, pixel, sum) >> kGrayBits;
}

constexpr int kWordsOfRow = 13;                    // read at once, enough for kPixelsOfRow pixels
constexpr int kPixelsOfRow = (kWordsOfRow - 1) / 3 * 4;

struct WholeSums {
    unsigned sum, squares;
};

// Adds the gray levels of up to kPixelsOfRow pixels. Only words with a byte of theirs are read.
__device__ __forceinline__ void add_row(WholeSums& sums, const uint8_t* from, int pixels) {
    const int byte = reinterpret_cast<size_t>(from) % 4, last = (byte + pixels * 3 - 1) / 4;
    const auto* words = reinterpret_cast<const unsigned*>(from - byte);
    unsigned here[kWordsOfRow];
#pragma unroll
    for (int i = 0; i < kWordsOfRow; ++i) here[i] = i <= last ? words[i] : 0;
#pragma unroll
    for (int first = 0; first < kPixelsOfRow; first += 4) {
        if (first >= pixels) break;
        unsigned three[3];  // four pixels
#pragma unroll
        for (int k = 0; k < 3; ++k)
            three[k] = __funnelshift_r(here[first / 4 * 3 + k], here[first / 4 * 3 + k + 1], byte * 8);
        const unsigned four[] = {three[0], __funnelshift_r(three[0], three[1], 24),
                                 __funnelshift_r(three[1], three[2], 16), three[2] >> 8};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const unsigned value = first + k < pixels ? gray_of_word(four[k]) : 0;
            sums.sum += value, sums.squares += value * value;
        }
    }
}

// Sums over an area of whole pixels, from its row `first` on, every `step` rows.
__device__ __forceinline__ WholeSums whole_sums(const Picture& p, int row, int column, int tall,
                                                int wide, int first, int step) {
    WholeSums sums = {0, 0};
#pragma unroll 2
    for (int i = first; i < tall; i += step)
        for (int begin = 0; begin < wide; begin += kPixelsOfRow) {
            const long long at = (1ll * row * tall + i) * p.width + column * wide + begin;
            add_row(sums, p.pixels + at * 3, min(wide - begin, kPixelsOfRow));
        }
    return sums;
}

// Whether all weights of all areas are 1, so that all sums are integers that FP32 represents
// exactly.
__device__ __forceinline__ bool has_whole_areas(const Picture& p, int height, int width) {
    const int tall = p.height / height, wide = p.width / width;
    return tall * height == p.height && wide * width == p.width && tall * wide <= kExactArea;
}

// Falls back to gray_area for partial or too many pixels.
__device__ __forceinline__ Cell gray_area_by_words(const Picture& p, int row, int column, int height,
                                                   int width) {
    if (!has_whole_areas(p, height, width)) return gray_area(p, row, column, height, width);
    const int tall = p.height / height, wide = p.width / width;
    const WholeSums sums = whole_sums(p, row, column, tall, wide, 0, 1);
    const float count = static_cast<float>(tall * wide);
    return {static_cast<float>(sums.sum) / count, static_cast<float>(sums.squares) / count};
}

// Returns the mean of an area that kAreaLanes adjacent threads measure, each some of its rows.
// All threads of a warp call it.
__device__ __forceinline__ float mean_by_lanes(const Picture& p, int row, int column, int height,
                                               int width) {
    const int lane = threadIdx.x % kAreaLanes;
    if (!has_whole_areas(p, height, width)) {
        AreaSums sums = area_sums(p, row, column, height, width, lane, kAreaLanes);
#pragma unroll
        for (int step = kAreaLanes / 2; step > 0; step /= 2) {
            sums.mean += __shfl_xor_sync(~0u, sums.mean, step);
            sums.weight += __shfl_xor_sync(~0u, sums.weight, step);
        }
        return sums.mean / sums.weight;
    }
    const int tall = p.height / height, wide = p.width / width;
    unsigned sum = whole_sums(p, row, column, tall, wide, lane, kAreaLanes).sum;
#pragma unroll
    for (int step = kAreaLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    return static_cast<float>(sum) / static_cast<float>(tall * wide);
}

constexpr int kSmallCell = 4;  // pixels on a side

// Measures an area of 4x4 pixels, with all of its words in flight at once.
__device__ __forceinline__ Cell small_cell(const Picture& p, int row, int column) {
    unsigned words[kSmallCell][3];
#pragma unroll
    for (int i = 0; i < kSmallCell; ++i) {
        const long long at = (1ll * row * kSmallCell + i) * p.width + column * kSmallCell;
#pragma unroll
        for (int k = 0; k < 3; ++k)
            words[i][k] = reinterpret_cast<const unsigned*>(p.pixels + at * 3)[k];
    }
    unsigned sum = 0, squares = 0;
#pragma unroll
    for (auto& three : words) {
        const unsigned four[] = {three[0], __funnelshift_r(three[0], three[1], 24),
                                 __funnelshift_r(three[1], three[2], 16), three[2] >> 8};
#pragma unroll
        for (const unsigned word : four) {
            const unsigned value = gray_of_word(word);
            sum += value, squares += value * value;
        }
    }
    constexpr float kCount = kSmallCell * kSmallCell;
    return {static_cast<float>(sum) / kCount, static_cast<float>(squares) / kCount};
}

// Whether small_cell measures all areas: each is 4x4 pixels, of whole words.
__device__ __forceinline__ bool has_small_cells(const Picture& p, int height, int width) {
    return p.height == height * kSmallCell && p.width == width * kSmallCell &&
           reinterpret_cast<size_t>(p.pixels) % 4 == 0;
}

// The number of blocks that measure the pixels of the copy for motion.
__device__ __forceinline__ int copy_blocks(const TextureParams& p) {
    return (p.small_height * p.small_width * kAreaLanes + kThreads - 1) / kThreads;
}

// The grid's first blocks measure the pixels of the copy for motion, and the others the cells.
__device__ __forceinline__ void measure_areas(const TextureParams& p, int copy_blocks) {
    const Picture picture = {p.picture, p.height, p.width};
    const int block = static_cast<int>(blockIdx.x);
    if (block < copy_blocks) {
        const int at = (block * kThreads + static_cast<int>(threadIdx.x)) / kAreaLanes;
        const int count = p.small_height * p.small_width, held = min(at, count - 1);
        const int row = held / p.small_width, column = held % p.small_width;
        const float mean = mean_by_lanes(picture, row, column, p.small_height, p.small_width);
        if (at < count && threadIdx.x % kAreaLanes == 0) keep_pixel(p, row, column, {mean, 0});
        return;
    }
    const int at = (block - copy_blocks) * kThreads + static_cast<int>(threadIdx.x);
    if (at >= p.rows * p.columns) return;
    const int row = at / p.columns, column = at % p.columns;
    keep_cell(p, row, column,
              has_small_cells(picture, p.rows, p.columns)
                  ? small_cell(picture, row, column)
                  : gray_area_by_words(picture, row, column, p.rows, p.columns));
}

}  // namespace styleforge
