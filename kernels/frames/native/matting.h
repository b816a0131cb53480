// Mattes by the difference to an empty scene, and their edges, as in
// app/engine/matting/reference.py, tile by tile and pixel by pixel. smoothing/matting.h computes the
// same by rows. CPU and GPU add in one order.
#pragma once

#include "flow.h"
#include "window.h"

namespace styleforge {

constexpr int kTile = 4;           // pixels: brightness that varies within is structure
constexpr float kPlain = 4.f;      // deviations of structure up to which a shadow may explain light
constexpr float kShade = 0.9f;     // share of a loss of light that a shadow explains
constexpr float kDarkest = 0.55f;  // of the scene's light, in a shadow
constexpr float kColor = 1.5f;     // weight of a change of color
constexpr float kBright = 245.f;   // a color beyond may be brighter than the camera can show
constexpr float kLeast = 3.f;      // deviations: below is background,
constexpr float kMost = 7.f;       // above is a person
constexpr float kEnough = 8.f;     // deviations: a pixel that differs more counts no more
constexpr float kSteady = 0.6f;    // share of the last frame's matte where nothing changes
constexpr float kChange = 4.f;     // mean change of a tile, from which on none of it stays
constexpr int kFitReach = 2;        // pixels on each side of a pixel in which a matte is fitted
constexpr int kMeanReach = 1;       // the same, in which the fits are averaged
constexpr float kSoft = 9.f;       // variance below which a matte does not follow the picture

// A pixel's difference to the scene in brightness, and in color alone.
struct Difference {
    float light, color;
};

// A matte as a linear function of the luma.
struct MatteSlope {
    float slope, base;
};

// A frame of a stream, and its matte.
struct MattingParams {
    const uint8_t* frame;  // [height, width, 3]
    const float* colors;   // [height, width, 3], of the scene
    const float* noise;    // [height, width], of the scene
    float* gray;           // [height, width], the luma of the frame, and before of the last one
    void* differences;     // [height, width] of Difference
    float* unlike;         // [height, width], how unlike the scene, in deviations
    float* plain;          // [tile_rows, tile_columns], how much a shadow may explain
    float* kept;           // [tile_rows, tile_columns], how much of the last matte stays
    float* rough;          // [height, width], the rough matte
    float* before;         // [height, width], the last one
    void* fitted;          // [height, width] of MatteSlope
    void* slopes;          // [height, width] of MatteSlope, the means of `fitted`
    int height, width, tile_rows, tile_columns;
    int first;             // whether the frame begins a stream
    float lights[3];       // the inverse light of the channels, in the scene's
};

// A painting that is mixed with its frame by a matte.
struct MixParams {
    const uint8_t *painted, *frame;  // [height, width, 3]
    const void* slopes;              // [small_height, small_width] of MatteSlope
    uint8_t* mixed;                  // [height, width, 3]
    int height, width, small_height, small_width;
    int swapped;  // whether the painting is where the matte is 0
};

// Pixels along a side of a window, and the share of each pixel in it.
STYLEFORGE_PORTABLE constexpr int side_of(int reach) { return 2 * reach + 1; }
STYLEFORGE_PORTABLE constexpr float share_of(int reach) {
    return 1.f / static_cast<float>(side_of(reach) * side_of(reach));
}

STYLEFORGE_PORTABLE float clipped(float value) { return least(greatest(value, 0.f), 1.f); }

// How much of the last matte stays in a tile, by the mean change of its pixels.
STYLEFORGE_PORTABLE float kept_by(float change) {
    return kSteady * clipped(2 - change * (2 / kChange));
}

// How much of a loss of light a shadow may explain in a tile, by means of its pixels: the light times
// the length of the scene's color, the squared light, the color, the scene's noise, and its squared
// length.
STYLEFORGE_PORTABLE float plain_by(float light, float square, float color, float noise,
                                   float scene) {
    // A shadow scales the brightness of a whole tile; structure is what no scale explains.
    const float structure = sqrtf(greatest(square - light * light / scene, 0.f)) + color;
    return clipped(kPlain - structure / noise);
}

// How unlike the scene a pixel is, in deviations. `length` is of the scene's color, and `certain`
// is 1 / noise.
STYLEFORGE_PORTABLE float unlike_by(Difference d, float length, float certain, float plain) {
    const float shadow = least(greatest(-d.light, 0.f), (1 - kDarkest) * length);
    const float unlike = fabsf(d.light) - kShade * shadow * plain;
    const float tint = kColor * d.color;
    return least(sqrtf(unlike * unlike + tint * tint) * certain, kEnough);
}

// The rough matte of a pixel, by the sum of the nine pixels around it.
STYLEFORGE_PORTABLE float rough_by(float sum) {
    return clipped(sum * (1 / (9 * (kMost - kLeast))) - kLeast / (kMost - kLeast));
}

// Fits a matte by a linear function of the luma, by sums over a window: of the luma, the matte, the
// luma squared, and the product of both.
STYLEFORGE_PORTABLE MatteSlope fitted_by(float luma, float matte, float square, float both) {
    constexpr float kCount = side_of(kFitReach) * side_of(kFitReach);
    const float variance = kCount * square - luma * luma;
    const float slope = (kCount * both - luma * matte) / (variance + kCount * kCount * kSoft);
    return {slope, (matte - slope * luma) * share_of(kFitReach)};
}

// Calculates the means of the values of a tile's pixels, `values(at, sums)`, which adds them.
template <int kNumber, typename Values>
STYLEFORGE_PORTABLE void tile_means(const MattingParams& p, int row, int column,
                                    float (&means)[kNumber], const Values& values) {
    const int tall = clamp(p.height - kTile * row, 0, kTile);
    const int wide = clamp(p.width - kTile * column, 0, kTile);
    for (int k = 0; k < kNumber; ++k) means[k] = 0;
    for (int j = 0; j < wide; ++j) {
        float sums[kNumber] = {};
        for (int i = 0; i < tall; ++i)
            values(1ll * (kTile * row + i) * p.width + kTile * column + j, sums);
        for (int k = 0; k < kNumber; ++k) means[k] += sums[k];
    }
    for (int k = 0; k < kNumber; ++k) means[k] /= static_cast<float>(wide * tall);
}

// Reads the frame in a tile, and finds how much of the last matte may stay there.
STYLEFORGE_PORTABLE void see_tile(const MattingParams& p, int row, int column) {
    float change[1];
    tile_means(p, row, column, change, [&](long long at, float (&sums)[1]) {
        const uint8_t* pixel = p.frame + 3 * at;
        const float now = static_cast<float>(luma({pixel[0], pixel[1], pixel[2]}));
        sums[0] += fabsf(now - p.gray[at]);
        p.gray[at] = now;
    });
    p.kept[row * p.tile_columns + column] = kept_by(change[0]);
}

// The length of a color of the scene.
STYLEFORGE_PORTABLE float length_of(const float* color) {
    return sqrtf(greatest(color[0] * color[0] + color[1] * color[1] + color[2] * color[2], 1.f));
}

STYLEFORGE_PORTABLE Difference difference_to_scene(const MattingParams& p, long long at,
                                                   float length) {
    const float* scene = p.colors + 3 * at;
    float along = 0, square = 0;
    STYLEFORGE_UNROLL
    for (int k = 0; k < 3; ++k) {
        const float seen = static_cast<float>(p.frame[3 * at + k]), lit = seen * p.lights[k];
        const float shown = seen >= kBright ? greatest(lit, scene[k]) : lit;
        along += shown * scene[k], square += shown * shown;
    }
    const float part = along * (1 / length);
    return {part - length, sqrtf(greatest(square - part * part, 0.f))};
}

// Compares the frame with the scene in a tile.
STYLEFORGE_PORTABLE void compare_tile(const MattingParams& p, int row, int column) {
    float means[5];  // light times length, its square, color; the scene's noise, length squared
    tile_means(p, row, column, means, [&](long long at, float (&sums)[5]) {
        const float length = length_of(p.colors + 3 * at);
        const Difference d = difference_to_scene(p, at, length);
        static_cast<Difference*>(p.differences)[at] = d;
        sums[0] += d.light * length, sums[1] += d.light * d.light, sums[2] += d.color;
        sums[3] += p.noise[at], sums[4] += length * length;
    });
    p.plain[row * p.tile_columns + column] =
        plain_by(means[0], means[1], means[2], means[3], means[4]);
}

// The most of a plane of tiles around a tile: what a shadow may explain next to a person's edge.
STYLEFORGE_PORTABLE float most_around(const MattingParams& p, const float* tiles, int row,
                                      int column) {
    float most = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            most = greatest(most, tiles[clamp(row + i, 0, p.tile_rows - 1) * p.tile_columns +
                                        clamp(column + j, 0, p.tile_columns - 1)]);
    return most;
}

// A value of tiles, `tile(row, column)`, enlarged to a pixel.
template <typename Tile>
STYLEFORGE_PORTABLE float enlarged_tile(const MattingParams& p, int row, int column,
                                        const Tile& tile) {
    const LinearTaps down = linear_taps(source_of(row, p.height, p.tile_rows), p.tile_rows);
    const LinearTaps across =
        linear_taps(source_of(column, p.width, p.tile_columns), p.tile_columns);
    return interpolated(down, across, tile(down.first, across.first),
                        tile(down.first, across.second), tile(down.second, across.first),
                        tile(down.second, across.second));
}

STYLEFORGE_PORTABLE float unlike_scene(const MattingParams& p, int row, int column) {
    const long long at = 1ll * row * p.width + column;
    const Difference d = static_cast<const Difference*>(p.differences)[at];
    const auto tile = [&](int i, int j) { return most_around(p, p.plain, i, j); };
    const float plain = enlarged_tile(p, row, column, tile);
    return unlike_by(d, length_of(p.colors + 3 * at), 1 / p.noise[at], plain);
}

STYLEFORGE_PORTABLE float rough_by_difference(const MattingParams& p, int row, int column) {
    float sum = 0;
    for (int i = -1; i <= 1; ++i) {
        const float* line = p.unlike + 1ll * reflected_often(row + i, p.height) * p.width;
        sum += line[reflected_often(column - 1, p.width)] + line[column] +
               line[reflected_often(column + 1, p.width)];
    }
    return rough_by(sum);
}

// Averages a rough matte with the last one, where the picture has not changed, and keeps it.
STYLEFORGE_PORTABLE void steady_pixel(const MattingParams& p, int row, int column, float rough) {
    const long long at = 1ll * row * p.width + column;
    const auto tile = [&](int i, int j) { return p.kept[i * p.tile_columns + j]; };
    if (!p.first) rough += enlarged_tile(p, row, column, tile) * (p.before[at] - rough);
    p.rough[at] = p.before[at] = rough;
}

// Fits the matte around a pixel by a linear function of the luma.
STYLEFORGE_PORTABLE MatteSlope fitted_at(const MattingParams& p, int row, int column) {
    float sums[4];
    const auto values = [&](long long at, float (&some)[4]) {
        const float gray = p.gray[at], rough = p.rough[at];
        some[0] = gray, some[1] = rough, some[2] = gray * gray, some[3] = gray * rough;
    };
    sums_around<kFitReach>(row, column, p.height, p.width, sums, values);
    return fitted_by(sums[0], sums[1], sums[2], sums[3]);
}

STYLEFORGE_PORTABLE MatteSlope slope_at(const MattingParams& p, int row, int column) {
    const auto* fitted = static_cast<const MatteSlope*>(p.fitted);
    float sums[2];
    const auto values = [&](long long at, float (&some)[2]) {
        some[0] = fitted[at].slope, some[1] = fitted[at].base;
    };
    sums_around<kMeanReach>(row, column, p.height, p.width, sums, values);
    return {sums[0] * share_of(kMeanReach), sums[1] * share_of(kMeanReach)};
}

STYLEFORGE_PORTABLE Color mixed_pixel(const MixParams& p, int row, int column) {
    const auto* slopes = static_cast<const MatteSlope*>(p.slopes);
    const LinearTaps down =
        linear_taps(source_of(row, p.height, p.small_height), p.small_height);
    const LinearTaps across =
        linear_taps(source_of(column, p.width, p.small_width), p.small_width);
    const MatteSlope *upper = slopes + 1ll * down.first * p.small_width,
                     *lower = slopes + 1ll * down.second * p.small_width;
    const MatteSlope a = upper[across.first], b = upper[across.second];
    const MatteSlope c = lower[across.first], d = lower[across.second];
    const float slope = interpolated(down, across, a.slope, b.slope, c.slope, d.slope);
    const float base = interpolated(down, across, a.base, b.base, c.base, d.base);
    const Color frame = pixel({p.frame, p.height, p.width}, row, column);
    const Color made = pixel({p.painted, p.height, p.width}, row, column);
    const float share = clipped(slope * luma(frame) + base), here = p.swapped ? 1 - share : share;
    const auto mix = [&](int there, int painted) {
        return static_cast<int>(rintf(there + (painted - there) * here));
    };
    return {mix(frame.r, made.r), mix(frame.g, made.g), mix(frame.b, made.b)};
}

}  // namespace styleforge
