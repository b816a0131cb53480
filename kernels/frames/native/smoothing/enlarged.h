// Bilinear enlargement of planes, as in enlarged_flow, one row of a block of columns at a time.
#pragma once

#include "frames/native/guided.h"
#include "planes.h"

namespace styleforge {

// The taps of every column of an enlarged plane.
struct ColumnTaps {
    int *first, *second;
    float* share;  // of the second

    static ColumnTaps in(Memory& memory, int columns) {
        return {memory.take<int>(columns), memory.take<int>(columns), memory.take<float>(columns)};
    }

    void fill(int columns, int from) const {
        for (int column = 0; column < columns; ++column) {
            const LinearTaps taps = linear_taps(source_of(column, columns, from), from);
            first[column] = taps.first, second[column] = taps.second, share[column] = taps.share;
        }
    }
};

// The rows of a plane that are mixed in a row of the enlarged plane.
inline LinearTaps lines_of(const Plane& plane, int row, int height) {
    return linear_taps(source_of(row, height, plane.rows), plane.rows);
}

// The rows of a plane around a block of columns of the enlarged plane. Callers request rows from
// top to bottom, so that each is enlarged along the block only once.
class EnlargedRows {
  public:
    EnlargedRows(const Plane& plane, const ColumnTaps& taps, int begin, int columns)
        : plane_(plane), taps_(taps), begin_(begin), columns_(columns) {}

    // Interpolates between two rows, with the second's `share`, and multiplies by `scale`.
    void between(const LinearTaps& rows, float scale, float* to) {
        const float *upper = row(rows.first), *lower = row(rows.second);
        for (int i = 0; i < columns_; ++i)
            to[i] = (upper[i] + (lower[i] - upper[i]) * rows.share) * scale;
    }

  private:
    const float* row(int at) {
        float* values = values_[at & 1];
        if (rows_[at & 1] == at) return values;
        rows_[at & 1] = at;
        const float *from = plane_.row(at), *share = taps_.share + begin_;
        const int *first = taps_.first + begin_, *second = taps_.second + begin_;
        for (int i = 0; i < columns_; ++i) {
            const float left = from[first[i]];
            values[i] = left + (from[second[i]] - left) * share[i];
        }
        return values;
    }

    const Plane& plane_;
    const ColumnTaps& taps_;
    int begin_, columns_, rows_[2] = {-1, -1};
    float values_[2][kBlock];
};

}  // namespace styleforge
