// Paintings that move with the scene, as in app/engine/post/moving_reference.py, by rows of planes.
#pragma once

#include <cstring>

#include "frames/native/moving.h"
#include "cells.h"
#include "result.h"

namespace styleforge {

// A painting and its source, and how both have moved since.
struct MovablePainting {
    short* pixels;     // [height, width, 3], times kResultOne, and kSpare more
    Plane known;       // its source in gray cells
    Plane x, y, trust; // the motion to the newest frame, and its trust

    static MovablePainting in(Memory& memory, int height, int width, int rows, int columns) {
        MovablePainting one;
        one.pixels = memory.take<short>(3ll * height * width + kSpare);
        for (Plane* each : {&one.known, &one.x, &one.y, &one.trust})
            *each = memory.plane(rows, columns);
        return one;
    }
};

// Computes how far the moved source is from the newest frame, into `change`.
inline void moved_change_row(const Level& level, const Plane& change, int row) {
    const float *right = level.right.row(row), *down = level.down.row(row);
    compare_row(level, 1, row, change.row(row), [=](int at, float now, float moved) {
        return tolerated(fabsf(now - moved), {right[at], down[at]});
    });
    change.mirror(row);
}

// Computes how far the source is from the newest frame if nothing moves, into `change`.
inline void still_change_row(const Level& level, const Plane& change, int row) {
    const float *right = level.right.row(row), *down = level.down.row(row);
    const float *now = level.now.row(row), *known = level.known.row(row);
    float* to = change.row(row);
    for (int at = 0; at < level.now.columns; ++at)
        to[at] = tolerated(fabsf(now[at] - known[at]), {right[at], down[at]});
    change.mirror(row);
}

// Writes the means of a plane over windows around a row of cells.
inline void mean_row(const Plane& from, const Plane& to, int row) {
    constexpr int kSide = 2 * kTrustReach + 1;
    static_assert(kSide == 5 && kTrustReach <= kMargin, "sums are written out");
    const float* lines[kSide];
    for (int i = 0; i < kSide; ++i)
        lines[i] = from.row(reflected_often(row + i - kTrustReach, from.rows));
    float down[kBlock + 2 * kTrustReach];
    for (int begin = 0; begin < from.columns; begin += kBlock) {
        const int size = block_of(from.columns, begin);
        for (int i = 0; i < size + 2 * kTrustReach; ++i) {
            const int at = begin + i - kTrustReach;
            down[i] = lines[0][at] + lines[1][at] + lines[2][at] + lines[3][at] + lines[4][at];
        }
        for (int i = 0; i < size; ++i)
            to.row(row)[begin + i] =
                (down[i] + down[i + 1] + down[i + 2] + down[i + 3] + down[i + 4]) /
                (kSide * kSide);
    }
    to.mirror(row);
}

// Returns how far a cell's motion agrees with the motion of its neighbors.
inline float agreement_of(const Level& level, int row, int column) {
    const int rows = level.now.rows, columns = level.now.columns;
    const int left = clamp(column - 1, 0, columns - 1), right = clamp(column + 1, 0, columns - 1);
    const int above = clamp(row - 1, 0, rows - 1), below = clamp(row + 1, 0, rows - 1);
    float most = 0;
    for (const Plane* each : {&level.x[1], &level.y[1]}) {
        most = greatest(most, fabsf(each->row(row)[right] - each->row(row)[left]) / 2);
        most = greatest(most, fabsf(each->row(below)[column] - each->row(above)[column]) / 2);
    }
    return least(greatest((kTorn - most) / (kTorn - kWhole), 0.f), 1.f);
}

// Computes trust and gain of a row from the mean changes with and without the motion.
inline void trust_row(const Level& level, const Plane& moved, const Plane& still,
                      const Plane& trust, const Plane& gain, int row) {
    const float *with = moved.row(row), *without = still.row(row);
    float *trusted = trust.row(row), *gained = gain.row(row);
    for (int at = 0; at < trust.columns; ++at) {
        trusted[at] = trust_of(with[at]) * agreement_of(level, row, at);
        gained[at] = gain_of(without[at], with[at]);
    }
    trust.mirror(row), gain.mirror(row);
}

inline bool shows_another_scene(const Plane& trust) {
    double sum = 0;  // in one order, for the same bits on any number of threads
    for (int row = 0; row < trust.rows; ++row)
        for (int column = 0; column < trust.columns; ++column) sum += trust.row(row)[column];
    return sum < kSameTrust * trust.rows * trust.columns;
}

// Multiplies the motion by its trust and gain, and stores motion and trust in the painting. `share`
// is 0 to ignore them.
inline void trusted_row(const Level& level, const Plane& trust, const Plane& gain, float share,
                        const MovablePainting& to, int row) {
    const float *x = level.x[1].row(row), *y = level.y[1].row(row);
    const float *each = trust.row(row), *gained = gain.row(row);
    for (int column = 0; column < trust.columns; ++column) {
        const float certain = each[column] * share, counts = certain * gained[column];
        to.x.row(row)[column] = x[column] * counts;
        to.y.row(row)[column] = y[column] * counts;
        to.trust.row(row)[column] = certain;
    }
}

// Moves a painting, or two that mix, to the newest frame.
struct MovedPicture {
    const MovablePainting* newest;
    const MovablePainting* before;  // or null
    float before_share;             // of the earlier painting, where its motion is certain
    uint8_t* shown;                 // [height, width, 3]
    int height, width;
    ColumnTaps taps;                // from cells to pixels
    const CubicTable* table;
};

// A painting's motion along rows of a block of columns, and its pixels there.
class MovedRows {
  public:
    MovedRows(const MovedPicture& p, const MovablePainting& painting, int begin, int size)
        : place_{painting.pixels, nullptr, nullptr, nullptr, p.height, p.width, painting.x,
                 painting.y, painting.trust, p.taps, p.table},
          xs_(painting.x, p.taps, begin, size), ys_(painting.y, p.taps, begin, size),
          begin_(begin), size_(size) {}

