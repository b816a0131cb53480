// Pictures that are mixed by a matte, as in app/engine/matting/reference.py, by blocks of columns.
#pragma once

#include "frames/native/matting.h"
#include "channels.h"
#include "enlarged.h"
#include "sliding.h"

namespace styleforge {

// Mixes a painting with its frame by a matte.
struct MattedPicture {
    const uint8_t *painted, *frame;  // [height, width, 3]
    Plane slope, base;
    uint8_t* mixed;  // [height, width, 3]
    int height, width, swapped;
};

// Rows of a plane along a block of columns of a picture, which may be larger.
class FittedRows {
  public:
    FittedRows(const Plane& plane, const ColumnTaps& taps, Columns block, int rows, int columns)
        : plane_(plane), same_(plane.rows == rows && plane.columns == columns), rows_(rows),
          begin_(block.begin), enlarged_(plane, taps, 0, block.size()) {}

    STYLEFORGE_INLINE const float* row(int at) {
        if (same_) return plane_.row(at) + begin_;
        enlarged_.between(lines_of(plane_, at, rows_), 1.f, values_);
        return values_;
    }

  private:
    const Plane& plane_;
    bool same_;
    int rows_, begin_;
    EnlargedRows enlarged_;
    float values_[kBlock];
};

// Mixes a block of a row, with the luma of its `frame` in `gray`.
inline void mix_block(const float* slope, const float* base, const float* gray, bool swapped,
                      const uint8_t* frame, const uint8_t* painted, int size, uint8_t* mixed) {
    const float start = swapped ? 1.f : 0.f, turn = swapped ? -1.f : 1.f;
    float here[kBlock], shares[3 * kBlock];
    for (int i = 0; i < size; ++i) here[i] = start + turn * clipped(slope[i] * gray[i] + base[i]);
    for (int i = 0; i < size; ++i)
        shares[3 * i] = shares[3 * i + 1] = shares[3 * i + 2] = here[i];
    for (int i = 0; i < 3 * size; ++i) {
        const float there = frame[i], made = painted[i];
        mixed[i] = static_cast<uint8_t>(
            static_cast<int>(rintf(there + (made - there) * shares[i])));
    }
}

inline void mix_rows(const MattedPicture& p, int first_row, int end_row) {
    int first[kBlock], second[kBlock];
    float share[kBlock], seen[3][kBlock], gray[kBlock];
    const ColumnTaps taps = {first, second, share};
    for (int begin = 0; begin < p.width; begin += kBlock) {
        const Columns block = {begin, begin + block_of(p.width, begin)};
        for (int i = 0; i < block.size(); ++i) {
            const float at = source_of(begin + i, p.width, p.slope.columns);
            const LinearTaps tap = linear_taps(at, p.slope.columns);
            first[i] = tap.first, second[i] = tap.second, share[i] = tap.share;
        }
        FittedRows slopes(p.slope, taps, block, p.height, p.width),
            bases(p.base, taps, block, p.height, p.width);
        for (int row = first_row; row < end_row; ++row) {
            const int64_t from = 3 * (1ll * row * p.width + begin);
            divide(p.frame + from, block.size(), seen), lumas(seen, block.size(), gray);
            mix_block(slopes.row(row), bases.row(row), gray, p.swapped, p.frame + from,
                      p.painted + from, block.size(), p.mixed + from);
        }
    }
}

}  // namespace styleforge
