// The motion of a scene, as in flow.h, by rows of planes.
#pragma once

#include "frames/native/flow.h"
#include "enlarged.h"
#include "medians.h"
#include "planes.h"
#include "samples.h"

namespace styleforge {

constexpr int kSmallestSide = 8;  // halving stops before a smaller short side

// A pair of gray pictures of one size, and the motion between them.
struct Level {
    Plane now, known;      // levels, 0-255
    Plane right, down;     // slopes of `now`
    Plane wrong;           // see wrong_by
    Plane x[2], y[2];      // the motion; the second plane holds the final result
    ColumnTaps taps;       // from the next smaller size

    static Level in(Memory& memory, int rows, int columns) {
        Level level;
        for (Plane* each : {&level.now, &level.known, &level.right, &level.down, &level.wrong,
                            &level.x[0], &level.x[1], &level.y[0], &level.y[1]})
            *each = memory.plane(rows, columns);
        level.taps = ColumnTaps::in(memory, columns);
        return level;
    }
};

inline void halve_row(const Plane& large, const Plane& half, int row) {
    const float* lines[5];
    for (int i = 0; i < 5; ++i) lines[i] = large.row(reflected(2 * row + i - 2, large.rows));
    const float *a = lines[0], *b = lines[1], *c = lines[2], *d = lines[3], *e = lines[4];
    float down[2 * kBlock + 4];
    for (int begin = 0; begin < half.columns; begin += kBlock) {
        const int size = block_of(half.columns, begin);
        const int from = 2 * begin - 2;
        for (int i = 0; i < 2 * size + 3; ++i)
            down[i] = gauss(a[from + i], b[from + i], c[from + i], d[from + i], e[from + i]);
        float* to = half.row(row) + begin;
        for (int i = 0; i < size; ++i) {
            const float* at = down + 2 * i;
            to[i] = gauss(at[0], at[1], at[2], at[3], at[4]) / 256;
        }
    }
    half.mirror(row);
}

inline void slopes_row(const Level& level, int row) {
    const int rows = level.now.rows;
    const float *above = level.now.row(reflected(row - 1, rows)), *here = level.now.row(row),
                *below = level.now.row(reflected(row + 1, rows));
    float *right = level.right.row(row), *down = level.down.row(row);
    for (int column = 0; column < level.now.columns; ++column) {
        const Flow slope = slopes_between(above, here, below, column - 1, column, column + 1);
        right[column] = slope.x, down[column] = slope.y;
    }
    level.right.mirror(row), level.down.mirror(row);
}

// Initializes the motion from the next smaller size.
inline void enlarge_row(const Level& level, const Level& coarse, int row) {
    const int rows = level.now.rows, columns = level.now.columns;
    const LinearTaps taps = linear_taps(source_of(row, rows, coarse.now.rows), coarse.now.rows);
    const float wide = static_cast<float>(columns) / coarse.now.columns;
    const float tall = static_cast<float>(rows) / coarse.now.rows;
    for (int begin = 0; begin < columns; begin += kBlock) {
        const int size = block_of(columns, begin);
        EnlargedRows x(coarse.x[1], level.taps, begin, size), y(coarse.y[1], level.taps, begin, size);
        x.between(taps, wide, level.x[0].row(row) + begin);
        y.between(taps, tall, level.y[0].row(row) + begin);
    }
}

// Samples the known levels along a row where planes `known` move them, and stores `each` of a
// column, the newest level and the known one.
template <typename F>
void compare_row(const Level& level, int known, int row, float* to, const F& each) {
    const float *x = level.x[known].row(row), *y = level.y[known].row(row);
    const float* now = level.now.row(row);
    MovedPlaces places;
    float moved[kBlock];
    for (int begin = 0; begin < level.now.columns; begin += kBlock) {
        const int size = block_of(level.now.columns, begin);
        places.find(level.known, x + begin, y + begin, row, begin, size);
        places.sample(level.known, moved, size);
        for (int i = 0, at = begin; i < size; ++i, ++at) to[at] = each(at, now[at], moved[i]);
    }
}

// Computes the inputs of a motion step for a row, from planes `known`.
inline void wrong_row(const Level& level, int known, int row) {
    const float *right = level.right.row(row), *down = level.down.row(row);
    const float *x = level.x[known].row(row), *y = level.y[known].row(row);
    compare_row(level, known, row, level.wrong.row(row), [=](int at, float now, float moved) {
        return wrong_by(now, moved, {right[at], down[at]}, {x[at], y[at]});
    });
    level.wrong.mirror(row), level.x[known].mirror(row), level.y[known].mirror(row);
}

// Column sums of windows, for a block of columns plus the reach of a window on both sides.
struct ColumnSums {
    static constexpr int kTerms = 10, kSize = kBlock + 2 * kFlowReach;
    float terms[kTerms][kSize];
};

STYLEFORGE_INLINE float seven(const float* at) {
    return at[0] + at[1] + at[2] + at[3] + at[4] + at[5] + at[6];
}

// Runs a step: improves the motion from planes `known` into the other planes.
inline void solve_row(const Level& level, int known, int row) {
    constexpr int kSide = 2 * kFlowReach + 1;
    static_assert(kSide == 7 && kFlowReach <= kMargin, "sums are written out");
    const int rows = level.now.rows, columns = level.now.columns;
    const Plane* planes[5] = {&level.right, &level.down, &level.wrong, &level.x[known],
                              &level.y[known]};
    int lines[kSide];
    for (int i = 0; i < kSide; ++i) lines[i] = reflected_often(row + i - kFlowReach, rows);
    ColumnSums sums;
    auto& t = sums.terms;
    for (int begin = 0; begin < columns; begin += kBlock) {
        const int size = block_of(columns, begin);
        for (int i = 0; i < kSide; ++i) {
            const float* at[5];
            for (int k = 0; k < 5; ++k) at[k] = planes[k]->row(lines[i]) + begin - kFlowReach;
            const float *rights = at[0], *downs = at[1], *wrongs = at[2], *xs = at[3], *ys = at[4];
            const auto add = [&](auto sum) {
                for (int j = 0; j < size + 2 * kFlowReach; ++j) {
                    const float right = rights[j], down = downs[j], wrong = wrongs[j];
                    sum(t[0][j], right), sum(t[1][j], down), sum(t[2][j], wrong);
                    sum(t[3][j], right * right), sum(t[4][j], right * down);
                    sum(t[5][j], down * down), sum(t[6][j], right * wrong);
                    sum(t[7][j], down * wrong), sum(t[8][j], xs[j]), sum(t[9][j], ys[j]);
                }
            };
            if (i == 0)
                add([](float& sum, float value) { sum = value; });
            else
                add([](float& sum, float value) { sum += value; });
        }
        float *x = level.x[1 - known].row(row) + begin, *y = level.y[1 - known].row(row) + begin;
        for (int j = 0; j < size; ++j) {
            const Flow flow = solved({seven(t[0] + j), seven(t[1] + j), seven(t[3] + j),
                                      seven(t[4] + j), seven(t[5] + j), seven(t[2] + j),
                                      seven(t[6] + j), seven(t[7] + j), seven(t[8] + j),
                                      seven(t[9] + j)});
            x[j] = flow.x, y[j] = flow.y;
        }
    }
    level.x[1 - known].extend(row), level.y[1 - known].extend(row);
}

// Removes single errors, from the first planes into the second.
inline void median_rows(const Level& level, bool settles, int row) {
    const int rows = level.now.rows, columns = level.now.columns;
    for (const Plane* planes : {level.x, level.y}) {
        const float* lines[5];
        for (int i = 0; i < 5; ++i) lines[i] = planes[0].row(clamp(row + i - 2, 0, rows - 1));
        median_row(lines, planes[1].row(row), columns);
    }
    if (!settles) return;
    float *x = level.x[1].row(row), *y = level.y[1].row(row);
    for (int column = 0; column < columns; ++column) {
        const Flow flow = settled({x[column], y[column]});
        x[column] = flow.x, y[column] = flow.y;
    }
}

// Finds the motion of the first of `count` levels, whose pair is filled in, towards `known`.
inline void find_motion(const Level* levels, int count, int64_t threads) {
    for (int at = 1; at < count; ++at) {
        const Level &large = levels[at - 1], &half = levels[at];
        parallel_rows(half.now.rows, half.now.columns, threads, [&](int row) {
            halve_row(large.now, half.now, row), halve_row(large.known, half.known, row);
        });
    }
    for (int at = count - 1; at >= 0; --at) {
        const Level& level = levels[at];
        const auto every = [&](auto each) {
            parallel_rows(level.now.rows, level.now.columns, threads, each);
        };
        every([&](int row) {
            slopes_row(level, row);
            if (at + 1 < count) {
                enlarge_row(level, levels[at + 1], row);
            } else {
                for (const Plane* each : {&level.x[0], &level.y[0]})
                    for (int i = 0; i < each->columns; ++i) each->row(row)[i] = 0;
            }
            wrong_row(level, 0, row);
        });
        every([&](int row) { solve_row(level, 0, row); });
        every([&](int row) { wrong_row(level, 1, row); });
        every([&](int row) { solve_row(level, 1, row); });
        every([&](int row) { median_rows(level, at == 0, row); });
    }
}

constexpr int kMostLevels = 32;
constexpr int kCell = 2;  // pixels on a side

// Returns the number of cells along an axis.
inline int cells_along(int pixels) { return pixels / kCell > 0 ? pixels / kCell : 1; }

// The sizes at which motion is found, fine to coarse.
struct Pyramid {
    Level levels[kMostLevels];
    int count = 0;

    static Pyramid in(Memory& memory, int rows, int columns) {
        Pyramid pyramid;
        pyramid.levels[pyramid.count++] = Level::in(memory, rows, columns);
        while ((rows < columns ? rows : columns) >= 2 * kSmallestSide) {
            rows = (rows + 1) / 2, columns = (columns + 1) / 2;
            pyramid.levels[pyramid.count++] = Level::in(memory, rows, columns);
        }
        return pyramid;
    }

    void fill_taps() const {
        for (int at = 0; at + 1 < count; ++at)
            levels[at].taps.fill(levels[at].now.columns, levels[at + 1].now.columns);
    }
};

}  // namespace styleforge
