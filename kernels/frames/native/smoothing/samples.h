// The positions to which a block of columns moves, and samples of planes there, as in `sampled` of
// flow.h.
#pragma once

#include "frames/native/flow.h"
#include "planes.h"

namespace styleforge {

struct MovedPlaces {
    int above_left[kBlock], above_right[kBlock], below_left[kBlock], below_right[kBlock];
    float down[kBlock], across[kBlock];  // shares of the second row and column

    // `x` and `y` are motions of the columns of a row, starting at `begin`; all planes have the
    // layout of `plane`.
    void find(const Plane& plane, const float* x, const float* y, int row, int begin, int size) {
        const int stride = static_cast<int>(plane.stride);
        const int rows = plane.rows, columns = plane.columns;
        for (int i = 0; i < size; ++i) {
            const LinearTaps lines = edge_taps(row + y[i], rows);
            const LinearTaps taps = edge_taps(begin + i + x[i], columns);
            above_left[i] = lines.first * stride + taps.first;
            above_right[i] = lines.first * stride + taps.second;
            below_left[i] = lines.second * stride + taps.first;
            below_right[i] = lines.second * stride + taps.second;
            down[i] = lines.share, across[i] = taps.share;
        }
    }

    void sample(const Plane& plane, float* to, int size) const {
        const float* values = plane.values;
        for (int i = 0; i < size; ++i)
            to[i] = interpolated({0, 0, down[i]}, {0, 0, across[i]}, values[above_left[i]],
                                 values[above_right[i]], values[below_left[i]],
                                 values[below_right[i]]);
    }
};

}  // namespace styleforge
