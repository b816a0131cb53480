// The motion of a scene between two small gray pictures, at every pixel, as in
// app/engine/post/optical_flow.py: the method of Lucas and Kanade (1981) in a window around each
// pixel, from coarse to fine, solved for the whole motion. Sums run along columns first, then along
// rows, so that whole rows can be computed at once. CPU and GPU add in this order.
#pragma once

#include "include/common/exact.h"
#include "guided.h"

namespace styleforge {

constexpr int kFlowReach = 3;        // pixels of a window on each side of its center
constexpr float kFlowDamping = 2.f;  // levels squared: slopes of a window that may be noise
constexpr int kMedianReach = 2;      // pixels of the median's window on each side of its center
constexpr int kFlowRows = 16, kFlowColumns = 32;  // pixels of a tile, one tile per team
constexpr float kStillCells = 0.2f;     // pixels: a smaller motion counts as noise
constexpr float kMotionSteps = 32.f;    // per pixel; motions are rounded to steps

// Pixels to the right and down.
struct Flow {
    float x, y;
};

// A gray picture, [height, width] of float.
struct GrayFloats {
    const float* values;
    int height, width;
};

// A pair of pictures of one size, the newest first, and the same pair at half the size.
struct HalveParams {
    const float* pair;  // [2, height, width]
    float* half;        // [2, small_height, small_width]
    int height, width, small_height, small_width;
};

// A step towards the motion between two pictures of one size.
struct FlowParams {
    const float* pair;    // [2, height, width], the newest first
    const void* coarse;   // [coarse_height, coarse_width] of Flow, known so far, or null
    void* flow;           // [height, width] of Flow
    int height, width, coarse_height, coarse_width;
};

// Removes single errors from a motion.
struct MedianParams {
    const void* flow;  // [height, width] of Flow
    void* median;      // [height, width] of Flow
    int height, width;
    int settles;  // whether to prepare it for moving pictures: rounded, and 0 where still
};

// Weights five pixels with a Gaussian, times 16.
STYLEFORGE_PORTABLE float gauss(float a, float b, float c, float d, float e) {
    return (a + e) + 4 * (b + d) + 6 * c;
}

// Computes a pixel of the half-size picture with a Gaussian of 5 pixels, like cv2.pyrDown.
STYLEFORGE_PORTABLE void halve_pixel(const HalveParams& p, int row, int column) {
    const int picture = row / p.small_height, y = row % p.small_height * 2, x = column * 2;
    const float* from = p.pair + 1ll * picture * p.height * p.width;
    float down[5];
    STYLEFORGE_UNROLL
    for (int j = 0; j < 5; ++j) {
        const float* at = from + reflected(x + j - 2, p.width);
        const auto line = [&](int i) { return at[1ll * reflected(y + i, p.height) * p.width]; };
        down[j] = gauss(line(-2), line(-1), line(0), line(1), line(2));
    }
    p.half[1ll * row * p.small_width + column] =
        gauss(down[0], down[1], down[2], down[3], down[4]) / 256;
}

// A Scharr slope, in levels per pixel, from three pairs of pixels two apart, the second in the
// middle.
STYLEFORGE_PORTABLE float scharr(float a, float to_a, float b, float to_b, float c, float to_c) {
    return (3 * (to_a - a) + 10 * (to_b - b) + 3 * (to_c - c)) / 32;
}

// Slopes at `column` from its neighbors `left` and `right` in the rows around it.
STYLEFORGE_PORTABLE Flow slopes_between(const float* above, const float* here, const float* below,
                                        int left, int column, int right) {
    return {scharr(above[left], above[right], here[left], here[right], below[left], below[right]),
            scharr(above[left], below[left], above[column], below[column], above[right],
                   below[right])};
}

STYLEFORGE_PORTABLE Flow slopes_at(const GrayFloats& p, int row, int column) {
    return slopes_between(p.values + 1ll * reflected(row - 1, p.height) * p.width,
                          p.values + 1ll * row * p.width,
                          p.values + 1ll * reflected(row + 1, p.height) * p.width,
                          reflected(column - 1, p.width), column, reflected(column + 1, p.width));
}

// Returns two pixels along an axis and the share of the second; the edge is repeated.
STYLEFORGE_PORTABLE LinearTaps edge_taps(float position, int size) {
    const float within = least(greatest(position, 0.f), size - 1.f);
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

// Returns a motion enlarged to a picture of [height, width], in pixels of that picture.
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

// The difference between the newest and the moved earlier picture, except for the known motion.
STYLEFORGE_PORTABLE float wrong_by(float now, float moved, Flow slope, Flow flow) {
    return now - moved + slope.x * flow.x + slope.y * flow.y;
}

// Sums over a window: slopes, `wrong`, their products, and the motion known so far.
struct FlowSums {
    float right, down, right_right, right_down, down_down, wrong, right_wrong, down_wrong, x, y;
};

STYLEFORGE_PORTABLE Flow solved(const FlowSums& sums) {
    constexpr int kSide = 2 * kFlowReach + 1;
    constexpr float kShare = 1.f / (kSide * kSide);
    const float right = sums.right * kShare, down = sums.down * kShare;
    const float wrong = sums.wrong * kShare;
    const float xx = sums.right_right * kShare - right * right + kFlowDamping;
    const float yy = sums.down_down * kShare - down * down + kFlowDamping;
    const float xy = sums.right_down * kShare - right * down;
    const float x = sums.right_wrong * kShare - right * wrong + kFlowDamping * (sums.x * kShare);
    const float y = sums.down_wrong * kShare - down * wrong + kFlowDamping * (sums.y * kShare);
    const float inverse = 1 / (xx * yy - xy * xy);
    return {(yy * x - xy * y) * inverse, (xx * y - xy * x) * inverse};
}

// A team's working memory for the motion of a tile.
struct FlowWork {
    static constexpr int kRows = kFlowRows + 2 * kFlowReach;
    static constexpr int kColumns = kFlowColumns + 2 * kFlowReach;
    float right[kRows][kColumns], down[kRows][kColumns];  // slopes of the newest picture
    float wrong[kRows][kColumns];     // see wrong_by
    Flow flow[kRows][kColumns];       // known so far
    FlowSums sums[kFlowRows][kColumns];  // over columns of a window
};

// Sums over the window column that begins at `row`.
STYLEFORGE_PORTABLE FlowSums column_sums(const FlowWork& work, int row, int column) {
    FlowSums sums = {};
    for (int i = row; i < row + 2 * kFlowReach + 1; ++i) {
        const float right = work.right[i][column], down = work.down[i][column];
        const float wrong = work.wrong[i][column];
        const Flow flow = work.flow[i][column];
        sums.right += right, sums.down += down, sums.wrong += wrong;
        sums.right_right += right * right, sums.right_down += right * down;
        sums.down_down += down * down;
        sums.right_wrong += right * wrong, sums.down_wrong += down * wrong;
        sums.x += flow.x, sums.y += flow.y;
    }
    return sums;
}

// Sums over the window whose first column is `column`.
STYLEFORGE_PORTABLE FlowSums window_sums(const FlowWork& work, int row, int column) {
    FlowSums sums = {};
    for (int j = column; j < column + 2 * kFlowReach + 1; ++j) {
        const FlowSums& some = work.sums[row][j];
        sums.right += some.right, sums.down += some.down, sums.wrong += some.wrong;
        sums.right_right += some.right_right, sums.right_down += some.right_down;
        sums.down_down += some.down_down;
        sums.right_wrong += some.right_wrong, sums.down_wrong += some.down_wrong;
        sums.x += some.x, sums.y += some.y;
    }
    return sums;
}

// Estimates the motion of the tile at `first_row` and `first_column`. A team is the threads of a
// block or a single thread: `rank` of `size`, with the barrier `sync`.
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
        work.wrong[down][across] =
            wrong_by(now.values[1ll * row * p.width + column], moved, slope, flow);
    }
    team.sync();
    for (int i = team.rank; i < kFlowRows * FlowWork::kColumns; i += team.size) {
        const int down = i / FlowWork::kColumns, across = i % FlowWork::kColumns;
        work.sums[down][across] = column_sums(work, down, across);
    }
    team.sync();
    for (int i = team.rank; i < kFlowRows * kFlowColumns; i += team.size) {
        const int down = i / kFlowColumns, across = i % kFlowColumns;
        const int row = first_row + down, column = first_column + across;
        if (row >= p.height || column >= p.width) continue;
        static_cast<Flow*>(p.flow)[1ll * row * p.width + column] =
            solved(window_sums(work, down, across));
    }
}

STYLEFORGE_PORTABLE void order(float& low, float& high) {
    const float a = low, b = high;
    low = least(a, b), high = greatest(a, b);
}

// Median of an odd number of values. Among a few more than half of them, the minimum and the
// maximum cannot be the median: they are dropped, and another value is added, until three are left.
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

// The motion by which pictures are moved.
STYLEFORGE_PORTABLE Flow settled(Flow f) {
    const bool still = f.x * f.x + f.y * f.y < kStillCells * kStillCells;
    return {still ? 0 : rounded_motion(f.x), still ? 0 : rounded_motion(f.y)};
}

// Median of each component around a pixel; the edge is repeated.
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
    const Flow f = {middle_of(x), middle_of(y)};
    static_cast<Flow*>(p.median)[1ll * row * p.width + column] = p.settles ? settled(f) : f;
}

}  // namespace styleforge
