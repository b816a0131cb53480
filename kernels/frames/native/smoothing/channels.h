// The channels and the luma of a block of pixels.
#pragma once

#include "frames/native/color.h"
#include "planes.h"

namespace styleforge {

// Divides `size` pixels into channels.
inline void divide(const uint8_t* from, int size, float (&channels)[3][kBlock]) {
    for (int i = 0; i < size; ++i)
        for (int k = 0; k < 3; ++k) channels[k][i] = from[3 * i + k];
}

// Computes the lumas of pixels as luma() does: every sum is a whole number below 2^24.
inline void lumas(const float (&channels)[3][kBlock], int size, float* to) {
    constexpr float kOne = 1 << kColorBits;
    for (int i = 0; i < size; ++i)
        to[i] = floorf((4899.f * channels[0][i] + 9617.f * channels[1][i] +
                        1868.f * channels[2][i] + kColorHalf) / kOne);
}

}  // namespace styleforge
