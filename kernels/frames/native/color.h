// 8-bit colors in OpenCV's fixed-point arithmetic with 14 fractional bits.
#pragma once

#include "portable.h"

namespace styleforge {

constexpr int kColorBits = 14;
constexpr int kColorHalf = 1 << (kColorBits - 1);

struct Color {
    int r, g, b;  // 0-255
};

// Returns the color in the window format: B, G, R and 255 in memory.
STYLEFORGE_PORTABLE unsigned screen_color(Color c) {
    return 0xff000000u | static_cast<unsigned>(c.r) << 16 | static_cast<unsigned>(c.g) << 8 |
           static_cast<unsigned>(c.b);
}

// BT.601, as in JPEG.
STYLEFORGE_PORTABLE int luma(Color c) {
    return (c.r * 4899 + c.g * 9617 + c.b * 1868 + kColorHalf) >> kColorBits;
}

STYLEFORGE_PORTABLE int descale(int value) { return (value + kColorHalf) >> kColorBits; }

// Returns the luma of `styled` with the chroma (YCrCb) of `source`.
STYLEFORGE_PORTABLE Color with_chroma(Color styled, Color source) {
    const int y = luma(styled), from = luma(source);
    const int cr = clamp(descale((source.r - from) * 11682) + 128, 0, 255) - 128;
    const int cb = clamp(descale((source.b - from) * 9241) + 128, 0, 255) - 128;
    return {clamp(y + descale(cr * 22987), 0, 255),
            clamp(y + descale(cr * -11698 + cb * -5636), 0, 255),
            clamp(y + descale(cb * 29049), 0, 255)};
}

}  // namespace styleforge
