// Strokes with a direction: the texture's noise, combed by a line integral convolution (Cabral and
// Leedom, 1993) along the minor eigenvector of the structure tensor (Bigun and Granlund, 1987).
// Directions are vectors of twice the angle, so that opposite ones are equal and can be averaged.
#pragma once

#include "texture.h"

namespace styleforge {

// Pixels of the copies for measuring motion: reach of the two blurs of the tensor.
constexpr int kNarrowReach = 6, kCarryReach = 24;
constexpr float kCarried = 0.05f;  // share of the wide blur, which matters in flat parts only
constexpr float kLeastSlope = 0.02f;  // levels^2: slopes below it leave the picture's lean
constexpr float kLeanX = 0.36f, kLeanY = -0.93f;  // twice the angle of the lean, about 34 degrees
constexpr float kAveraged = 0.85f;  // share of the last frame's directions in a stream
constexpr int kLongest = 14;  // samples of the noise on each side of a pixel, at half size
constexpr int kMargin = kLongest + 2;  // pixels around the noise at half size

// A vector of twice the angle of a line, in pixels to the right and down.
struct Axis {
    float x, y;
};

enum Direction { kFollow = 1, kSwirl = 2, kOneWay = 3, kHand = 4 };

constexpr int kMostHandles = 12;
constexpr float kNear = 0.08f;  // of the long side: a handle rules the picture closer to it
constexpr float kTurn = 0.5f;   // share of the axis between handles that cancel each other out

// A direction at a place, in shares of the picture's width and height.
struct HandleAxis {
    float x, y;
    float axis_x, axis_y;
};

// The noise of a frame's texture, after its motion is measured. Copies are
// [small_height, small_width].
struct CombParams {
    const uint8_t* tracked;   // gray copy of the frame
    const float* fine;        // the tiles of TextureParams
    const float* coarse;
    const float* taps;        // [kNarrowReach + 1 + kCarryReach + 1], from the center outwards
    void* lines;              // copy of Blurred, if the strokes follow the picture; for a CPU
    void* kept;               // copy of Axis, the axes of the previous frame
    void* axes;               // copy of Axis
    float* noise;             // [half_of(height) + 2 kMargin, half_of(width) + 2 kMargin], CPU
    float* combed;            // [half_of(height), half_of(width)], of unit deviation, for a CPU
    void* state;              // TextureState
    int height, width, small_height, small_width;
    int mode;      // a Direction
    int steps;     // samples of the noise on each side of a pixel, kLongest at most
    float axis_x, axis_y;  // the Axis of kOneWay, or between the handles of kHand
    float gain;    // of the weighted sum of the samples
    float tall, wide;  // pixels of the copies per pixel of the picture at half its size
    int count;         // of handles
    HandleAxis handles[kMostHandles];
};

STYLEFORGE_PORTABLE int gray_at(const CombParams& p, int row, int column) {
    return p.tracked[1ll * clamp(row, 0, p.small_height - 1) * p.small_width +
                     clamp(column, 0, p.small_width - 1)];
}

// The axis across a slope, as long as the square of the slope.
STYLEFORGE_PORTABLE Axis across_slope(float right, float down) {
    return {down * down - right * right, -2 * right * down};
}

// The axis of the picture's lines at a pixel of the small copy.
STYLEFORGE_PORTABLE Axis line_at(const CombParams& p, int row, int column) {
    return across_slope((gray_at(p, row, column + 1) - gray_at(p, row, column - 1)) * 0.5f,
                        (gray_at(p, row + 1, column) - gray_at(p, row - 1, column)) * 0.5f);
}

STYLEFORGE_PORTABLE void add_axis(Axis& sum, float weight, Axis a) {
    sum.x += weight * a.x, sum.y += weight * a.y;
}

// The axes of both blurs along a row.
struct Blurred {
    Axis narrow, wide;
};

// Blurs the axes of the row's lines around `column`.
STYLEFORGE_PORTABLE Blurred blurred_lines(const CombParams& p, int row, int column) {
    const float *narrow = p.taps, *wide = p.taps + kNarrowReach + 1;
    Blurred sum = {{0, 0}, {0, 0}};
    for (int k = -kCarryReach; k <= kCarryReach; ++k) {
        const Axis line = line_at(p, row, reflected_often(column + k, p.small_width));
        const int far = k < 0 ? -k : k;
        if (far <= kNarrowReach) add_axis(sum.narrow, narrow[far], line);
        add_axis(sum.wide, wide[far], line);
    }
    return sum;
}

// The axis of eddies around centers that move with the scene: the contour lines of three waves.
STYLEFORGE_PORTABLE Axis swirl_at(const CombParams& p, const TextureState& s, int row,
                                  int column) {
    const float unit = 6.2831853f / (p.height > p.width ? p.height : p.width);
    const float x =
        unit * static_cast<float>((column + 0.5) * p.width / p.small_width - s.offset[0]);
    const float y =
        unit * static_cast<float>((row + 0.5) * p.height / p.small_height - s.offset[1]);
    const float a = cosf(1.3f * x + 0.9f * y), b = cosf(-1.1f * x + 1.7f * y + 1.f),
                c = cosf(2.3f * x - 0.4f * y + 2.f);
    const Axis line = across_slope(1.3f * a - 1.1f * b + 1.6f * c, 0.9f * a + 1.7f * b - 0.3f * c);
    return {line.x + 0.02f, line.y};
}

// The mean axis of the handles, of which nearer ones weigh more. Where they cancel each other out,
// the axis turns by way of another one, so that strokes have no seam.
STYLEFORGE_PORTABLE Axis handled_at(const CombParams& p, int row, int column) {
    const float side = static_cast<float>(p.height > p.width ? p.height : p.width);
    const float x = (column + 0.5f) / p.small_width, y = (row + 0.5f) / p.small_height;
    Axis sum = {0, 0};
    float weights = 0;
    for (int i = 0; i < p.count; ++i) {
        const HandleAxis& handle = p.handles[i];
        const float right = (x - handle.x) * (p.width / side);
        const float down = (y - handle.y) * (p.height / side);
        const float away = right * right + down * down + kNear * kNear;
        const float weight = 1 / (away * away);
        add_axis(sum, weight, {handle.axis_x, handle.axis_y});
        weights += weight;
    }
    sum = {sum.x / weights, sum.y / weights};
    const float turn = kTurn * (1 - (sum.x * sum.x + sum.y * sum.y));
    return {sum.x + turn * p.axis_x, sum.y + turn * p.axis_y};
}

// The axis between pixels of a small copy. Positions beyond its edge repeat it.
STYLEFORGE_PORTABLE Axis axis_between(const Axis* axes, float row, float column, int rows,
                                      int columns) {
    const LinearTaps down = linear_taps(row, rows), across = linear_taps(column, columns);
    const Axis *upper = axes + 1ll * down.first * columns,
               *lower = axes + 1ll * down.second * columns;
    const Axis a = upper[across.first], b = upper[across.second];
    const Axis c = lower[across.first], d = lower[across.second];
    return {interpolated(down, across, a.x, b.x, c.x, d.x),
            interpolated(down, across, a.y, b.y, c.y, d.y)};
}

STYLEFORGE_PORTABLE Axis joined(Axis near, Axis far) {
    return {near.x + kCarried * far.x + kLeastSlope * kLeanX,
            near.y + kCarried * far.y + kLeastSlope * kLeanY};
}

// Averages an axis with the one of the frame before, which moves with the scene.
STYLEFORGE_PORTABLE Axis averaged(const CombParams& p, const TextureState& s, int row, int column,
                                  Axis axis) {
    if (!s.keeps_axes || !s.followed) return axis;
    const float right = static_cast<float>(s.shift[0] * p.small_width / p.width);
    const float down = static_cast<float>(s.shift[1] * p.small_height / p.height);
    const Axis before = axis_between(static_cast<const Axis*>(p.kept), row - down,
                                     column - right, p.small_height, p.small_width);
    return {kAveraged * before.x + (1 - kAveraged) * axis.x,
            kAveraged * before.y + (1 - kAveraged) * axis.y};
}

// The tensor's axis at a pixel of the small copy, blurred down too and averaged over time.
STYLEFORGE_PORTABLE Axis followed_at(const CombParams& p, const TextureState& s, int row,
                                     int column) {
    const float *narrow = p.taps, *wide = p.taps + kNarrowReach + 1;
    const auto* const lines = static_cast<const Blurred*>(p.lines);
    Axis near = {0, 0}, far = {0, 0};
    for (int k = -kCarryReach; k <= kCarryReach; ++k) {
        const Blurred& at =
            lines[1ll * reflected_often(row + k, p.small_height) * p.small_width + column];
        const int away = k < 0 ? -k : k;
        if (away <= kNarrowReach) add_axis(near, narrow[away], at.narrow);
        add_axis(far, wide[away], at.wide);
    }
    return averaged(p, s, row, column, joined(near, far));
}

STYLEFORGE_PORTABLE Axis axis_at(const CombParams& p, int row, int column) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    if (p.mode == kOneWay) return {p.axis_x, p.axis_y};
    if (p.mode == kHand) return handled_at(p, row, column);
    return p.mode == kSwirl ? swirl_at(p, s, row, column) : followed_at(p, s, row, column);
}

