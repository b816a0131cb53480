// Pictures of bytes, and interpolated samples of them as in cv2.resize.
#pragma once

#include <stdint.h>

#include "color.h"
#include "portable.h"

namespace styleforge {

// [height, width, 3] uint8, RGB, dense.
struct Picture {
    const uint8_t* pixels;
    int height, width;
};

STYLEFORGE_PORTABLE Color pixel(const Picture& p, int row, int column) {
    const uint8_t* at = p.pixels + (static_cast<long long>(row) * p.width + column) * 3;
    return {at[0], at[1], at[2]};
}

// BORDER_REFLECT_101: -1 is 1.
STYLEFORGE_PORTABLE int reflected(int at, int size) {
    if (size == 1) return 0;
    if (at < 0) at = -at;
    return at >= size ? 2 * size - 2 - at : at;
}

// The same, repeated as often as needed.
STYLEFORGE_PORTABLE int reflected_often(int at, int size) {
    if (size == 1) return 0;
    while (at < 0 || at >= size) at = at < 0 ? -at : 2 * size - 2 - at;
    return at;
}

// Maps a pixel of a picture with `many` pixels along an axis to a position in one with `few`.
STYLEFORGE_PORTABLE float source_of(int at, int many, int few) {
    // In double like OpenCV: an error of one unit in a tap would show.
    return static_cast<float>((at + 0.5) * (static_cast<double>(few) / many) - 0.5);
}

// Four taps of the cubic interpolation of Keys (1981), with OpenCV's a = -0.75.
struct CubicTaps {
    int first;  // the position of taps[0]; positions are clamped to the picture
    float taps[4];
};

STYLEFORGE_PORTABLE CubicTaps cubic_taps(float position) {
    constexpr float a = -0.75f;
    const float whole = floorf(position), x = position - whole, y = 1 - x;
    CubicTaps t;
    t.first = static_cast<int>(whole) - 1;
    t.taps[0] = ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a;
    t.taps[1] = ((a + 2) * x - (a + 3)) * x * x + 1;
    t.taps[2] = ((a + 2) * y - (a + 3)) * y * y + 1;
    t.taps[3] = 1 - t.taps[0] - t.taps[1] - t.taps[2];
    return t;
}

struct Values {
    float r, g, b;
};

// INTER_CUBIC.
STYLEFORGE_PORTABLE Color cubic(const Picture& p, const CubicTaps& rows, const CubicTaps& columns) {
    Values sum = {0, 0, 0};
    for (int i = 0; i < 4; ++i) {
        const int row = clamp(rows.first + i, 0, p.height - 1);
        Values line = {0, 0, 0};
        for (int j = 0; j < 4; ++j) {
            const Color c = pixel(p, row, clamp(columns.first + j, 0, p.width - 1));
            line.r += columns.taps[j] * c.r;
            line.g += columns.taps[j] * c.g;
            line.b += columns.taps[j] * c.b;
        }
        sum.r += rows.taps[i] * line.r;
        sum.g += rows.taps[i] * line.g;
        sum.b += rows.taps[i] * line.b;
    }
    return {to_byte(sum.r), to_byte(sum.g), to_byte(sum.b)};
}

// The largest pixel count whose sum of a channel is below 2^24, so that FP32 is exact in any order.
constexpr int kExactPixels = (1 << 24) / 255;

// INTER_AREA with all weights 1: `tall` x `wide` whole pixels.
STYLEFORGE_PORTABLE Values whole_area(const Picture& p, int row, int column, int tall, int wide) {
    Color sum = {0, 0, 0};
    for (int i = 0; i < tall; ++i)
        for (int j = 0; j < wide; ++j) {
            const Color c = pixel(p, row * tall + i, column * wide + j);
            sum.r += c.r, sum.g += c.g, sum.b += c.b;
        }
    const float count = static_cast<float>(tall * wide);
    return {static_cast<float>(sum.r) / count, static_cast<float>(sum.g) / count,
            static_cast<float>(sum.b) / count};
}

// INTER_AREA: the unrounded mean of the area that a pixel of a smaller picture covers.
STYLEFORGE_PORTABLE Values area(const Picture& p, int row, int column, int height, int width) {
    const float tall = static_cast<float>(p.height) / height;
    const float wide = static_cast<float>(p.width) / width;
    const float top = row * tall, bottom = top + tall, left = column * wide, right = left + wide;
    Values sum = {0, 0, 0};
    float weights = 0;
    for (int i = static_cast<int>(top); i < p.height && i < bottom; ++i) {
        const float rows = fminf(bottom, i + 1.f) - fmaxf(top, static_cast<float>(i));
        if (rows < 1e-3f) continue;
        for (int j = static_cast<int>(left); j < p.width && j < right; ++j) {
            const float columns = fminf(right, j + 1.f) - fmaxf(left, static_cast<float>(j));
            if (columns < 1e-3f) continue;
            const float weight = rows * columns;
            const Color c = pixel(p, i, j);
            sum.r += weight * c.r, sum.g += weight * c.g, sum.b += weight * c.b;
            weights += weight;
        }
    }
    return {sum.r / weights, sum.g / weights, sum.b / weights};
}

// Returns a pixel of a picture scaled to `height` x `width`: by area if that has fewer pixels, else
// cubic.
STYLEFORGE_PORTABLE Color resized(const Picture& p, int row, int column, int height, int width) {
    if (p.height == height && p.width == width) return pixel(p, row, column);
    if (1ll * width * height >= 1ll * p.width * p.height)
        return cubic(p, cubic_taps(source_of(row, height, p.height)),
                     cubic_taps(source_of(column, width, p.width)));
    const int rows = p.height / height, columns = p.width / width;
    const bool whole = rows * height == p.height && columns * width == p.width;
    const Values v = whole && rows * columns <= kExactPixels
                         ? whole_area(p, row, column, rows, columns)
                         : area(p, row, column, height, width);
    // OpenCV rounds the mean of four pixels half up, and others half to even.
    if (p.height == 2 * height && p.width == 2 * width)
        return {static_cast<int>(v.r + 0.5f), static_cast<int>(v.g + 0.5f),
                static_cast<int>(v.b + 0.5f)};
    return {to_byte(v.r), to_byte(v.g), to_byte(v.b)};
}

}  // namespace styleforge
