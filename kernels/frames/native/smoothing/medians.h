// The median of the 5x5 window around each pixel of a row. Columns, which neighboring windows
// share, are sorted first, then rows of five. Of 25 values sorted both ways, 12 cannot be the
// median.
#pragma once

#include "include/common/exact.h"
#include "include/cpu/inline.h"
#include "planes.h"

namespace styleforge {

STYLEFORGE_INLINE void sort(float& a, float& b) {
    const float low = least(a, b), high = greatest(a, b);
    a = low, b = high;
}

// Moves the minimum to the front and the maximum to the end.
STYLEFORGE_INLINE void ends(float& a, float& b, float& c) { sort(a, b), sort(b, c), sort(a, b); }

STYLEFORGE_INLINE void ends(float& a, float& b, float& c, float& d) {
    sort(a, b), sort(c, d), sort(a, c), sort(b, d);
}

STYLEFORGE_INLINE void ends(float& a, float& b, float& c, float& d, float& e) {
    sort(a, b), sort(d, e), sort(a, d), sort(b, e), sort(a, c), sort(c, e);
}

STYLEFORGE_INLINE void ends(float& a, float& b, float& c, float& d, float& e, float& f) {
    sort(a, d), sort(b, e), sort(c, f), sort(a, b), sort(a, c), sort(e, f), sort(d, f);
}

STYLEFORGE_INLINE void ends(float& a, float& b, float& c, float& d, float& e, float& f, float& g) {
    sort(a, e), sort(b, f), sort(c, g), sort(a, b), sort(a, c), sort(a, d);
    sort(f, g), sort(e, g), sort(d, g);
}

STYLEFORGE_INLINE void ends(float& a, float& b, float& c, float& d, float& e, float& f, float& g,
                            float& h) {
    sort(a, e), sort(b, f), sort(c, g), sort(d, h);
    sort(a, b), sort(c, d), sort(a, c), sort(e, f), sort(g, h), sort(f, h);
}

STYLEFORGE_INLINE void sort_five(float& a, float& b, float& c, float& d, float& e) {
    sort(a, b), sort(d, e), sort(c, e), sort(c, d), sort(b, e);
    sort(a, d), sort(a, c), sort(b, d), sort(b, c);
}

// Median of 13 values. Among more than half of them, the minimum and the maximum cannot be the
// median.
STYLEFORGE_INLINE float median_of(float a, float b, float c, float d, float e, float f, float g,
                                  float h, float i, float j, float k, float l, float m) {
    ends(a, b, c, d, e, f, g, h);
    ends(i, b, c, d, e, f, g);
    ends(j, b, c, d, e, f);
    ends(k, b, c, d, e);
    ends(l, b, c, d);
    ends(m, b, c);
    return b;
}

// Medians of `count` pixels of a row; `rows` are the five rows around it, with filled margins.
inline void median_row(const float* const (&rows)[5], float* median, int count) {
    float sorted[5][kBlock + 4];
    for (int begin = 0; begin < count; begin += kBlock) {
        const int size = block_of(count, begin);
        const float *r0 = rows[0] + begin - 2, *r1 = rows[1] + begin - 2, *r2 = rows[2] + begin - 2,
                    *r3 = rows[3] + begin - 2, *r4 = rows[4] + begin - 2;
        for (int i = 0; i < size + 4; ++i) {
            float a = r0[i], b = r1[i], c = r2[i], d = r3[i], e = r4[i];
            sort_five(a, b, c, d, e);
            sorted[0][i] = a, sorted[1][i] = b, sorted[2][i] = c, sorted[3][i] = d, sorted[4][i] = e;
        }
        float* to = median + begin;
        for (int i = 0; i < size; ++i) {
            float a, b, c, d, e;
            const auto load = [&](int row) {
                const float* at = sorted[row] + i;
                a = at[0], b = at[1], c = at[2], d = at[3], e = at[4];
            };
            // Of the five smallest, only the largest two can be the median; of the next five, the
            // largest three.
            load(0), ends(a, b, c, d, e);
            const float a0 = greatest(greatest(b, c), d), a1 = e;
            load(1), ends(a, b, c, d, e), sort(b, c), sort(b, d);
            const float b0 = c, b1 = d, b2 = e;
            load(2), ends(a, b, c, d, e);
            const float c0 = b, c1 = c, c2 = d;
            load(3), ends(a, b, c, d, e), sort(c, d), sort(b, d);
            const float d0 = a, d1 = b, d2 = c;
            load(4), ends(a, b, c, d, e);
            const float e0 = a, e1 = least(least(b, c), d);
            to[i] = median_of(a0, a1, b0, b1, b2, c0, c1, c2, d0, d1, d2, e0, e1);
        }
    }
}

}  // namespace styleforge