// A unit vector along an axis; one of its two.
STYLEFORGE_PORTABLE Axis tangent_of(Axis axis) {
    const float length = sqrtf(axis.x * axis.x + axis.y * axis.y);
    if (!(length > 1e-12f)) return {1, 0};
    const bool right = axis.x > -0.5f * length;
    const float x = right ? length + axis.x : axis.y, y = right ? axis.y : length - axis.x;
    const float share = 1 / sqrtf(x * x + y * y);
    return {x * share, y * share};
}

// The unit vector at a position in the picture at half its size.
STYLEFORGE_PORTABLE Axis tangent_at(const CombParams& p, float row, float column) {
    const float y = (row + 0.5f) * p.tall - 0.5f, x = (column + 0.5f) * p.wide - 0.5f;
    return tangent_of(axis_between(static_cast<const Axis*>(p.axes), y, x, p.small_height,
                                   p.small_width));
}

STYLEFORGE_PORTABLE int noise_rows(const CombParams& p) { return half_of(p.height) + 2 * kMargin; }

STYLEFORGE_PORTABLE int noise_columns(const CombParams& p) {
    return half_of(p.width) + 2 * kMargin;
}

// The sum of both bands at a pixel of `noise`.
STYLEFORGE_PORTABLE float summed_noise(const CombParams& p, int row, int column) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const float y = source_of(row - kMargin, half_of(p.height), p.height) + s.down;
    const float x = source_of(column - kMargin, half_of(p.width), p.width) + s.right;
    const float top = floorf(y), left = floorf(x), down = y - top, right = x - left;
    const int i = static_cast<int>(top), j = static_cast<int>(left);
    return noise_at<kFineSide>(p.fine, s.top[0] + i + kFineSide, s.left[0] + j + kFineSide, right,
                               down) +
           noise_at<kCoarseSide>(p.coarse, s.top[1] + i + kCoarseSide,
                                 s.left[1] + j + kCoarseSide, right, down);
}

