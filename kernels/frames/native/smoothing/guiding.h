// The guided filter that gives rough mattes the edges of the frame, as in
// app/engine/matting/reference.py, by blocks of columns.
#pragma once

#include "matting.h"

namespace styleforge {

// Adds the values of a window along a row, or down a column: `value(k)`, in order.
template <int kReach, typename F>
STYLEFORGE_INLINE float summed(const F& value) {
    float sum = value(0);
    for (int k = 1; k < side_of(kReach); ++k) sum += value(k);
    return sum;
}

template <int kReach>
STYLEFORGE_INLINE float along(const float* at) {
    return summed<kReach>([&](int k) { return at[k]; });
}

// Sums of luma and matte, and of their products, over the rows of a window.
struct FitSums {
    static constexpr int kSize = kBlock + 2 * (kFitReach + kMeanReach);
    float luma[kSize], matte[kSize], square[kSize], both[kSize];

    // Adds `size` columns of the rows, to sums from `first`.
    void add(const float* const* lumas, const float* const* mattes, int first, int size) {
        for (int i = 0, to = first; i < size; ++i, ++to) {
            luma[to] = summed<kFitReach>([&](int k) { return lumas[k][i]; });
            matte[to] = summed<kFitReach>([&](int k) { return mattes[k][i]; });
            square[to] = summed<kFitReach>([&](int k) { return lumas[k][i] * lumas[k][i]; });
            both[to] = summed<kFitReach>([&](int k) { return lumas[k][i] * mattes[k][i]; });
        }
    }

    // Fits the matte around `size` columns.
    void fit(int size, float* slope, float* base) const {
        for (int i = 0; i < size; ++i) {
            const MatteSlope fitted =
                fitted_by(along<kFitReach>(luma + i), along<kFitReach>(matte + i),
                          along<kFitReach>(square + i), along<kFitReach>(both + i));
            slope[i] = fitted.slope, base[i] = fitted.base;
        }
    }
};

// Computes the means of the windows around a block of columns from their rows.
inline void mean_lines(const float* const* lines, int size, float* to) {
    float sums[kBlock + 2 * kMeanReach];
    for (int i = 0; i < size + 2 * kMeanReach; ++i)
        sums[i] = summed<kMeanReach>([&](int k) { return lines[k][i]; });
    for (int i = 0; i < size; ++i) to[i] = along<kMeanReach>(sums + i) * share_of(kMeanReach);
}

// Refines a rough matte to `slope` and `base`, all [height, width], in some rows of a block of
// columns.
inline void guide_block(const Matting& m, const float* rough, float* slope, float* base,
                        int first, int end, Columns block) {
    const Columns all = block.with(kMeanReach), fit = all.within(m.width);
    const Columns read = fit.with(kFitReach), there = read.within(m.width);
    Window<kMeanReach> slopes, bases;
    FitSums sums;
    const auto make = [&](int row) {
        const float *lumas[side_of(kFitReach)], *mattes[side_of(kFitReach)];
        for (int i = 0; i < side_of(kFitReach); ++i) {
            const int line = reflected_often(row + i - kFitReach, m.height);
            lumas[i] = m.gray.row(line) + there.begin;
            mattes[i] = rough + 1ll * line * m.width + there.begin;
        }
        sums.add(lumas, mattes, there.begin - read.begin, there.size());
        for (float* each : {sums.luma, sums.matte, sums.square, sums.both})
            mirror(each, read, m.width);
        const int from = fit.begin - all.begin;
        sums.fit(fit.size(), slopes.row(row) + from, bases.row(row) + from);
        mirror(slopes.row(row), all, m.width), mirror(bases.row(row), all, m.width);
    };
    slide(first, end, kMeanReach, m.height, make, [&](int row) {
        const int64_t at = 1ll * row * m.width + block.begin;
        const float* lines[side_of(kMeanReach)];
        slopes.around(row, m.height, lines), mean_lines(lines, block.size(), slope + at);
        bases.around(row, m.height, lines), mean_lines(lines, block.size(), base + at);
    });
}

inline void guide_rows(const Matting& m, const float* rough, float* slope, float* base, int first,
                       int end) {
    for (int begin = 0; begin < m.width; begin += kBlock)
        guide_block(m, rough, slope, base, first, end, {begin, begin + block_of(m.width, begin)});
}

}  // namespace styleforge
