// Sums over the windows around cells or pixels, in the order of mean_row in smoothing/moving.h:
// columns first.
#pragma once

#include "sampling.h"

namespace styleforge {

constexpr int kTrustReach = 2;      // cells of a window on each side of its center

// Calls `values(at, some)` for each place of the window around a place, mirrored at the edges of the
// plane, and writes the sums of the values that it sets in `some`.
template <int kReach, int kNumber, typename Values>
STYLEFORGE_PORTABLE void sums_around(int row, int column, int rows, int columns,
                                     float (&sums)[kNumber], const Values& values) {
    constexpr int kSide = 2 * kReach + 1;
    STYLEFORGE_UNROLL
    for (int k = 0; k < kNumber; ++k) sums[k] = 0;
    STYLEFORGE_UNROLL
    for (int j = 0; j < kSide; ++j) {
        const int across = reflected_often(column + j - kReach, columns);
        float down[kNumber] = {};
        STYLEFORGE_UNROLL
        for (int i = 0; i < kSide; ++i) {
            float some[kNumber];
            values(1ll * reflected_often(row + i - kReach, rows) * columns + across, some);
            STYLEFORGE_UNROLL
            for (int k = 0; k < kNumber; ++k) down[k] += some[k];
        }
        STYLEFORGE_UNROLL
        for (int k = 0; k < kNumber; ++k) sums[k] += down[k];
    }
}

// The means over the window of 5x5 places.
template <int kNumber, typename Values>
STYLEFORGE_PORTABLE void window_means(int row, int column, int rows, int columns,
                                      float (&means)[kNumber], const Values& values) {
    sums_around<kTrustReach>(row, column, rows, columns, means, values);
    constexpr int kSide = 2 * kTrustReach + 1;
    STYLEFORGE_UNROLL
    for (int k = 0; k < kNumber; ++k) means[k] /= kSide * kSide;
}

}  // namespace styleforge
