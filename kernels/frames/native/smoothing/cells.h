// Smoothing on the means of cells, as in smooth.h, by rows of planes.
#pragma once

#include <atomic>

#include "frames/native/smooth.h"
#include "motion.h"

namespace styleforge {

// The planes of a stream, in cells.
struct Cells {
    Plane known[3];             // the accumulated source
    Plane newest[3], moved[3];  // the newest frame, and the motion-compensated known source
    Plane difference[3];        // between them
    Plane change, other;        // see SmoothParams
    Plane differ;               // 0 for noise, 1 for a real change
    Plane share, weight;        // of the new result, and the same times kWeightOne
    std::atomic<unsigned>* counts;  // [kBins]

    static Cells in(Memory& memory, int rows, int columns) {
        Cells cells;
        for (auto* three : {&cells.known, &cells.newest, &cells.moved, &cells.difference})
            for (Plane& each : *three) each = memory.plane(rows, columns);
        for (Plane* each : {&cells.change, &cells.other, &cells.differ, &cells.share, &cells.weight})
            *each = memory.plane(rows, columns);
        cells.counts = memory.take<std::atomic<unsigned>>(kBins);
        return cells;
    }
};

// Means of a row of cells.
inline void newest_row(const Picture& source, const Plane (&newest)[3], int row) {
    const int rows = newest[0].rows, columns = newest[0].columns;
    float *red = newest[0].row(row), *green = newest[1].row(row), *blue = newest[2].row(row);
    if (source.height != 2 * rows || source.width != 2 * columns) {
        for (int column = 0; column < columns; ++column) {
            const Color c = resized(source, row, column, rows, columns);
            red[column] = static_cast<float>(c.r), green[column] = static_cast<float>(c.g);
            blue[column] = static_cast<float>(c.b);
        }
        return;
    }
    const uint8_t* upper = source.pixels + 6ll * row * source.width;
    const uint8_t* lower = upper + 3ll * source.width;
    const auto mean = [&](int at) {  // rounds half up, like `resized`
        return static_cast<float>((upper[at] + upper[at + 3] + lower[at] + lower[at + 3] + 2) >> 2);
    };
    for (int column = 0; column < columns; ++column) {
        red[column] = mean(6 * column), green[column] = mean(6 * column + 1);
        blue[column] = mean(6 * column + 2);
    }
}

inline void gray_row(const Plane (&color)[3], const Plane& gray, int row) {
    const float *red = color[0].row(row), *green = color[1].row(row), *blue = color[2].row(row);
    float* to = gray.row(row);
    for (int column = 0; column < gray.columns; ++column)
        to[column] = gray_of(red[column], green[column], blue[column]);
    gray.mirror(row);
}

inline void difference_row(const Cells& cells, const Level& level, int row) {
    const float *x = level.x[1].row(row), *y = level.y[1].row(row);
    MovedPlaces places;
    for (int begin = 0; begin < level.now.columns; begin += kBlock) {
        const int size = block_of(level.now.columns, begin);
        places.find(cells.known[0], x + begin, y + begin, row, begin, size);
        for (int k = 0; k < 3; ++k) {
            const float* newest = cells.newest[k].row(row) + begin;
            float *moved = cells.moved[k].row(row) + begin,
                  *difference = cells.difference[k].row(row) + begin;
            places.sample(cells.known[k], moved, size);
            for (int i = 0; i < size; ++i) difference[i] = newest[i] - moved[i];
        }
    }
    for (const Plane& each : cells.difference) each.mirror(row);
}

// Positive if a cell moves.
STYLEFORGE_INLINE float motion_of(float x, float y) { return fabsf(x) + fabsf(y); }

inline void change_row(const Cells& cells, const Level& level, int row) {
    const int columns = level.now.columns, before = reflected(row - 1, level.now.rows);
    const float *x = level.x[1].row(row), *y = level.y[1].row(row);
    const float *right = level.right.row(row), *down = level.down.row(row);
    float* change = cells.change.row(row);
    const float *above[3], *here[3];
    for (int k = 0; k < 3; ++k)
        above[k] = cells.difference[k].row(before), here[k] = cells.difference[k].row(row);
    const float *a0 = above[0], *a1 = above[1], *a2 = above[2];
    const float *h0 = here[0], *h1 = here[1], *h2 = here[2];
    const auto mean = [](const float* a, const float* h, int i) {
        return fabsf((a[i - 1] + a[i] + h[i - 1] + h[i]) / 4);
    };
    for (int i = 0; i < columns; ++i) {
        const float most =
            greatest(greatest(greatest(0.f, mean(a0, h0, i)), mean(a1, h1, i)), mean(a2, h2, i));
        const float less = tolerated(most, {right[i], down[i]});
        change[i] = motion_of(x[i], y[i]) > 0 ? less : most;
    }
    cells.change.mirror(row);
}

// Sum of the 3x3 window around a column.
STYLEFORGE_INLINE float nine(const float* above, const float* here, const float* below, int i) {
    return (above[i - 1] + here[i - 1] + below[i - 1]) + (above[i] + here[i] + below[i]) +
           (above[i + 1] + here[i + 1] + below[i + 1]);
}

// Counts the changes of some rows, and writes the mean of the changes around each cell to `other`.
inline void around_rows(const Cells& cells, const Level& level, int begin, int end) {
    const int rows = level.now.rows, columns = level.now.columns;
    unsigned counts[kBins] = {};
    for (int row = begin; row < end; ++row) {
        const float *above = cells.change.row(reflected(row - 1, rows)),
                    *here = cells.change.row(row),
                    *below = cells.change.row(reflected(row + 1, rows));
        const float *x = level.x[1].row(row), *y = level.y[1].row(row);
        float* other = cells.other.row(row);
        int bins[kBlock];
        for (int first = 0; first < columns; first += kBlock) {
            const int last = first + block_of(columns, first);
            for (int i = first; i < last; ++i) {
                const float mean = nine(above, here, below, i) / 9;
                bins[i - first] = noise_bin(mean);
                const float to_x = i + x[i], to_y = row + y[i];
                const bool outside = (to_x < 0) | (to_y < 0) | (to_x > columns - 1) |
                                     (to_y > rows - 1);
                other[i] = outside ? kElsewhere : mean;
            }
            for (int i = first; i < last; ++i) ++counts[bins[i - first]];
        }
        cells.other.extend(row);
    }
    for (int bin = 0; bin < kBins; ++bin)
        if (counts[bin]) cells.counts[bin].fetch_add(counts[bin], std::memory_order_relaxed);
}

// Returns the median: the mean of the two middle values, or the single middle value.
inline float median_change(const Cells& cells, unsigned count) {
    float found[2];
    for (int which = 0; which < 2; ++which) {
        unsigned left = which ? count / 2 : (count - 1) / 2;
        int bin = 0;
        for (unsigned here; left >= (here = cells.counts[bin].load(std::memory_order_relaxed)); ++bin)
            left -= here;
        found[which] = noise_of_bin(bin);
    }
    return (found[0] + found[1]) / 2;
}

inline void differ_row(const Cells& cells, float median, int row) {
    const int rows = cells.other.rows;
    const float *above = cells.other.row(clamp(row - 1, 0, rows - 1)), *here = cells.other.row(row),
                *below = cells.other.row(clamp(row + 1, 0, rows - 1));
    float* differ = cells.differ.row(row);
    const auto most = [&](int i) { return greatest(greatest(above[i], here[i]), below[i]); };
    for (int i = 0; i < cells.other.columns; ++i)
        differ[i] = differs(greatest(greatest(most(i - 1), most(i)), most(i + 1)), median);
    cells.differ.mirror(row);
}

// Computes the shares of a row, and returns the sum of `same`, times kStillOne.
inline int64_t share_row(const Cells& cells, const Level& level, float amount, int row) {
    const int rows = cells.differ.rows;
    const float *above = cells.differ.row(reflected(row - 1, rows)), *here = cells.differ.row(row),
                *below = cells.differ.row(reflected(row + 1, rows));
    const float *x = level.x[1].row(row), *y = level.y[1].row(row);
    float *share = cells.share.row(row), *weight = cells.weight.row(row);
    const float most = history_weight(amount), moving = least(most, kMaxMovingWeight);
    int sum = 0;
    for (int i = 0; i < cells.differ.columns; ++i) {
        const float same = 1 - nine(above, here, below, i) / 9;
        const float kept = motion_of(x[i], y[i]) > 0 ? moving : most;
        sum += static_cast<int>(rintf(same * kStillOne));
        share[i] = 1 - kept * same;
        weight[i] = rintf(share[i] * kWeightOne);
    }
    return sum;
}

inline void accumulate_row(const Cells& cells, int row) {
    const float* share = cells.share.row(row);
    for (int k = 0; k < 3; ++k) {
        const float *moved = cells.moved[k].row(row), *newest = cells.newest[k].row(row);
        float* known = cells.known[k].row(row);
        for (int i = 0; i < cells.share.columns; ++i)
            known[i] = moved[i] + share[i] * (newest[i] - moved[i]);
    }
}

inline double correlation_of(const Level& level) {
    unsigned long long sums[kSums] = {};
    for (int row = 0; row < level.now.rows; ++row)
        for (int i = 0; i < level.now.columns; ++i) {
            const unsigned a = to_byte(level.now.row(row)[i]), b = to_byte(level.known.row(row)[i]);
            sums[kNow] += a, sums[kKnown] += b;
            sums[kNowNow] += a * a, sums[kKnownKnown] += b * b, sums[kNowKnown] += a * b;
        }
    return correlation(sums, 1ll * level.now.rows * level.now.columns);
}

}  // namespace styleforge
