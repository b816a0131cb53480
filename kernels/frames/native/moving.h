// A painting that moves with the scene, as in app/engine/post/moving_reference.py: how far a motion
// is trusted, cell by cell, and the moved painting, pixel by pixel. smoothing/moving.h computes the
// same by rows. CPU and GPU add in one order.
#pragma once

#include "smooth.h"
#include "window.h"

namespace styleforge {

constexpr int kFadeFrames = 3;      // over which a new painting appears
constexpr float kCertain = 4.f;     // levels of change: the motion is certain up to it,
constexpr float kUnknown = 16.f;    // and unknown from it on
constexpr float kLeastGain = 0.05f;  // levels of change that a motion saves: none counts below,
constexpr float kFullGain = 0.3f;    // and all of it from here on
constexpr float kWhole = 0.3f;       // change of the motion per cell, up to which shapes stay whole,
constexpr float kTorn = 0.8f;        // and from which on they would melt
constexpr double kSameTrust = 0.4;  // mean, below which the frame shows another scene
constexpr int kMostPaintings = 2;   // that mix while a new one appears

// How far a motion is certain, and how much of it counts, both from 0 to 1.
struct Trust {
    float certain, gain;
};

// Changes of a cell, in levels, with its motion and without.
struct Changes {
    float moved, still;
};

// A painting and its motion to the newest frame. Cells are [rows, columns].
struct MovingPainting {
    const uint8_t* pixels;  // [height, width, 3]
    float* pair;            // [2, cells] in gray, the newest frame first, then the painting's source
    const void* flow;       // [cells] of Flow, each cell's position in the painting's source
    void* changes;          // [cells] of Changes
    void* trusts;           // [2, cells] of Trust
};

// The paintings that move to a frame, the newest one first.
struct MovingParams {
    const uint8_t* source;          // [height, width, 3], the frame
    uint8_t* shown;                 // [height, width, 3]
    unsigned long long* certainty;  // [kMostPaintings], sums of Trust::certain, times kCertainOne
    MovingPainting paintings[kMostPaintings];
    int height, width, rows, columns;
    int count;           // of paintings
    float before_share;  // of the second painting, where its motion is certain
};

constexpr double kCertainOne = 1 << 20;  // fixed-point scale of the sums of Trust::certain

STYLEFORGE_PORTABLE float trust_of(float change) {
    return least(greatest((kUnknown - change) / (kUnknown - kCertain), 0.f), 1.f);
}

// Returns how much of a motion counts, from the mean changes without and with it. Noise has motions
// too, which would shake the painting of a wall.
STYLEFORGE_PORTABLE float gain_of(float still, float moved) {
    return least(greatest((still - moved - kLeastGain) / (kFullGain - kLeastGain), 0.f), 1.f);
}

// Returns the gray level of a cell of a picture, as in measure_cell.
STYLEFORGE_PORTABLE float gray_cell(const Picture& p, int row, int column, int rows, int columns) {
    const Color c = resized(p, row, column, rows, columns);
    return gray_of(static_cast<float>(c.r), static_cast<float>(c.g), static_cast<float>(c.b));
}

// Computes how far a painting's source is from the frame.
STYLEFORGE_PORTABLE Changes changes_at(const MovingParams& p, const MovingPainting& painting,
                                       int row, int column) {
    const long long cells = 1ll * p.rows * p.columns, at = 1ll * row * p.columns + column;
    const GrayFloats now = {painting.pair, p.rows, p.columns};
    const GrayFloats known = {painting.pair + cells, p.rows, p.columns};
    const Flow flow = static_cast<const Flow*>(painting.flow)[at];
    const Flow slope = slopes_at(now, row, column);
    const float moved = sampled(known, column + flow.x, row + flow.y);
    return {tolerated(fabsf(now.values[at] - moved), slope),
            tolerated(fabsf(now.values[at] - known.values[at]), slope)};
}

// Returns how far a cell's motion agrees with the motion of its neighbors.
STYLEFORGE_PORTABLE float agreement_of(const Flow* flow, int row, int column, int rows,
                                       int columns) {
    const auto at = [&](int i, int j) {
        return flow[1ll * clamp(row + i, 0, rows - 1) * columns + clamp(column + j, 0, columns - 1)];
    };
    const Flow left = at(0, -1), right = at(0, 1), above = at(-1, 0), below = at(1, 0);
    float most = fabsf(right.x - left.x) / 2;
    most = greatest(most, fabsf(below.x - above.x) / 2);
    most = greatest(most, fabsf(right.y - left.y) / 2);
    most = greatest(most, fabsf(below.y - above.y) / 2);
    return least(greatest((kTorn - most) / (kTorn - kWhole), 0.f), 1.f);
}

STYLEFORGE_PORTABLE Trust trust_at(const MovingParams& p, const MovingPainting& painting, int row,
                                   int column) {
    const auto* changes = static_cast<const Changes*>(painting.changes);
    float mean[2];  // with the motion, and without
    window_means(row, column, p.rows, p.columns, mean, [&](long long cell, float (&some)[2]) {
        some[0] = changes[cell].moved, some[1] = changes[cell].still;
    });
    const auto* flow = static_cast<const Flow*>(painting.flow);
    return {trust_of(mean[0]) * agreement_of(flow, row, column, p.rows, p.columns),
            gain_of(mean[1], mean[0])};
}

// Returns the mean of a cell's surroundings in a plane of Trust.
STYLEFORGE_PORTABLE Trust softened(const MovingParams& p, const Trust* trusts, int row,
                                   int column) {
    float mean[2];
    window_means(row, column, p.rows, p.columns, mean, [&](long long cell, float (&some)[2]) {
        some[0] = trusts[cell].certain, some[1] = trusts[cell].gain;
    });
    return {mean[0], mean[1]};
}

STYLEFORGE_PORTABLE unsigned long long certain_steps(float certain) {
    return static_cast<unsigned long long>(rint(certain * kCertainOne));
}

// Returns 0 if the frame shows another scene than the painting's source, so that nothing may move.
STYLEFORGE_PORTABLE float same_scene(const MovingParams& p, int which) {
    const double sum = static_cast<double>(p.certainty[which]) / kCertainOne;
    return sum < kSameTrust * p.rows * p.columns ? 0.f : 1.f;
}

// Where a pixel of a painting comes from, in whole steps of the motion, and how far that is certain.
struct MovedPlace {
    int x, y;
    float certain;
};

STYLEFORGE_PORTABLE int whole_steps(float pixels) {  // anything farther is outside every picture
    return static_cast<int>(least(greatest(rintf(pixels * kMotionSteps), -1e6f), 1e6f));
}

STYLEFORGE_PORTABLE MovedPlace place_of(const MovingParams& p, const MovingPainting& painting,
                                        float share, int row, int column) {
    const auto* flow = static_cast<const Flow*>(painting.flow);
    const auto* trusts = static_cast<const Trust*>(painting.trusts);
    const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
    const LinearTaps across = linear_taps(source_of(column, p.width, p.columns), p.columns);
    float x[4], y[4], certain[4];
    STYLEFORGE_UNROLL
    for (int k = 0; k < 4; ++k) {
        const long long at = 1ll * (k < 2 ? down.first : down.second) * p.columns +
                             (k % 2 ? across.second : across.first);
        certain[k] = trusts[at].certain * share;
        const float counts = certain[k] * trusts[at].gain;
        x[k] = flow[at].x * counts, y[k] = flow[at].y * counts;
    }
    const auto between = [&](const float (&of)[4]) {
        return interpolated(down, across, of[0], of[1], of[2], of[3]);
    };
    return {whole_steps(between(x) * (static_cast<float>(p.width) / p.columns)),
            whole_steps(between(y) * (static_cast<float>(p.height) / p.rows)), between(certain)};
}

// Reads a painting at a moved place with cubic interpolation, times kResultOne.
STYLEFORGE_PORTABLE void moved_painting(const MovingParams& p, const uint8_t* pixels,
                                        const MovedPlace& place, int row, int column,
                                        int (&moved)[3]) {
    if ((place.x | place.y) == 0) {
        for (int k = 0; k < 3; ++k)
            moved[k] = pixels[(1ll * row * p.width + column) * 3 + k] * kResultOne;
        return;
    }
    // Farther outside, all taps read the edge.
    const float y = row + place.y / kMotionSteps, x = column + place.x / kMotionSteps;
    const CubicTaps rows = cubic_taps(least(greatest(y, -4.f), p.height + 4.f));
    const CubicTaps columns = cubic_taps(least(greatest(x, -4.f), p.width + 4.f));
    const uint8_t* lines[4];
    STYLEFORGE_UNROLL
    for (int i = 0; i < 4; ++i)
        lines[i] = pixels + 3ll * clamp(rows.first + i, 0, p.height - 1) * p.width;
    float sum[3] = {0, 0, 0};
    STYLEFORGE_UNROLL
    for (int j = 0; j < 4; ++j) {
        const int at = 3 * clamp(columns.first + j, 0, p.width - 1);
        STYLEFORGE_UNROLL
        for (int k = 0; k < 3; ++k) {
            float down = 0;
            STYLEFORGE_UNROLL
            for (int i = 0; i < 4; ++i)
                down += rows.taps[i] * static_cast<float>(lines[i][at + k] * kResultOne);
            sum[k] += columns.taps[j] * down;
        }
    }
    for (int k = 0; k < 3; ++k) moved[k] = to_short(sum[k]);
}

// Returns a pixel of the frame that shows the paintings.
STYLEFORGE_PORTABLE Color shown_painting(const MovingParams& p, int row, int column) {
    int now[3], before[3] = {0, 0, 0};
    float share = 0;
    moved_painting(p, p.paintings[0].pixels,
                   place_of(p, p.paintings[0], same_scene(p, 0), row, column), row, column, now);
    if (p.count > 1) {
        const MovedPlace place = place_of(p, p.paintings[1], same_scene(p, 1), row, column);
        moved_painting(p, p.paintings[1].pixels, place, row, column, before);
        share = place.certain * p.before_share;
    }
    int made[3];
    for (int k = 0; k < 3; ++k)
        made[k] = to_byte((now[k] + (before[k] - now[k]) * share) / kResultOne);
    return {made[0], made[1], made[2]};
}

}  // namespace styleforge
