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

constexpr int kNoiseBins = 8192;            // of the histogram of changes, for each level
constexpr int kBins = 3 * kNoiseBins + 1;   // the last is of kMaxNoise and more
constexpr int kCounts = 25088;              // kBins, and as many more as make a multiple of 512
constexpr float kStillOne = 1024.f;        // fixed-point scale of the sum of `still`

// A frame of a stream. Cells are [rows, columns].
struct SmoothParams {
    const uint8_t* source;    // [height, width, 3], the network's input
    const uint8_t* result;    // [height, width, 3]
    uint8_t* smoothed;        // [height, width, 3]
    short* accumulated;       // [height, width, 3], of results, times kResultOne
    float* known;             // [cells, 3], of sources before the newest frame
    float* cells;             // [cells, 3], of the newest frame
    float* change;            // [cells], between them
    float* other;             // [cells], its mean around each cell
    float* share;             // [cells], of the new result
    unsigned* counts;         // [kCounts], of `other`
    unsigned* state;          // [kStates]
    int height, width, rows, columns;
    int first;     // whether there is no frame before it
    float amount;  // 0 for none, 1 for the most smoothing
};

// Of SmoothParams::state: whether a stream began, blocks that counted, the median, the sum of `still`.
enum { kBegins = 0, kTicket = 1, kMedian = 2, kStill = 3, kStates = 4 };

// BORDER_REFLECT_101: -1 is 1.
STYLEFORGE_PORTABLE int reflected(int at, int size) {
    if (size == 1) return 0;
    if (at < 0) at = -at;
    return at >= size ? 2 * size - 2 - at : at;
}

// Follow the source of the frame before; then the mean of a cell, and how far it is from what is
// known of it.
STYLEFORGE_PORTABLE void measure_cell(const SmoothParams& p, int row, int column) {
    const long long at = 1ll * row * p.columns + column;
    const Color c = resized({p.source, p.height, p.width}, row, column, p.rows, p.columns);
    const float now[3] = {static_cast<float>(c.r), static_cast<float>(c.g),
                          static_cast<float>(c.b)};
    float most = 0;
    for (int k = 0; k < 3; ++k) {
        float& known = p.known[at * 3 + k];
        float& cell = p.cells[at * 3 + k];
        if (!p.first) known = p.state[kBegins] ? cell : known + p.share[at] * (cell - known);
        most = fmaxf(most, fabsf(now[k] - known));
        cell = now[k];
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

// The bin of a change; more than kMaxNoise need not be told apart.
STYLEFORGE_PORTABLE int noise_bin(float change) {
    return clamp(static_cast<int>(change * kNoiseBins), 0, kBins - 1);
}

STYLEFORGE_PORTABLE float noise_of_bin(int bin) {
    return (bin + 0.5f) / kNoiseBins;
}

// 0 for noise, 1 for motion; `median` is that of all changes.
STYLEFORGE_PORTABLE float moved(float change, float median) {
    const float noise = fminf(median, kMaxNoise);
    const float low = kMinChange + 1.5f * noise, high = 2 * kMinChange + 3 * noise;
    return fminf(fmaxf((change - low) / (high - low), 0.f), 1.f);
}

// 1 where nothing moved, 0 where something did: motion is dilated, since the strokes that change
// reach beyond the region that moved, and averaged.
STYLEFORGE_PORTABLE float still(const SmoothParams& p, int row, int column, float median) {
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) {
            const int y = reflected(row + i, p.rows), x = reflected(column + j, p.columns);
            float most = 0;
            for (int v = clamp(y - 1, 0, p.rows - 1); v <= clamp(y + 1, 0, p.rows - 1); ++v)
                for (int u = clamp(x - 1, 0, p.columns - 1); u <= clamp(x + 1, 0, p.columns - 1);
                     ++u)
                    most = fmaxf(most, p.other[1ll * v * p.columns + u]);
            sum += moved(most, median);  // which grows with the change
        }
    return 1 - sum / 9;
}

STYLEFORGE_PORTABLE float share_of(const SmoothParams& p, float still) {
    return 1 - fminf(p.amount, 1.f) * kMaxHistoryWeight * still;
}

// Whether this frame begins a new stream: there is none before it, or most cells moved.
STYLEFORGE_PORTABLE bool begins(const SmoothParams& p) {
    const float count = static_cast<float>(p.rows) * p.columns;
    return p.first || p.state[kStill] / kStillOne < (1 - kSceneCutFraction) * count;
}

STYLEFORGE_PORTABLE int to_short(float value) {
    return clamp(static_cast<int>(rintf(value)), -32768, 32767);
}

// A pixel of the smoothed result.
STYLEFORGE_PORTABLE void smooth_pixel(const SmoothParams& p, int row, int column) {
    const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
    const LinearTaps across = linear_taps(source_of(column, p.width, p.columns), p.columns);
    const auto weight = [&](int i, int j) {
        return rintf(p.share[1ll * i * p.columns + j] * kWeightOne);
    };
    const float share = between(down, across, weight(down.first, across.first),
                                weight(down.first, across.second),
                                weight(down.second, across.first),
                                weight(down.second, across.second));
    const bool anew = begins(p);
    const long long at = (1ll * row * p.width + column) * 3;
    for (int k = 0; k < 3; ++k) {
        const int target = p.result[at + k] * kResultOne;
        if (anew) {
            p.accumulated[at + k] = static_cast<short>(target);
            p.smoothed[at + k] = p.result[at + k];
            continue;
        }
        const int before = p.accumulated[at + k];
        const int change = clamp(target - before, -32768, 32767);
        const int now = clamp(before + to_short(change * share / kWeightOne), -32768, 32767);
        p.accumulated[at + k] = static_cast<short>(now);
        p.smoothed[at + k] =
            static_cast<uint8_t>(to_byte(fabsf(static_cast<float>(now) / kResultOne)));
    }
}

}  // namespace styleforge
