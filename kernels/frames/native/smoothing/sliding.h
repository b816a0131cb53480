// Windows that slide down a block of columns, whose newest rows stay in a buffer on the stack.
#pragma once

#include "planes.h"

namespace styleforge {

// Columns from `begin` until before `end`, perhaps beyond the edges of the picture.
struct Columns {
    int begin, end;

    int size() const { return end - begin; }
    Columns with(int reach) const { return {begin - reach, end + reach}; }
    Columns within(int columns) const {
        return {begin > 0 ? begin : 0, end < columns ? end : columns};
    }
};

// Fills `values` of the columns `all` that are beyond the edges: they mirror the picture.
inline void mirror(float* values, Columns all, int columns) {
    const Columns there = all.within(columns);
    const auto fill = [&](int begin, int end) {
        for (int at = begin; at < end; ++at)
            values[at - all.begin] = values[reflected_often(at, columns) - all.begin];
    };
    fill(all.begin, there.begin), fill(there.end, all.end);
}

// Calls `make(row)` for the rows that windows with a `reach` around the rows from `first` to `end`
// read, and `use(row)` for each of these rows once its window is made.
template <typename Make, typename Use>
void slide(int first, int end, int reach, int rows, const Make& make, const Use& use) {
    const int from = first > reach ? first - reach : 0;
    const int last = end + reach < rows ? end + reach : rows;
    for (int row = from; row < end + reach; ++row) {
        if (row < last) make(row);
        if (row - reach >= first) use(row - reach);
    }
}

// The newest rows of a window with a reach, along a block of columns.
template <int kReach>
struct Window {
    static constexpr int kSide = 2 * kReach + 1;
    float values[kSide][kBlock + 2 * kReach];

    float* row(int at) { return values[at % kSide]; }
    void around(int at, int rows, const float* (&lines)[kSide]) {
        for (int i = 0; i < kSide; ++i) lines[i] = row(reflected_often(at + i - kReach, rows));
    }
};

}  // namespace styleforge
