// The recursive temporal filter of app/engine/post/smoothing_reference.py. It moves the accumulated
// result with the source and uses it where the moved source equals the new one. Motion and change
// are measured between the means of cells. smooth.cu and smoothing.cpp compute
// the same bits.
#pragma once

#include "flow.h"

namespace styleforge {

constexpr float kMaxHistoryWeight = 0.95f;  // weight of the old result at full smoothing
constexpr float kMaxMovingWeight = 0.92f;   // the same where it moves
constexpr int kEasing = 5;                  // power of the remaining weight
constexpr float kSlopeTolerance = 0.05f;    // levels of change per level of slope, where it moves
constexpr float kMinChange = 0.7f;          // levels; a smaller change is never motion
constexpr float kMaxNoise = 3.f;            // levels; a larger change everywhere is not noise
constexpr float kElsewhere = 1e9f;          // change of a cell that was outside the picture
constexpr float kSceneCutFraction = 0.8f;   // share of cells; if more changed, it may be a cut
constexpr double kSameScene = 0.85;         // least correlation of one scene in another light
constexpr int kResultOne = 64;              // fixed-point scale of the accumulated result
constexpr float kWeightOne = 16384.f;       // fixed-point scale of weights

constexpr int kNoiseBins = 8192;            // bins per level of the histogram of changes
constexpr int kBins = 3 * kNoiseBins + 1;   // the last bin holds kMaxNoise and above
constexpr int kCounts = 25088;              // kBins, padded to a multiple of 512
constexpr float kStillOne = 1024.f;         // fixed-point scale of the sum of `same`

// A frame of a stream. Cells are [rows, columns]. State carried between frames is double-buffered:
// a frame reads one buffer and writes the other, see kSide.
struct SmoothParams {
    const uint8_t* source;      // [height, width, 3], the network's input
    const uint8_t* result;      // [height, width, 3]
    uint8_t* smoothed;          // [height, width, 3]
    short* accumulated;         // [2, height, width, 3], accumulated results, times kResultOne
    float* known;               // [2, cells, 3], the accumulated source
    float* cells;               // [cells, 3], of the newest frame
    float* pair;                // [2, cells], `cells` and `known` in gray, the newest first
    const void* flow;           // [cells] of Flow, each cell's position in `known`
    float* moved;               // [cells, 3], `known`, moved
    float* change;              // [cells], between `moved` and the newest frame
    float* other;               // [cells], mean change around each cell
    float* share;               // [cells], of the new result
    unsigned* counts;           // [kCounts], of `other`
    unsigned long long* sums;   // [2, kSums], of the pair
    unsigned* state;            // [kStates]
    int height, width, rows, columns;
    int first;     // whether it is the first frame
    float amount;  // 0 for no smoothing, 1 for the most
};

// Indices of SmoothParams::state: blocks that have counted; the median; the sum of `same`; the
// buffer that a frame writes once counted and the next frame reads; per buffer, whether its frame
// showed another scene.
enum { kTicket = 0, kMedian = 1, kSame = 2, kSide = 3, kMissed = 4, kStates = 6 };

// Indices of SmoothParams::sums: the newest gray cells, the known ones, their squares and products.
enum { kNow = 0, kKnown = 1, kNowNow = 2, kKnownKnown = 3, kNowKnown = 4, kSums = 5 };

struct GraySums {
    unsigned values[kSums];
};

STYLEFORGE_PORTABLE float gray_of(float r, float g, float b) {
    return 0.299f * r + 0.587f * g + 0.114f * b;
}

// Computes the mean of a cell and both gray pictures; returns the cell's share of the sums.
STYLEFORGE_PORTABLE GraySums measure_cell(const SmoothParams& p, int row, int column) {
    const long long at = 1ll * row * p.columns + column, all = 1ll * p.rows * p.columns;
    const Color c = resized({p.source, p.height, p.width}, row, column, p.rows, p.columns);
    float* cell = p.cells + at * 3;
    cell[0] = static_cast<float>(c.r), cell[1] = static_cast<float>(c.g);
    cell[2] = static_cast<float>(c.b);
    const float* before = p.known + (p.state[kSide] * all + at) * 3;
    const float now = gray_of(cell[0], cell[1], cell[2]);
    const float known = gray_of(before[0], before[1], before[2]);
    p.pair[at] = now, p.pair[all + at] = known;
    const unsigned a = to_byte(now), b = to_byte(known);
    return {{a, b, a * a, b * b, a * b}};
}

// Computes a cell's known color, moved, and the newest color's difference from it, by channel.
STYLEFORGE_PORTABLE void difference_at(const SmoothParams& p, int row, int column,
                                       float (&moved)[3], float (&difference)[3]) {
    const long long at = 1ll * row * p.columns + column;
    const Flow flow = static_cast<const Flow*>(p.flow)[at];
    const LinearTaps down = edge_taps(row + flow.y, p.rows);
    const LinearTaps across = edge_taps(column + flow.x, p.columns);
    const float* known = p.known + 3ll * p.state[kSide] * p.rows * p.columns;
    const float *upper = known + 3ll * down.first * p.columns,
                *lower = known + 3ll * down.second * p.columns;
    for (int k = 0; k < 3; ++k) {
        const int left = across.first * 3 + k, right = across.second * 3 + k;
        moved[k] = interpolated(down, across, upper[left], upper[right], lower[left], lower[right]);
        difference[k] = p.cells[at * 3 + k] - moved[k];
    }
}

STYLEFORGE_PORTABLE bool moves(const SmoothParams& p, long long cell) {
    const Flow flow = static_cast<const Flow*>(p.flow)[cell];
    return flow.x != 0 || flow.y != 0;
}

// Returns the effective change where something moves.
STYLEFORGE_PORTABLE float tolerated(float change, Flow slope) {
    return change / (1 + kSlopeTolerance * sqrtf(slope.x * slope.x + slope.y * slope.y));
}

// Measures how far a cell is from its known color, moved. The difference is averaged, with its
// sign, over 2x2 cells.
STYLEFORGE_PORTABLE void measure_change(const SmoothParams& p, int row, int column) {
    const long long at = 1ll * row * p.columns + column;
    float sum[3] = {0, 0, 0}, moved[3], difference[3];
    for (int i = -1; i <= 0; ++i)
        for (int j = -1; j <= 0; ++j) {
            difference_at(p, reflected(row + i, p.rows), reflected(column + j, p.columns), moved,
                          difference);
            for (int k = 0; k < 3; ++k) sum[k] += difference[k];
        }
    float most = 0;  // the last one is the cell itself
    for (int k = 0; k < 3; ++k) {
        p.moved[at * 3 + k] = moved[k];
        most = greatest(most, fabsf(sum[k] / 4));
    }
    const Flow slope = slopes_at({p.pair, p.rows, p.columns}, row, column);
    p.change[at] = moves(p, at) ? tolerated(most, slope) : most;
}

// Mean of the 3x3 window around a cell.
STYLEFORGE_PORTABLE float window_mean(const float* values, int row, int column, int rows,
                                      int columns) {
    float sum = 0;
    for (int j = -1; j <= 1; ++j) {
        const float* at = values + reflected(column + j, columns);
        float down = 0;
        for (int i = -1; i <= 1; ++i) down += at[1ll * reflected(row + i, rows) * columns];
        sum += down;
    }
    return sum / 9;
}

STYLEFORGE_PORTABLE bool leads_outside(float x, float y, int rows, int columns) {
    return x < 0 || y < 0 || x > columns - 1 || y > rows - 1;
}

// Mean change around a cell; kElsewhere if the cell was outside the picture.
STYLEFORGE_PORTABLE float measure_around(const SmoothParams& p, int row, int column) {
    const long long at = 1ll * row * p.columns + column;
    const float mean = window_mean(p.change, row, column, p.rows, p.columns);
    const Flow flow = static_cast<const Flow*>(p.flow)[at];
    const bool outside = leads_outside(column + flow.x, row + flow.y, p.rows, p.columns);
    p.other[at] = outside ? kElsewhere : mean;
    return mean;
}

// Changes above kMaxNoise share the last bin.
STYLEFORGE_PORTABLE int noise_bin(float change) {
    return clamp(static_cast<int>(least(change, kMaxNoise + 1) * kNoiseBins), 0, kBins - 1);
}

STYLEFORGE_PORTABLE float noise_of_bin(int bin) {
    return (bin + 0.5f) / kNoiseBins;
}

// 0 for noise, 1 for a real change; `median` is over all changes.
STYLEFORGE_PORTABLE float differs(float change, float median) {
    const float noise = least(median, kMaxNoise);
    const float low = kMinChange + 1.5f * noise, high = 2 * kMinChange + 3 * noise;
    return least(greatest((change - low) / (high - low), 0.f), 1.f);
}

// 1 where both show the same, 0 where something else appeared. The change is dilated, since the
// changed strokes reach beyond it, and averaged.
STYLEFORGE_PORTABLE float same(const SmoothParams& p, int row, int column, float median) {
    float sum = 0;
    for (int j = -1; j <= 1; ++j) {
        float down = 0;
        for (int i = -1; i <= 1; ++i) {
            const int y = reflected(row + i, p.rows), x = reflected(column + j, p.columns);
            float most = 0;
            for (int v = clamp(y - 1, 0, p.rows - 1); v <= clamp(y + 1, 0, p.rows - 1); ++v)
                for (int u = clamp(x - 1, 0, p.columns - 1); u <= clamp(x + 1, 0, p.columns - 1);
                     ++u)
                    most = greatest(most, p.other[1ll * v * p.columns + u]);
            down += differs(most, median);  // grows with the change
        }
        sum += down;
    }
    return 1 - sum / 9;
}

// The weight of earlier results where nothing moves.
STYLEFORGE_PORTABLE float history_weight(float amount) {
    float left = 1;
    for (int i = 0; i < kEasing; ++i) left *= 1 - least(amount, 1.f);
    return kMaxHistoryWeight * (1 - left);
}

STYLEFORGE_PORTABLE float share_of(const SmoothParams& p, int row, int column, float same) {
    const float most = history_weight(p.amount);
    const bool moving = moves(p, 1ll * row * p.columns + column);
    return 1 - (moving ? least(most, kMaxMovingWeight) : most) * same;
}

// Correlation of the gray pictures of cells, -1 to 1; 0 if one of them is uniform.
STYLEFORGE_PORTABLE double correlation(const unsigned long long* sums, long long count) {
    const auto covariance = [&](int product, int a, int b) {
        return static_cast<double>(count * static_cast<long long>(sums[product]) -
                                   static_cast<long long>(sums[a] * sums[b]));
    };
    const double spread = sqrt(covariance(kNowNow, kNow, kNow) *
                               covariance(kKnownKnown, kKnown, kKnown));
    return spread > 0 ? covariance(kNowKnown, kNow, kKnown) / spread : 0;
}

// A frame's role in the stream: a continuation, another scene that may be a flash, or a new start.
enum Role { kContinues, kFlash, kBegins };

// Returns whether more than a few cells show the same; `same` is their sum, times kStillOne.
STYLEFORGE_PORTABLE bool shows_the_same(float same, long long count) {
    return same / kStillOne >= (1 - kSceneCutFraction) * static_cast<float>(count);
}

// Returns the role of a frame that has been counted.
STYLEFORGE_PORTABLE Role role_of(const SmoothParams& p) {
    if (p.first) return kBegins;
    const long long count = 1ll * p.rows * p.columns;
    if (shows_the_same(static_cast<float>(p.state[kSame]), count)) return kContinues;
    const int read = 1 - p.state[kSide];
    if (correlation(p.sums + read * kSums, count) >= kSameScene) return kContinues;
    return p.state[kMissed + read] ? kBegins : kFlash;
}

STYLEFORGE_PORTABLE int to_short(float value) {
    return clamp(static_cast<int>(rintf(value)), -32768, 32767);
}

STYLEFORGE_PORTABLE void accumulate_cell(const SmoothParams& p, Role role, int row, int column) {
    const long long all = 1ll * p.rows * p.columns, at = 1ll * row * p.columns + column;
    const int write = p.state[kSide];
    const float *before = p.known + 3 * ((1 - write) * all + at), *cell = p.cells + 3 * at;
    float* now = p.known + 3 * (write * all + at);
    for (int k = 0; k < 3; ++k) {
        const float moved = p.moved[at * 3 + k];
        now[k] = role == kBegins ? cell[k]
                 : role == kFlash ? before[k]
                                  : moved + p.share[at] * (cell[k] - moved);
    }
}

// The accumulated result at a pixel, moved by the motion around it, with cubic interpolation.
STYLEFORGE_PORTABLE void moved_result(const SmoothParams& p, const short* result, int row,
                                      int column, int (&moved)[3]) {
    const Flow flow = enlarged_flow(static_cast<const Flow*>(p.flow), p.rows, p.columns, row,
                                    column, p.height, p.width);
    const float x = rounded_motion(flow.x), y = rounded_motion(flow.y);
    if (x == 0 && y == 0) {
        for (int k = 0; k < 3; ++k) moved[k] = result[(1ll * row * p.width + column) * 3 + k];
        return;
    }
    // Farther outside, all taps read the edge.
    const CubicTaps rows = cubic_taps(least(greatest(row + y, -4.f), p.height + 4.f));
    const CubicTaps columns = cubic_taps(least(greatest(column + x, -4.f), p.width + 4.f));
    const short* lines[4];
    for (int i = 0; i < 4; ++i)
        lines[i] = result + 3ll * clamp(rows.first + i, 0, p.height - 1) * p.width;
    float sum[3] = {0, 0, 0};
    for (int j = 0; j < 4; ++j) {
        const int at = 3 * clamp(columns.first + j, 0, p.width - 1);
        for (int k = 0; k < 3; ++k) {
            float down = 0;
            for (int i = 0; i < 4; ++i) down += rows.taps[i] * lines[i][at + k];
            sum[k] += columns.taps[j] * down;
        }
    }
    for (int k = 0; k < 3; ++k) moved[k] = to_short(sum[k]);
}

STYLEFORGE_PORTABLE int accumulated(int moved, int result, float share) {
    const int change = clamp(result * kResultOne - moved, -32768, 32767);
    return clamp(moved + to_short(change * share / kWeightOne), -32768, 32767);
}

STYLEFORGE_PORTABLE int shown(int accumulated) {
    return to_byte(fabsf(static_cast<float>(accumulated) / kResultOne));
}

STYLEFORGE_PORTABLE void smooth_pixel(const SmoothParams& p, Role role, int row, int column) {
    const long long all = 3ll * p.height * p.width, at = (1ll * row * p.width + column) * 3;
    const int write = p.state[kSide];
    const short* before = p.accumulated + (1 - write) * all;
    short* now = p.accumulated + write * all;
    if (role != kContinues) {
        for (int k = 0; k < 3; ++k) {
            now[at + k] = role == kFlash ? before[at + k]
                                         : static_cast<short>(p.result[at + k] * kResultOne);
            p.smoothed[at + k] = p.result[at + k];
        }
        return;
    }
    const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
    const LinearTaps across = linear_taps(source_of(column, p.width, p.columns), p.columns);
    const auto weight = [&](int i, int j) {
        return rintf(p.share[1ll * i * p.columns + j] * kWeightOne);
    };
    const float share = between(down, across, weight(down.first, across.first),
                                weight(down.first, across.second),
                                weight(down.second, across.first),
                                weight(down.second, across.second));
    int moved[3];
    moved_result(p, before, row, column, moved);
    for (int k = 0; k < 3; ++k) {
        const int sum = accumulated(moved[k], p.result[at + k], share);
        now[at + k] = static_cast<short>(sum);
        p.smoothed[at + k] = static_cast<uint8_t>(shown(sum));
    }
}

}  // namespace styleforge
