// Winograd's minimal filtering (Lavin and Gray, 2016, arXiv:1509.09308).
//
// F(M, R) computes M outputs of a filter of R taps with M + R - 1 products. It transforms the
// input, multiplies, and transforms the products to the outputs. kernels/network/cpu/weights.py
// transforms the weights, at the same points.
//
// A transform reads and writes vectors at a stride. In two dimensions, it runs over the columns of
// a tile and then over the rows.
#pragma once

#include "vectors.h"

namespace styleforge::network {

// F(4, 3) at 0, +-a, +-b and infinity. Because a * b = 1, the numbers of a tile keep their size.
// The rounding error is therefore a third of the error at +-1 and +-2.
struct F43 {
    static constexpr int kOutputs = 4, kSide = 6;
    static constexpr float a = 0.70710678118654752f, b = 1.41421356237309505f;
    static constexpr float a2 = 0.5f, b2 = 2.0f, a3 = a * a2, b3 = b * b2;

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void input(const V* x, V* to) {
        const V x0 = x[0], x1 = x[From], x2 = x[2 * From], x3 = x[3 * From], x4 = x[4 * From];
        const V even_a = fma(-b2, x2, x4), odd_a = fma(-b2, x1, x3);
        const V even_b = fma(-a2, x2, x4), odd_b = fma(-a2, x1, x3);
        to[0] = fma(-(a2 + b2), x2, x0 + x4);
        to[To] = fma(a, odd_a, even_a);
        to[2 * To] = fma(-a, odd_a, even_a);
        to[3 * To] = fma(b, odd_b, even_b);
        to[4 * To] = fma(-b, odd_b, even_b);
        to[5 * To] = fma(-(a2 + b2), x3, x1 + x[5 * From]);
    }

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void output(const V* m, V* to) {
        const V sum_a = m[From] + m[2 * From], difference_a = m[From] - m[2 * From];
        const V sum_b = m[3 * From] + m[4 * From], difference_b = m[3 * From] - m[4 * From];
        to[0] = m[0] + sum_a + sum_b;
        to[To] = fma(a, difference_a, b * difference_b);
        to[2 * To] = fma(a2, sum_a, b2 * sum_b);
        to[3 * To] = fma(a3, difference_a, fma(b3, difference_b, m[5 * From]));
    }
};

// F(4, 2) at +-a, +-b and infinity. Among small fractions, these have the smallest rounding error.
struct F42 {
    static constexpr int kOutputs = 4, kSide = 5;
    static constexpr float a = 0.5f, b = 1.25f, a2 = a * a, b2 = b * b, a3 = a * a2, b3 = b * b2;

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void input(const V* x, V* to) {
        const V x0 = x[0], x1 = x[From], x2 = x[2 * From], x3 = x[3 * From];
        const V even_a = fma(-b2, x0, x2), odd_a = fma(-b2, x1, x3);
        const V even_b = fma(-a2, x0, x2), odd_b = fma(-a2, x1, x3);
        to[0] = fma(a, even_a, odd_a);
        to[To] = fma(-a, even_a, odd_a);
        to[2 * To] = fma(b, even_b, odd_b);
        to[3 * To] = fma(-b, even_b, odd_b);
        to[4 * To] = fma(a2 * b2, x0, fma(-(a2 + b2), x2, x[4 * From]));
    }

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void output(const V* m, V* to) {
        const V sum_a = m[0] + m[From], difference_a = m[0] - m[From];
        const V sum_b = m[2 * From] + m[3 * From], difference_b = m[2 * From] - m[3 * From];
        to[0] = sum_a + sum_b;
        to[To] = fma(a, difference_a, b * difference_b);
        to[2 * To] = fma(a2, sum_a, b2 * sum_b);
        to[3 * To] = fma(a3, difference_a, fma(b3, difference_b, m[4 * From]));
    }
};

// A filter of three taps with stride 2. Its outer taps read every second pixel: they are F(3, 2) at
// 0, +-1 and infinity. The middle tap multiplies the pixels between them.
struct Halved {
    static constexpr int kOutputs = 3, kSide = 7;

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void input(const V* x, V* to) {
        const V x1 = x[2 * From], x2 = x[4 * From];
        to[0] = x2 - x[0];
        to[To] = x2 + x1;
        to[2 * To] = x2 - x1;
        to[3 * To] = x[6 * From] - x1;
        to[4 * To] = x[From];
        to[5 * To] = x[3 * From];
        to[6 * To] = x[5 * From];
    }

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void output(const V* m, V* to) {
        const V sum = m[From] + m[2 * From], difference = m[From] - m[2 * From];
        to[0] = (m[0] + sum) + m[4 * From];
        to[To] = difference + m[5 * From];
        to[2 * To] = (m[3 * From] + sum) + m[6 * From];
    }
};

// F(3, 3) at the points of F42. Neighboring filters share their transformed inputs.
struct F33 {
    static constexpr int kOutputs = 3, kSide = F42::kSide;

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void input(const V* x, V* to) {
        F42::input<From, To>(x, to);
    }

    template <int From, int To, typename V>
    STYLEFORGE_INLINE static void output(const V* m, V* to) {
        constexpr float a = F42::a, b = F42::b;
        const V sum_a = m[0] + m[From], difference_a = m[0] - m[From];
        const V sum_b = m[2 * From] + m[3 * From], difference_b = m[2 * From] - m[3 * From];
        to[0] = sum_a + sum_b;
        to[To] = fma(a, difference_a, b * difference_b);
        to[2 * To] = fma(F42::a2, sum_a, fma(F42::b2, sum_b, m[4 * From]));
    }
};

// Transforms a tile's products, one per position, to its outputs.
template <class F>
STYLEFORGE_INLINE void transform_back(const float* from, int64_t position, Vector* to) {
    constexpr int kOutputs = F::kOutputs, kSide = F::kSide;
    Vector half[kOutputs * kSide];
#pragma GCC unroll 7
    for (int j = 0; j < kSide; ++j) {
        Vector products[kSide];
#pragma GCC unroll 7
        for (int i = 0; i < kSide; ++i) products[i] = load(from + (i * kSide + j) * position);
        F::template output<1, kSide>(products, half + j);
    }
#pragma GCC unroll 7
    for (int i = 0; i < kOutputs; ++i)
        F::template output<1, 1>(half + i * kSide, to + i * kOutputs);
}

// Calls `use(i, j)` for the pixels of a tile. Unrolls the loops if the tile is whole.
template <int kOutputs, typename F>
STYLEFORGE_INLINE void for_each_pixel(int top, int bottom, int left, int right, const F& use) {
    if (top == 0 && left == 0 && bottom == kOutputs && right == kOutputs) {
#pragma GCC unroll 7
        for (int i = 0; i < kOutputs; ++i)
#pragma GCC unroll 7
            for (int j = 0; j < kOutputs; ++j) use(i, j);
        return;
    }
    for (int i = top; i < bottom; ++i)
        for (int j = left; j < right; ++j) use(i, j);
}

}  // namespace styleforge::network