    const short* row(int row, const LinearTaps& down) {
        const float wide = static_cast<float>(place_.width) / place_.x.columns;
        const float tall = static_cast<float>(place_.height) / place_.x.rows;
        float x[kBlock], y[kBlock];
        xs_.between(down, wide, x), ys_.between(down, tall, y);
        return moved_part(place_, row, begin_, size_, x, y, moved_);
    }

  private:
    const Accumulated place_;
    EnlargedRows xs_, ys_;
    int begin_, size_;
    short moved_[3 * kBlock];
};

STYLEFORGE_INLINE uint8_t byte_of(float value) {  // times kResultOne
    return static_cast<uint8_t>(to_byte(value / kResultOne));
}

inline void shown_rows(const MovedPicture& p, int first_row, int end_row) {
    const Plane& cells = p.newest->x;
    const MovablePainting& other = p.before == nullptr ? *p.newest : *p.before;
    float share[kBlock];
    for (int begin = 0; begin < p.width; begin += kBlock) {
        const int size = block_of(p.width, begin);
        MovedRows newest(p, *p.newest, begin, size), before(p, other, begin, size);
        EnlargedRows trust(other.trust, p.taps, begin, size);
        for (int row = first_row; row < end_row; ++row) {
            const LinearTaps down = linear_taps(source_of(row, p.height, cells.rows), cells.rows);
            const short* now = newest.row(row, down);
            uint8_t* to = p.shown + 3 * (1ll * row * p.width + begin);
            if (p.before == nullptr) {
                for (int i = 0; i < 3 * size; ++i) to[i] = byte_of(now[i]);
                continue;
            }
            const short* earlier = before.row(row, down);
            trust.between(down, p.before_share, share);
            for (int i = 0; i < size; ++i)
                for (int k = 3 * i; k < 3 * i + 3; ++k) {
                    to[k] = byte_of(now[k] + (earlier[k] - now[k]) * share[i]);
                }
        }
    }
}

// The last two paintings of a stream.
struct Mover {
    struct Left {
        int newest;    // which of two paintings
        int paintings; // how many there are: 0, 1 or 2
        int shown;     // frames since the newest painting
    };
    Left* left;
    CubicTable* table;
    ColumnTaps taps;
    MovablePainting paintings[2];
    Plane colors[3], change, trust[2], gain[2];
    Pyramid pyramid;
    int64_t bytes;

    Mover(void* memory, int height, int width) {
        Memory parts(memory);
        const int rows = cells_along(height), columns = cells_along(width);
        left = parts.take<Left>(1), table = parts.take<CubicTable>(1);
        taps = ColumnTaps::in(parts, width);
        for (MovablePainting& each : paintings)
            each = MovablePainting::in(parts, height, width, rows, columns);
        for (Plane* each : {&colors[0], &colors[1], &colors[2], &change, &trust[0], &trust[1],
                            &gain[0], &gain[1]})
            *each = parts.plane(rows, columns);
        pyramid = Pyramid::in(parts, rows, columns);
        bytes = parts.used();
    }

    // Initializes the memory of a stream.
    void begin(int width) const {
        *left = {};
        table->fill();
        taps.fill(width, colors[0].columns);
        pyramid.fill_taps();
    }

    void gray_cells(const Picture& source, const Plane& gray, int64_t threads) const {
        parallel_rows(gray.rows, gray.columns, threads, [&](int row) {
            newest_row(source, colors, row), gray_row(colors, gray, row);
        });
    }

    // Finds the motion of a painting's source to the newest frame, whose cells are in the pyramid.
    void follow(const MovablePainting& painting, int64_t threads) const {
        const Level& level = pyramid.levels[0];
        const auto every = [&](auto each) {
            parallel_rows(level.now.rows, level.now.columns, threads, each);
        };
        every([&](int row) {
            std::memcpy(level.known.row(row), painting.known.row(row),
                        level.known.columns * sizeof(float));
            level.known.mirror(row);
        });
        find_motion(pyramid.levels, pyramid.count, threads);
        every([&](int row) { moved_change_row(level, change, row); });
        every([&](int row) { mean_row(change, trust[1], row); });
        every([&](int row) { still_change_row(level, change, row); });
        every([&](int row) { mean_row(change, gain[1], row); });
        every([&](int row) { trust_row(level, trust[1], gain[1], trust[0], gain[0], row); });
        every([&](int row) { mean_row(trust[0], trust[1], row), mean_row(gain[0], gain[1], row); });
        every([&](int row) { mean_row(trust[1], trust[0], row), mean_row(gain[1], gain[0], row); });
        const float share = shows_another_scene(trust[0]) ? 0.f : 1.f;
        every([&](int row) { trusted_row(level, trust[0], gain[0], share, painting, row); });
    }
};

}  // namespace styleforge