// Samples `noise` at a position in the picture at half its size, or in its margin.
STYLEFORGE_PORTABLE float noise_between(const CombParams& p, float row, float column) {
    const float y = row + kMargin, x = column + kMargin;
    const int i = static_cast<int>(y), j = static_cast<int>(x);
    const float down = y - i, right = x - j;
    const float* const upper = p.noise + 1ll * i * noise_columns(p) + j;
    const float* const lower = upper + noise_columns(p);
    const float above = upper[0] + (upper[1] - upper[0]) * right;
    const float below = lower[0] + (lower[1] - lower[0]) * right;
    return above + (below - above) * down;
}

// Keeps part `rank` of `size` of the axes for the next frame, once all of them are there.
STYLEFORGE_PORTABLE void keep_axes(const CombParams& p, long long rank, long long size) {
    const long long count = 1ll * p.small_height * p.small_width;
    for (long long i = rank; i < count; i += size)
        static_cast<Axis*>(p.kept)[i] = static_cast<const Axis*>(p.axes)[i];
    if (rank == 0) static_cast<TextureState*>(p.state)->keeps_axes = p.mode == kFollow;
}

// The combed noise at a pixel of the picture at half its size, of unit deviation. The line through
// it bends towards the direction halfway to each end.
STYLEFORGE_PORTABLE float combed_at(const CombParams& p, int row, int column) {
    const float y = static_cast<float>(row), x = static_cast<float>(column);
    const Axis along = tangent_at(p, y, x);
    const float length = static_cast<float>(p.steps), share = 1 / length, least = 1 / (length + 1);
    float sum = noise_between(p, y, x);
    for (int side = -1; side <= 1; side += 2) {
        const Axis ahead = {side * along.x, side * along.y};
        Axis then = tangent_at(p, y + ahead.y * length / 2, x + ahead.x * length / 2);
        if (then.x * ahead.x + then.y * ahead.y < 0) then = {-then.x, -then.y};
        const Axis bend = {(then.x - ahead.x) * share, (then.y - ahead.y) * share};
        for (int k = 1; k <= p.steps; ++k) {
            const float away = k * least;
            sum += (1 - away * away) *
                   noise_between(p, y + k * (ahead.y + k * bend.y), x + k * (ahead.x + k * bend.x));
        }
    }
    return sum * p.gain;
}

}  // namespace styleforge
