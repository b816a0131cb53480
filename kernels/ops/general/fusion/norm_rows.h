// Row norms on the CPU: the moments of rows, their outputs, and their gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "norm_parts.h"
#include "include/cpu/sums.h"
#include "include/cpu/vector_math.h"

namespace styleforge {
namespace fusion {

struct Moments {
    float mean, inverse;
    void store(float* to) const { to[0] = mean, to[1] = inverse; }
};

// Returns the moments of a row whose sum is known.
inline Moments moments_from(double sum, const float* x, int64_t width, bool centered, double eps) {
    const double count = static_cast<double>(width);
    const float mean = centered ? static_cast<float>(sum / count) : 0.f;
    const double squares = sum_of(width, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    return {mean, static_cast<float>(1 / std::sqrt(squares / count + eps))};
}

inline Moments moments_of(const float* x, int64_t width, bool centered, double eps) {
    const double sum = centered ? sum_of(width, [&](int64_t i) { return x[i]; }) : 0;
    return moments_from(sum, x, width, centered, eps);
}

template <typename Activation, typename Y>
void normalize(const float* __restrict x, Moments of, const float* __restrict weight,
               const float* __restrict bias, Y* __restrict y, int64_t width) {
    for (int64_t i = 0; i < width; ++i) {
        const float normed = (x[i] - of.mean) * of.inverse;
        y[i] = Y(Activation::template value<VectorMath>(normed * weight[i] + bias[i]));
    }
}

// Stores x + y, rounded, to `total`, and returns it in FP32: `total` itself or `sum`.
template <typename T>
const float* add_rows(const T* __restrict x, const T* __restrict y, T* __restrict total,
                      float* __restrict sum, float* __restrict other, int64_t width) {
    if constexpr (std::is_same<T, float>::value) {
        for (int64_t i = 0; i < width; ++i) total[i] = x[i] + y[i];
        return total;
    } else if constexpr (std::is_same<T, InLoops<T>>::value) {
        for (int64_t i = 0; i < width; ++i) {
            total[i] = T(static_cast<float>(x[i]) + static_cast<float>(y[i]));
            sum[i] = static_cast<float>(total[i]);
        }
        return sum;
    } else {
        widen_row(sum, x, width);
        widen_row(other, y, width);
        for (int64_t i = 0; i < width; ++i) sum[i] += other[i];
        narrow_row(total, sum, width);
        widen_row(sum, total, width);
        return sum;
    }
}

// Like `normalize`, but bypasses the caches, for rows that can be streamed; prefetches `next_x`.
template <typename Activation>
void stream_normalized(const float* x, Moments of, const float* weight, const float* bias,
                       float* y, int64_t width, const float* next_x) {
    alignas(64) float piece[kPiece];
    for (int64_t i = 0; i < width; i += kPiece) {
        prefetch(next_x + i);
        normalize<Activation>(x + i, of, weight + i, bias + i, piece, kPiece);
        stream(y + i, piece);
    }
}

// Stores x + y to `total`, bypassing the caches, and to `sum`. Returns the sum of the elements, in
// the order of `sum_of`. Prefetches `next_y`.
inline STYLEFORGE_APART double stream_sum(const float* __restrict x, const float* __restrict y,
                                   float* __restrict sum, float* __restrict total, int64_t width,
                                   const float* next_y) {
    static_assert(kPiece % kSumLanes == 0 && kSumTerms % kPiece == 0, "lanes fill pieces");
    double found = 0;
    for (int64_t begin = 0; begin < width; begin += kSumTerms) {
        const int64_t end = width - begin < kSumTerms ? width : begin + kSumTerms;
        float lanes[kSumLanes] = {};
        for (int64_t i = begin; i < end; i += kPiece) {
            prefetch(next_y + i);
            for (int64_t at = i; at < i + kPiece; at += kSumLanes)
                for (int64_t k = 0; k < kSumLanes; ++k) {
                    const float made = x[at + k] + y[at + k];
                    sum[at + k] = made;
                    lanes[k] += made;
                }
            stream(total + i, sum + i);
        }
        found += joined(lanes);
    }
    return found;
}

// Computes the products of the gradient past the activation and the weight, and returns their
// means. Adds to the sums of both parameters and prefetches `next_x`. Not inlined, since compilers
// lose the no-alias information of inlined pointers and compare all of them every few elements.
template <typename Activation, typename R, typename T>
STYLEFORGE_APART Means parameters_gradient(const R* __restrict grad, const float* __restrict x,
                                           Moments of, const float* __restrict weight,
                                           const float* __restrict bias,
                                           float* __restrict of_weight, float* __restrict of_bias,
                                           float* __restrict inner, int64_t width,
                                           const T* next_x) {
    double sum = 0, product = 0;
    for (int64_t begin = 0; begin < width; begin += kSumTerms) {
        const int64_t end = width - begin < kSumTerms ? width : begin + kSumTerms;
        float sums[kSumLanes] = {}, products[kSumLanes] = {};
        const auto element = [&](int64_t i, int64_t k) {
            const float normed = (x[i] - of.mean) * of.inverse;
            const float g = Activation::template gradient<VectorMath>(
                static_cast<float>(grad[i]), normed * weight[i] + bias[i]);
            const float made = g * weight[i];
            of_weight[i] += g * normed;
            of_bias[i] += g;
            inner[i] = made;
            sums[k] += made;
            products[k] += made * normed;
        };
        int64_t i = begin;
        for (; i + kSumLanes <= end; i += kSumLanes) {
            if (i % kPiece == 0) prefetch_row(next_x + i, kPiece);
            for (int64_t k = 0; k < kSumLanes; ++k) element(i + k, k);
        }
        for (int64_t k = 0; i + k < end; ++k) element(i + k, k);
        sum += joined(sums);
        product += joined(products);
    }
    const double count = static_cast<double>(width);
    return {static_cast<float>(sum / count), static_cast<float>(product / count)};
}

// out = added + inverse * (inner - means.inner - normed * means.product).
template <typename R>
void row_gradient(const float* __restrict inner, const float* __restrict x, Moments of, Means means,
                  const R* __restrict added, R* __restrict out, int64_t width) {
    const float scale = -of.inverse * of.inverse * means.product;
    const auto own = [&](int64_t i) {
        return of.inverse * (inner[i] - means.inner) + scale * (x[i] - of.mean);
    };
    if (added != nullptr)
        for (int64_t i = 0; i < width; ++i) out[i] = R(own(i) + static_cast<float>(added[i]));
    else
        for (int64_t i = 0; i < width; ++i) out[i] = R(own(i));
}

// Like `row_gradient`, but bypasses the caches, for rows that can be streamed; prefetches
// `next_grad`, and the row after `added`.
template <typename T>
void stream_gradient(const float* inner, const float* x, Moments of, Means means,
                     const float* added, float* out, int64_t width, const T* next_grad) {
    alignas(64) float piece[kPiece];
    for (int64_t i = 0; i < width; i += kPiece) {
        prefetch_row(next_grad + i, kPiece);
        if (added != nullptr) prefetch_row(added + width + i, kPiece);
        row_gradient(inner + i, x + i, of, means, added ? added + i : added, piece, kPiece);
        stream(out + i, piece);
    }
}

}  // namespace fusion
}  // namespace styleforge
