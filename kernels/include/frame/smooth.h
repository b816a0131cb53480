// The recursive temporal filter of app/engine/post/temporal_smoothing.py: where the source does not
// move, most of the old result is kept. Motion is measured between the means of cells.
#pragma once

#include "guided.h"

namespace styleforge {

constexpr float kMaxHistoryWeight = 0.95f;  // of the old result at full smoothing
constexpr float kMinChange = 0.7f;          // levels that are never motion
constexpr float kMaxNoise = 3.f;            // levels; a larger change everywhere is motion
constexpr float kSceneCutFraction = 0.8f;   // of the cells; if more of them move, it was a cut
constexpr int kResultOne = 64;              // fixed-point scale of the accumulated result
constexpr float kWeightOne = 16384.f;       // fixed-point scale of weights

// A frame of a stream; mirrored in kernels/frames/structs.py. Cells are [rows, columns].
struct SmoothParams {
    const uint8_t* source;    // [height, width, 3], the network's input
    const uint8_t* result;    // [height, width, 3]
    uint8_t* smoothed;        // [height, width, 3]
    short* accumulated;       // [height, width, 3], of results, times kResultOne
    float* known;             // [cells, 3], of sources
    float* cells;             // [cells, 3], scratch
    float* change;            // [cells], scratch
    float* other;             // [cells], scratch
    short* weight;            // [cells], of the new result, times kWeightOne
    int* begins;              // one number, whether this frame begins a new stream
    int height, width, rows, columns;
    int first;     // whether there is no frame before it
    float amount;  // 0 for none, 1 for the most smoothing
};

// BORDER_REFLECT_101: -1 is 1.
STYLEFORGE_PORTABLE int reflected(int at, int size) {
    if (size == 1) return 0;
    if (at < 0) at = -at;
    return at >= size ? 2 * size - 2 - at : at;
}

// The mean of a cell, and how far it is from what is known of it.
STYLEFORGE_PORTABLE void measure_cell(const SmoothParams& p, int row, int column) {
    const long long at = 1ll * row * p.columns + column;
    const Color c = resized({p.source, p.height, p.width}, row, column, p.rows, p.columns);
    const float now[3] = {static_cast<float>(c.r), static_cast<float>(c.g),
                          static_cast<float>(c.b)};
    float most = 0;
    for (int k = 0; k < 3; ++k) {
        most = fmaxf(most, fabsf(now[k] - p.known[at * 3 + k]));
        p.cells[at * 3 + k] = now[k];
    }
    p.change[at] = most;
}

// The mean of the 3x3 window around a cell.
STYLEFORGE_PORTABLE float window_mean(const float* values, int row, int column, int rows,
                                      int columns) {
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            sum += values[1ll * reflected(row + i, rows) * columns +
                          reflected(column + j, columns)];
    return sum / 9;
}

// Of the 3x3 window around a cell, without what lies outside.
STYLEFORGE_PORTABLE float window_most(const float* values, int row, int column, int rows,
                                      int columns) {
    float most = 0;
    for (int i = clamp(row - 1, 0, rows - 1); i <= clamp(row + 1, 0, rows - 1); ++i)
        for (int j = clamp(column - 1, 0, columns - 1); j <= clamp(column + 1, 0, columns - 1); ++j)
            most = fmaxf(most, values[1ll * i * columns + j]);
    return most;
}

// 0 for noise, 1 for motion; `median` is that of all changes.
STYLEFORGE_PORTABLE float moved(float change, float median) {
    const float noise = fminf(median, kMaxNoise);
    const float low = kMinChange + 1.5f * noise, high = 2 * kMinChange + 3 * noise;
    return fminf(fmaxf((change - low) / (high - low), 0.f), 1.f);
}

// Follow the source where it moves, and weigh the new result; `still` is 1 where nothing moved.
STYLEFORGE_PORTABLE void follow(const SmoothParams& p, long long cell, float still, bool begins) {
    const float share = 1 - fminf(p.amount, 1.f) * kMaxHistoryWeight * still;
    p.weight[cell] = static_cast<short>(rintf(share * kWeightOne));
    for (int k = 0; k < 3; ++k) {
        float& known = p.known[cell * 3 + k];
        const float now = p.cells[cell * 3 + k];
        known = begins ? now : known + share * (now - known);
    }
}

STYLEFORGE_PORTABLE int to_short(float value) {
    return clamp(static_cast<int>(rintf(value)), -32768, 32767);
}

// A pixel of the smoothed result.
STYLEFORGE_PORTABLE void smooth_pixel(const SmoothParams& p, int row, int column) {
    const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
    const LinearTaps across = linear_taps(source_of(column, p.width, p.columns), p.columns);
    const auto weight = [&](int i, int j) {
        return static_cast<float>(p.weight[1ll * i * p.columns + j]);
    };
    const float share = between(down, across, weight(down.first, across.first),
                                weight(down.first, across.second),
                                weight(down.second, across.first),
                                weight(down.second, across.second));
    const long long at = (1ll * row * p.width + column) * 3;
    for (int k = 0; k < 3; ++k) {
        const int target = p.result[at + k] * kResultOne;
        if (*p.begins) {
            p.accumulated[at + k] = static_cast<short>(target);
            p.smoothed[at + k] = p.result[at + k];
            continue;
        }
        const int before = p.accumulated[at + k];
        const int change = clamp(target - before, -32768, 32767);
        const int now = clamp(before + to_short(change * share / kWeightOne), -32768, 32767);
        p.accumulated[at + k] = static_cast<short>(now);
        p.smoothed[at + k] = static_cast<uint8_t>(to_byte(fabsf(static_cast<float>(now) / kResultOne)));
    }
}

}  // namespace styleforge
