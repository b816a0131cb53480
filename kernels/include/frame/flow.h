// How a scene has moved between two small gray pictures, at every pixel, as
// app/engine/post/optical_flow.py estimates it: by the method of Lucas and Kanade (1981) in a window
// around each pixel, from coarse to fine, solved for the whole motion.
#pragma once

#include "guided.h"

namespace styleforge {

constexpr int kFlowReach = 3;        // pixels that a window reaches to each side
constexpr float kFlowDamping = 2.f;  // levels squared: slopes of a window that may be noise
constexpr int kMedianReach = 2;      // pixels that the window of a median reaches to each side
constexpr int kFlowRows = 16, kFlowColumns = 32;  // pixels of a tile, which a team estimates
constexpr float kStillCells = 0.2f;     // pixels: a motion that is none but noise
constexpr float kMotionSteps = 32.f;    // in a pixel, to which a motion is rounded

// Pixels to the right and down.
struct Flow {
    float x, y;
};

// Gray pictures, [height, width] of float.
struct GrayFloats {
    const float* values;
    int height, width;
};

// A pair of pictures of one size, the newest first, and the pair of half the size.
struct HalveParams {
    const float* pair;  // [2, height, width]
    float* half;        // [2, small_height, small_width]
    int height, width, small_height, small_width;
};

// A step towards the motion between two pictures of one size.
struct FlowParams {
    const float* pair;    // [2, height, width], the newest first
    const void* coarse;   // [coarse_height, coarse_width] of Flow, known so far; null: none
    void* flow;           // [height, width] of Flow
    int height, width, coarse_height, coarse_width;
};

// Single errors are removed from a motion.
struct MedianParams {
    const void* flow;  // [height, width] of Flow
    void* median;      // [height, width] of Flow
    int height, width;
    int settles;  // whether it becomes what pictures are moved by: rounded, and none where still
};

// A pixel of a picture of half the size, by a Gaussian of 5 pixels, as cv2.pyrDown has it.
STYLEFORGE_PORTABLE void halve_pixel(const HalveParams& p, int row, int column) {
    const int picture = row / p.small_height, y = row % p.small_height * 2, x = column * 2;
    const float* from = p.pair + 1ll * picture * p.height * p.width;
    const float taps[5] = {1, 4, 6, 4, 1};
    float sum = 0;
    for (int i = -2; i <= 2; ++i) {
        const float* line = from + 1ll * reflected(y + i, p.height) * p.width;
        float across = 0;
        for (int j = -2; j <= 2; ++j) across += taps[j + 2] * line[reflected(x + j, p.width)];
        sum += taps[i + 2] * across;
    }
    p.half[1ll * row * p.small_width + column] = sum / 256;
}

// Scharr's slopes, in levels a pixel.
STYLEFORGE_PORTABLE Flow slopes_at(const GrayFloats& p, int row, int column) {
    const float* above = p.values + 1ll * reflected(row - 1, p.height) * p.width;
    const float* here = p.values + 1ll * row * p.width;
    const float* below = p.values + 1ll * reflected(row + 1, p.height) * p.width;
    const int left = reflected(column - 1, p.width), right = reflected(column + 1, p.width);
    return {(3 * (above[right] - above[left]) + 10 * (here[right] - here[left]) +
             3 * (below[right] - below[left])) / 32,
            (3 * (below[left] - above[left]) + 10 * (below[column] - above[column]) +
             3 * (below[right] - above[right])) / 32};
}

// Two pixels along an axis, and the share of the second; the picture is continued by its edge.
STYLEFORGE_PORTABLE LinearTaps edge_taps(float position, int size) {
    const float within = fminf(fmaxf(position, 0.f), size - 1.f);
    const int first = static_cast<int>(within);
    return {first, first + 1 < size ? first + 1 : first, within - first};
}

STYLEFORGE_PORTABLE float sampled(const GrayFloats& p, float x, float y) {
    const LinearTaps rows = edge_taps(y, p.height), columns = edge_taps(x, p.width);
    const float *upper = p.values + 1ll * rows.first * p.width,
                *lower = p.values + 1ll * rows.second * p.width;
    return interpolated(rows, columns, upper[columns.first], upper[columns.second],
                        lower[columns.first], lower[columns.second]);
}

// A motion enlarged to a picture of [height, width], in pixels of that.
STYLEFORGE_PORTABLE Flow enlarged_flow(const Flow* flow, int rows, int columns, int row,
                                       int column, int height, int width) {
    const LinearTaps down = linear_taps(source_of(row, height, rows), rows);
    const LinearTaps across = linear_taps(source_of(column, width, columns), columns);
    const Flow *upper = flow + 1ll * down.first * columns,
               *lower = flow + 1ll * down.second * columns;
    const Flow a = upper[across.first], b = upper[across.second];
    const Flow c = lower[across.first], d = lower[across.second];
    return {interpolated(down, across, a.x, b.x, c.x, d.x) * (static_cast<float>(width) / columns),
            interpolated(down, across, a.y, b.y, c.y, d.y) * (static_cast<float>(height) / rows)};
}

STYLEFORGE_PORTABLE Flow known_flow(const FlowParams& p, int row, int column) {
    if (p.coarse == nullptr) return {0, 0};
    const Flow* flow = static_cast<const Flow*>(p.coarse);
    if (p.coarse_height == p.height && p.coarse_width == p.width)
        return flow[1ll * row * p.width + column];
    return enlarged_flow(flow, p.coarse_height, p.coarse_width, row, column, p.height, p.width);
}

// What a team needs to estimate the motion of a tile.
struct FlowWork {
    static constexpr int kRows = kFlowRows + 2 * kFlowReach;
    static constexpr int kColumns = kFlowColumns + 2 * kFlowReach;
    float right[kRows][kColumns], down[kRows][kColumns];  // slopes of the newest picture
    float wrong[kRows][kColumns];  // its difference to the earlier one, moved, but for the motion
    Flow flow[kRows][kColumns];    // known so far
};

// The motion of a pixel, of which the window in `work` begins at `row` and `column`.
STYLEFORGE_PORTABLE Flow solved(const FlowWork& work, int row, int column) {
    constexpr int kSide = 2 * kFlowReach + 1;
    float xx = 0, xy = 0, yy = 0, rights = 0, downs = 0, wrongs = 0, xw = 0, yw = 0, u = 0, v = 0;
    for (int i = row; i < row + kSide; ++i)
        for (int j = column; j < column + kSide; ++j) {
            const float right = work.right[i][j], down = work.down[i][j], wrong = work.wrong[i][j];
            xx += right * right, xy += right * down, yy += down * down;
            rights += right, downs += down, wrongs += wrong;
            xw += right * wrong, yw += down * wrong;
            u += work.flow[i][j].x, v += work.flow[i][j].y;
        }
    constexpr float kShare = 1.f / (kSide * kSide);
    rights *= kShare, downs *= kShare, wrongs *= kShare;
    xx = xx * kShare - rights * rights + kFlowDamping;
    yy = yy * kShare - downs * downs + kFlowDamping;
    xy = xy * kShare - rights * downs;
    const float x = xw * kShare - rights * wrongs + kFlowDamping * (u * kShare);
    const float y = yw * kShare - downs * wrongs + kFlowDamping * (v * kShare);
    const float inverse = 1 / (xx * yy - xy * xy);
    return {(yy * x - xy * y) * inverse, (xx * y - xy * x) * inverse};
}

// Estimate the motion of a tile, of which `first_row` and `first_column` are the first. A team is the
// threads of a block, or a single one: `rank` of `size`, which `sync` waits for.
template <typename Team>
STYLEFORGE_PORTABLE void estimate_flow(const Team& team, const FlowParams& p, int first_row,
                                       int first_column, FlowWork& work) {
    const GrayFloats now = {p.pair, p.height, p.width};
    const GrayFloats earlier = {p.pair + 1ll * p.height * p.width, p.height, p.width};
    for (int i = team.rank; i < FlowWork::kRows * FlowWork::kColumns; i += team.size) {
        const int down = i / FlowWork::kColumns, across = i % FlowWork::kColumns;
        const int row = reflected_often(first_row + down - kFlowReach, p.height);
        const int column = reflected_often(first_column + across - kFlowReach, p.width);
        const Flow slope = slopes_at(now, row, column), flow = known_flow(p, row, column);
        const float moved = sampled(earlier, column + flow.x, row + flow.y);
        work.right[down][across] = slope.x, work.down[down][across] = slope.y;
        work.flow[down][across] = flow;
        work.wrong[down][across] = now.values[1ll * row * p.width + column] - moved +
                                   slope.x * flow.x + slope.y * flow.y;
    }
    team.sync();
    for (int i = team.rank; i < kFlowRows * kFlowColumns; i += team.size) {
        const int down = i / kFlowColumns, across = i % kFlowColumns;
        const int row = first_row + down, column = first_column + across;
        if (row >= p.height || column >= p.width) continue;
        static_cast<Flow*>(p.flow)[1ll * row * p.width + column] = solved(work, down, across);
    }
}

STYLEFORGE_PORTABLE void order(float& low, float& high) {
    const float a = low, b = high;
    low = fminf(a, b), high = fmaxf(a, b);
}

// The one in the middle of an odd number of values. Of a few more than half of them the least and the
// greatest cannot be it: they are dropped, and another value comes in, until three are left.
template <int kNumber>
STYLEFORGE_PORTABLE float middle_of(const float (&values)[kNumber]) {
    constexpr int kFirst = kNumber / 2 + 2;
    float some[kFirst];
    STYLEFORGE_UNROLL
    for (int i = 0; i < kFirst; ++i) some[i] = values[i];
    STYLEFORGE_UNROLL
    for (int number = kFirst; number >= 3; --number) {
        STYLEFORGE_UNROLL
        for (int i = 0; i < number / 2; ++i) order(some[i], some[number - 1 - i]);
        STYLEFORGE_UNROLL
        for (int i = 1; i < (number + 1) / 2; ++i) order(some[0], some[i]);
        STYLEFORGE_UNROLL
        for (int i = number / 2; i < number - 1; ++i) order(some[i], some[number - 1]);
        if (number > 3) some[0] = values[kNumber + 3 - number];
    }
    return some[1];
}

STYLEFORGE_PORTABLE float rounded_motion(float pixels) {
    return rintf(pixels * kMotionSteps) / kMotionSteps;
}

// The median of each component around a pixel; the picture is continued by its edge.
STYLEFORGE_PORTABLE void median_pixel(const MedianParams& p, int row, int column) {
    constexpr int kSide = 2 * kMedianReach + 1;
    const Flow* flow = static_cast<const Flow*>(p.flow);
    float x[kSide * kSide], y[kSide * kSide];
    STYLEFORGE_UNROLL
    for (int i = 0; i < kSide; ++i)
        STYLEFORGE_UNROLL
        for (int j = 0; j < kSide; ++j) {
            const Flow f = flow[1ll * clamp(row + i - kMedianReach, 0, p.height - 1) * p.width +
                                clamp(column + j - kMedianReach, 0, p.width - 1)];
            x[i * kSide + j] = f.x, y[i * kSide + j] = f.y;
        }
    Flow f = {middle_of(x), middle_of(y)};
    if (p.settles) {
        const bool still = f.x * f.x + f.y * f.y < kStillCells * kStillCells;
        f = still ? Flow{0, 0} : Flow{rounded_motion(f.x), rounded_motion(f.y)};
    }
    static_cast<Flow*>(p.median)[1ll * row * p.width + column] = f;
}

}  // namespace styleforge
