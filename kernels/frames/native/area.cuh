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

// Falls back to gray_area for partial or too many pixels. With whole pixels, all weights are 1, and
// all sums are integers that FP32 represents exactly. Only words with a byte of the area are read.
__device__ __forceinline__ Cell gray_area_by_words(const Picture& p, int row, int column, int height,
                                                   int width) {
    const int tall = p.height / height, wide = p.width / width;
    if (tall * height != p.height || wide * width != p.width || tall * wide > kExactArea)
        return gray_area(p, row, column, height, width);
    unsigned sum = 0, squares = 0;
#pragma unroll 2
    for (int i = 0; i < tall; ++i) {
        const uint8_t* from = p.pixels + ((1ll * row * tall + i) * p.width + column * wide) * 3;
        const int byte = reinterpret_cast<size_t>(from) % 4, last = (byte + wide * 3 - 1) / 4;
        const auto* words = reinterpret_cast<const unsigned*>(from - byte);
        unsigned next = words[0];
        for (int first = 0, at = 0; first < wide; first += 4) {
            unsigned three[3];  // four pixels
#pragma unroll
            for (int k = 0; k < 3; ++k) {
                const unsigned here = next;
                next = words[++at < last ? at : last];
                three[k] = __funnelshift_r(here, next, byte * 8);
            }
            const unsigned four[] = {three[0], __funnelshift_r(three[0], three[1], 24),
                                     __funnelshift_r(three[1], three[2], 16), three[2] >> 8};
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned value = first + k < wide ? gray_of_word(four[k]) : 0;
                sum += value, squares += value * value;
            }
        }
    }
    const float count = static_cast<float>(tall * wide);
    return {static_cast<float>(sum) / count, static_cast<float>(squares) / count};
}

}  // namespace styleforge
