// The detail of a frame beyond its small copy, as added by app/engine/post/guided_upsampling.py: a
// guided filter's slope (He and Sun 2015, arXiv:1505.00996) times the detail of the luma.
#pragma once

#include "sampling.h"

namespace styleforge {

constexpr float kNoise = 50.f;    // luma variance below which a window has no edge
constexpr int kNoiseFloor = 4;    // luma levels subtracted from the detail
constexpr float kMaxSlope = 1.5f;
constexpr float kSlopeOne = 64.f;  // fixed-point scale of slopes

// Slopes of a small picture: each channel against its luma, and the luma itself.
struct Slope {
    short r, g, b;    // times kSlopeOne
    short luma;
};

// Mirrors at the edge and repeats it: -1 becomes 0.
STYLEFORGE_PORTABLE int mirrored(int at, int size) {
    if (at < 0) at = -1 - at;
    if (at >= size) at = 2 * size - 1 - at;
    return clamp(at, 0, size - 1);
}

struct Moments {
    float variance, r, g, b;  // of the luma, and the channels' covariances with it
};

// Moments of the 3x3 window around a pixel.
STYLEFORGE_PORTABLE Moments moments(const Picture& result, const Picture& small, int row,
                                    int column) {
    float mean = 0, square = 0;
    Values mean_of = {0, 0, 0}, product = {0, 0, 0};
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) {
            const int y = mirrored(row + i, small.height), x = mirrored(column + j, small.width);
            const float guide = static_cast<float>(luma(pixel(small, y, x)));
            const Color c = pixel(result, y, x);
            mean += guide, square += guide * guide;
            mean_of.r += c.r, mean_of.g += c.g, mean_of.b += c.b;
            product.r += guide * c.r, product.g += guide * c.g, product.b += guide * c.b;
        }
    mean /= 9, square /= 9;
    return {square - mean * mean, product.r / 9 - mean * mean_of.r / 9,
            product.g / 9 - mean * mean_of.g / 9, product.b / 9 - mean * mean_of.b / 9};
}

STYLEFORGE_PORTABLE short fixed_slope(float together, float variance) {
    const float slope = together / (variance + kNoise);
    return static_cast<short>(rintf(fminf(fmaxf(slope, -kMaxSlope), kMaxSlope) * kSlopeOne));
}

// Averages both moments before the division, so that windows next to an edge get the edge's slope.
STYLEFORGE_PORTABLE Slope slope(const Picture& result, const Picture& small, int row, int column) {
    Moments sum = {0, 0, 0, 0};
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) {
            const Moments m = moments(result, small, mirrored(row + i, small.height),
                                      mirrored(column + j, small.width));
            sum.variance += m.variance, sum.r += m.r, sum.g += m.g, sum.b += m.b;
        }
    const float variance = sum.variance / 9;
    return {fixed_slope(sum.r / 9, variance), fixed_slope(sum.g / 9, variance),
            fixed_slope(sum.b / 9, variance),
            static_cast<short>(luma(pixel(small, row, column)))};
}

// Two taps of the linear interpolation, clamped at the edge.
struct LinearTaps {
    int first, second;
    float share;  // of the second
};

STYLEFORGE_PORTABLE LinearTaps linear_taps(float position, int size) {
    const float whole = floorf(position);
    const int first = static_cast<int>(whole);
    if (first < 0) return {0, 0, 0.f};
    if (first >= size - 1) return {size - 1, size - 1, 0.f};
    return {first, first + 1, position - whole};
}

STYLEFORGE_PORTABLE float interpolated(const LinearTaps& rows, const LinearTaps& columns, float a,
                                       float b, float c, float d) {
    const float above = a + (b - a) * columns.share, below = c + (d - c) * columns.share;
    return above + (below - above) * rows.share;
}

STYLEFORGE_PORTABLE float between(const LinearTaps& rows, const LinearTaps& columns, float a,
                                  float b, float c, float d) {
    return rintf(interpolated(rows, columns, a, b, c, d));
}

// Returns the detail to add to the enlarged result at a pixel of the frame.
STYLEFORGE_PORTABLE Color detail(const Slope* slopes, int height, int width, Color frame,
                                 float at_row, float at_column, const CubicTaps& rows,
                                 const CubicTaps& columns) {
    float known = 0;
    for (int i = 0; i < 4; ++i) {
        const long long row = clamp(rows.first + i, 0, height - 1);
        float line = 0;
        for (int j = 0; j < 4; ++j)
            line += columns.taps[j] *
                    slopes[row * width + clamp(columns.first + j, 0, width - 1)].luma;
        known += rows.taps[i] * line;
    }
    const int beyond = luma(frame) - to_byte(known);
    const float rest = static_cast<float>(beyond - clamp(beyond, -kNoiseFloor, kNoiseFloor));
    const LinearTaps down = linear_taps(at_row, height), across = linear_taps(at_column, width);
    const Slope& a = slopes[static_cast<long long>(down.first) * width + across.first];
    const Slope& b = slopes[static_cast<long long>(down.first) * width + across.second];
    const Slope& c = slopes[static_cast<long long>(down.second) * width + across.first];
    const Slope& d = slopes[static_cast<long long>(down.second) * width + across.second];
    const auto added = [&](short w, short x, short y, short z) {
        return static_cast<int>(rintf(between(down, across, w, x, y, z) * rest / kSlopeOne));
    };
    return {added(a.r, b.r, c.r, d.r), added(a.g, b.g, c.g, d.g), added(a.b, b.b, c.b, d.b)};
}

}  // namespace styleforge
