// The accumulated result of a stream, as in smooth_pixel of smooth.h, by blocks of
// columns.
#pragma once

#include "frames/native/smooth.h"
#include "enlarged.h"

namespace styleforge {

// The inputs and outputs of accumulating a frame.
struct Accumulated {
    const short* before;    // [height, width, 3], times kResultOne
    short* now;             // the same; both have kSpare more values at the end
    const uint8_t* result;  // [height, width, 3]
    uint8_t* smoothed;      // [height, width, 3]
    int height, width;
    Plane x, y, weight;     // in cells: their motion, and the weight of the new result
    ColumnTaps taps;        // from cells to pixels
    const struct CubicTable* table;
};

constexpr int kSpare = 16;
constexpr int kPhases = static_cast<int>(kMotionSteps);

// The taps of every possible motion; the column taps are repeated for each channel.
struct CubicTable {
    float rows[kPhases][4], columns[kPhases][16];

    void fill() {
        for (int phase = 0; phase < kPhases; ++phase) {
            const CubicTaps found = cubic_taps(static_cast<float>(phase) / kPhases);
            for (int i = 0; i < 4; ++i) rows[phase][i] = found.taps[i];
            for (int i = 0; i < 16; ++i) columns[phase][i] = i < 12 ? found.taps[i / 3] : 0;
        }
    }
};

// Returns a position in steps, clamped to the same distance from the picture as in moved_result.
STYLEFORGE_INLINE int held(int at, int steps, int size) {
    return clamp(at * kPhases + steps, -4 * kPhases, (size + 4) * kPhases);
}

// Partial sums of a pixel of the earlier result: each value of four columns. Positions are in
// steps.
STYLEFORGE_INLINE void sample_columns(const Accumulated& p, int y, int x, float* sums) {
    const int top = (y >> 5) - 1, left = (x >> 5) - 1;
    static_assert(kPhases == 32, "positions are shifted by 5 bits");
    const float *down = p.table->rows[y & 31], *across = p.table->columns[x & 31];
    if (top >= 0 && top + 3 < p.height && left >= 0 && left + 3 < p.width) {
        const short* at = p.before + 3 * (1ll * top * p.width + left);
        const short *a = at, *b = at + 3ll * p.width, *c = b + 3ll * p.width, *d = c + 3ll * p.width;
        const float t0 = down[0], t1 = down[1], t2 = down[2], t3 = down[3];
        for (int i = 0; i < 16; ++i)
            sums[i] = across[i] * (t0 * a[i] + t1 * b[i] + t2 * c[i] + t3 * d[i]);
    } else {
        const short* lines[4];
        for (int i = 0; i < 4; ++i)
            lines[i] = p.before + 3ll * clamp(top + i, 0, p.height - 1) * p.width;
        for (int i = 0; i < 12; ++i) {
            const int at = 3 * clamp(left + i / 3, 0, p.width - 1) + i % 3;
            sums[i] = across[i] * (down[0] * lines[0][at] + down[1] * lines[1][at] +
                                   down[2] * lines[2][at] + down[3] * lines[3][at]);
        }
    }
}

// Returns the moved earlier result along part of a row; `x` and `y` are motions in pixels.
inline const short* moved_part(const Accumulated& p, int row, int begin, int size, const float* x,
                               const float* y, short* moved) {
    int steps[2][kBlock], any = 0;
    const auto whole = [](float pixels) {  // anything farther is outside every picture
        return static_cast<int>(least(greatest(rintf(pixels * kMotionSteps), -1e6f), 1e6f));
    };
    for (int i = 0; i < size; ++i) {
        steps[0][i] = whole(x[i]), steps[1][i] = whole(y[i]);
        any |= steps[0][i] | steps[1][i];
    }
    const short* still = p.before + 3 * (1ll * row * p.width + begin);
    if (!any) return still;
    float sums[kBlock][16];
    for (int i = 0; i < size; ++i)
        sample_columns(p, held(row, steps[1][i], p.height), held(begin + i, steps[0][i], p.width),
                       sums[i]);
    for (int i = 0; i < size; ++i)
        for (int k = 0; k < 3; ++k) {
            const float* at = sums[i] + k;
            const int sum = to_short(at[0] + at[3] + at[6] + at[9]);
            moved[3 * i + k] = steps[0][i] | steps[1][i] ? static_cast<short>(sum) : still[3 * i + k];
        }
    return moved;
}

inline void smooth_rows(const Accumulated& p, int first_row, int end_row) {
    const int rows = p.x.rows, columns = p.x.columns;
    const float wide = static_cast<float>(p.width) / columns;
    const float tall = static_cast<float>(p.height) / rows;
    float x[kBlock], y[kBlock], share[kBlock], shares[3 * kBlock];
    short moved[3 * kBlock];
    for (int begin = 0; begin < p.width; begin += kBlock) {
        const int size = block_of(p.width, begin);
        EnlargedRows xs(p.x, p.taps, begin, size), ys(p.y, p.taps, begin, size);
        EnlargedRows weights(p.weight, p.taps, begin, size);
        for (int row = first_row; row < end_row; ++row) {
            const LinearTaps down = linear_taps(source_of(row, p.height, rows), rows);
            xs.between(down, wide, x), ys.between(down, tall, y);
            weights.between(down, 1.f, share);
            for (int i = 0; i < size; ++i)
                shares[3 * i] = shares[3 * i + 1] = shares[3 * i + 2] = rintf(share[i]);
            const short* from = moved_part(p, row, begin, size, x, y, moved);
            const int64_t at = 3 * (1ll * row * p.width + begin);
            const uint8_t* result = p.result + at;
            short* now = p.now + at;
            uint8_t* smoothed = p.smoothed + at;
            for (int i = 0; i < 3 * size; ++i) {
                const int sum = accumulated(from[i], result[i], shares[i]);
                now[i] = static_cast<short>(sum), smoothed[i] = static_cast<uint8_t>(shown(sum));
            }
        }
    }
}

}  // namespace styleforge
