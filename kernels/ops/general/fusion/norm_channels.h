// Channel norms on the CPU: the sums of channels, and the gradients of planes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops/general/elementwise/functors.h"
#include "norm_parts.h"
#include "include/cpu/parallel.h"
#include "include/cpu/sums.h"

namespace styleforge {
namespace fusion {

// The statistics and parameters of channels.
struct Channels {
    const float *mean, *inverse, *weight, *bias;
};

// Adds to the sums of adjacent channels, like styleforge_channels_sums in fusion.cu.
template <bool kOfGradients, typename R>
void add_to_channels(const R* __restrict grad, const R* __restrict x,
                     const float* __restrict mean, const float* __restrict inverse,
                     const float* __restrict weight, const float* __restrict bias,
                     float* __restrict of_weight, float* __restrict of_bias, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
        const float normed = (static_cast<float>(x[k]) - mean[k]) * inverse[k];
        const float term =
            kOfGradients ? elementwise::relu_gradient(static_cast<float>(grad[k]),
                                                      normed * weight[k] + bias[k])
                         : normed;
        of_weight[k] += term * normed;
        of_bias[k] += term;
    }
}

// Calls `use(at, count, c, last)` for runs of elements starting at `at`: one channel each, or with
// inner 1 all channels, one after another.
template <typename Use>
void each_run(int64_t samples, int64_t channels, int64_t inner, int64_t threads, const Use& use) {
    const bool last = inner == 1;
    const int64_t runs = last ? samples : samples * channels, length = last ? channels : inner;
    parallel_for(runs, threads_for(samples * channels * inner, threads),
                 [&](int64_t begin, int64_t end) {
        for (int64_t run = begin; run < end; ++run)
            use(run * length, length, last ? 0 : run % channels, last);
    });
}

constexpr int64_t kBlock = 1024;  // elements of a run per step

// Calls `use(k, c)` for the elements k of a block. Separate loops keep a channel's numbers in
// registers.
template <typename Use>
void each_element(int64_t count, int64_t c, bool last, const Use& use) {
    if (last)
        for (int64_t k = 0; k < count; ++k) use(k, c + k);
    else
        for (int64_t k = 0; k < count; ++k) use(k, c);
}

template <typename Use>
void each_block(int64_t count, const Use& use) {
    for (int64_t i = 0; i < count; i += kBlock) use(i, count - i < kBlock ? count - i : kBlock);
}

// The statistics and parameters of one channel.
struct Channel {
    float mean, inverse, weight, bias;

    Channel(const Channels& of, int64_t c)
        : mean(of.mean[c]), inverse(of.inverse[c]), weight(of.weight[c]), bias(of.bias[c]) {}
};

// Calls `use` with the number of accumulators for planes of `inner` elements: few for a small
// plane, where joining them takes longer than the sums.
template <typename Use>
void with_lanes(int64_t inner, const Use& use) {
    if (inner < 4 * kSumLanes) return use(std::integral_constant<int64_t, 8>());
    use(std::integral_constant<int64_t, kSumLanes>());
}

// Sums of terms, and of their products with the norm.
struct Sums {
    double product = 0, sum = 0;
};

// Adds the terms of at most kSumTerms elements of a channel: the gradient past ReLU, or the normed
// input. Prefetches as many elements from `next_grad` and `next_x`.
template <bool kOfGradients, int64_t kLanes, typename R>
STYLEFORGE_APART void add_plane(const R* __restrict grad, const R* __restrict x, Channel of,
                                int64_t count, const R* next_grad, const R* next_x, Sums& to) {
    float sums[kLanes] = {}, products[kLanes] = {};
    const auto element = [&](int64_t i, float& sum, float& product) {
        const float normed = (static_cast<float>(x[i]) - of.mean) * of.inverse;
        const float term =
            kOfGradients ? elementwise::relu_gradient(static_cast<float>(grad[i]),
                                                      normed * of.weight + of.bias)
                         : normed;
        sum += term;
        product += term * normed;
    };
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        if (kLanes == kSumLanes && i % kPiece == 0) {
            if (kOfGradients) prefetch_row(next_grad + i, kPiece);
            prefetch_row(next_x + i, kPiece);
        }
        for (int64_t k = 0; k < kLanes; ++k) element(i + k, sums[k], products[k]);
    }
    // Separate accumulators, so that the lanes stay in registers.
    float sum = 0, product = 0;
    for (; i < count; ++i) element(i, sum, product);
    to.sum += joined(sums) + sum;
    to.product += joined(products) + product;
}

// Adds the sums of a channel's plane, or the sums of its norm if `grad` is null. The next plane to
// process starts `next` elements further on.
template <typename T>
void add_planes(const T* grad, const T* x, Channel of, int64_t inner, int64_t next, Sums& to) {
    using R = InLoops<T>;
    constexpr int64_t kRun = std::is_same<T, R>::value ? kSumTerms : kBlock;
    float wide[kBlock], of_y[kBlock];
    for (int64_t i = 0; i < inner; i += kRun) {
        const int64_t size = inner - i < kRun ? inner - i : kRun;
        const R* const v = in_loops(x + i, wide, size);
        const R* const g = grad ? in_loops(grad + i, of_y, size) : v;
        constexpr bool kDirect = std::is_same<T, R>::value;
        const R *const next_g = kDirect ? g + next : g, *const next_v = kDirect ? v + next : v;
        with_lanes(inner, [&](auto lanes) {
            constexpr int64_t kLanes = decltype(lanes)::value;
            const auto add = grad ? add_plane<true, kLanes, R> : add_plane<false, kLanes, R>;
            add(g, v, of, size, next_g, next_v, to);
        });
    }
}

// Computes a plane block by block. `compute(begin, out, count)` computes elements from `begin` on.
// If `streams`, which requires FP32 planes of whole pieces, the stores bypass the caches.
template <typename T, typename Compute>
void make_plane(T* to, int64_t inner, bool streams, const Compute& compute) {
    alignas(64) float made[kBlock];
    each_block(inner, [&](int64_t begin, int64_t size) {
        if constexpr (std::is_same<T, float>::value) {
            for (int64_t k = begin; streams && k < begin + size; k += kPiece) {
                compute(k, made, kPiece);
                stream(to + k, made);
            }
            if (streams) return;
        }
        auto* const out = loops_place(to + begin, made);
        compute(begin, out, size);
        put_from_loops(to + begin, out, size);
    });
}

// The gradient of elements of a channel; `means` are batch means of the gradient past ReLU and of
// its products with the norm.
template <typename R, typename Out>
STYLEFORGE_APART void plane_gradient(const R* __restrict grad, const R* __restrict x, Channel of,
                                     Means means, Out* __restrict out, int64_t count) {
    const float scale = of.inverse * of.weight;
    for (int64_t k = 0; k < count; ++k) {
        const float normed = (static_cast<float>(x[k]) - of.mean) * of.inverse;
        const float through = elementwise::relu_gradient(static_cast<float>(grad[k]),
                                                         normed * of.weight + of.bias);
        out[k] = Out((through - (means.inner + normed * means.product)) * scale);
    }
}

}  // namespace fusion
}  // namespace styleforge
