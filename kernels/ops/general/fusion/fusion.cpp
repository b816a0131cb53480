// Norms fused with adjacent operations, and their gradients, on the CPU: layer and RMS norms of
// rows, and the affine step, ReLU and gradient of a batch norm.
//
// A row is read from memory once and stays in the L1 and L2 caches. Arithmetic is in FP32. Sums
// over rows are computed in parts of a fixed size, so the number of threads changes no bit.
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "include/cpu/buffer.h"
#include "include/cpu/export.h"
#include "include/cpu/gelu_slope.h"
#include "norm_channels.h"
#include "norm_rows.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/with_type.h"
#include "activations.h"

using namespace styleforge;
using namespace styleforge::fusion;

// Like styleforge_row_norm in fusion.cu; weight and bias are FP32 and never null.
STYLEFORGE_EXPORT int styleforge_row_norm_cpu(int64_t threads, const void* x, const void* residual,
                                              const float* weight, const float* bias, void* total,
                                              void* y, float* statistics, int64_t type,
                                              int64_t activation, int64_t rows, int64_t width,
                                              int centered, double eps) {
    std::atomic<int> failed{0};
    with_type(type, [&](auto element) {
        using T = decltype(element);
        const int64_t bytes = rows * width * static_cast<int64_t>(sizeof(T));
        ask_for_large_pages(y, bytes);
        if (residual != nullptr) ask_for_large_pages(total, bytes);
        const bool streams = type == 0 && (residual ? 4 : 2) * bytes > kCached &&
                             can_stream(y, width) && can_stream(total, width);
        const auto run = [&](int64_t begin, int64_t end) {
            Buffer<float> buffers(3 * width);
            if (!buffers) {
                failed = 1;
                return;
            }
            float *const first = &buffers[0], *const second = first + width,
                        *const made = second + width;
            for (int64_t row = begin; row < end; ++row) {
                const int64_t at = row * width;
                const T* const from = static_cast<const T*>(x) + at;
                const T* const beside =
                    residual ? static_cast<const T*>(residual) + at : nullptr;
                if constexpr (std::is_same<T, float>::value) {
                    if (streams) {
                        const float* v = from;
                        Moments of;
                        if (residual != nullptr) {
                            const double sum = stream_sum(from, beside, first,
                                                          static_cast<float*>(total) + at, width,
                                                          beside + width);
                            of = moments_from(sum, first, width, centered, eps);
                            v = first;
                        } else {
                            of = moments_of(from, width, centered, eps);
                        }
                        of.store(statistics + 2 * row);
                        with_activation(activation, [&](auto function) {
                            stream_normalized<decltype(function)>(
                                v, of, weight, bias, static_cast<float*>(y) + at, width,
                                from + width);
                        });
                        continue;
                    }
                }
                const float* const v =
                    residual ? add_rows(from, beside, static_cast<T*>(total) + at, first, second,
                                        width)
                             : in_fp32(from, first, width);
                const Moments of = moments_of(v, width, centered, eps);
                of.store(statistics + 2 * row);
                prefetch_row(from + width, width);
                if (residual != nullptr) prefetch_row(beside + width, width);
                T* const to = static_cast<T*>(y) + at;
                InLoops<T>* const out = loops_place(to, made);
                with_activation(activation, [&](auto function) {
                    using Activation = decltype(function);
                    normalize<Activation>(v, of, weight, bias, out, width);
                });
                put_from_loops(to, out, width);
            }
            if (streams) streamed();
        };
        parallel_for(rows, threads_for(rows * width, threads), run);
    });
    return failed;
}

// Like styleforge_row_norm_backward in fusion.cu; partial is [parts, 2, width] and never null.
STYLEFORGE_EXPORT int styleforge_row_norm_backward_cpu(
    int64_t threads, const void* grad, const void* added, const void* x, const float* weight,
    const float* bias, const float* statistics, void* dx, float* partial, int64_t type,
    int64_t activation, int64_t rows, int64_t width, int64_t parts, int centered) {
    std::atomic<int> failed{0};
    // The distance is not a power of two, so that loads do not wait for stores to the same offset
    // in other pages.
    const int64_t apart = width + 48;
    ask_for_large_pages(dx, bytes_of(type, rows * width));
    const auto part_of_rows = [&](int64_t part, auto element, Buffer<float>& buffers) {
        using T = decltype(element);
        using R = InLoops<T>;
        float *const inner = &buffers[0], *const wide = inner + apart, *const of_y = wide + apart,
                    *const more = of_y + apart, *const made = more + apart;
        float *const of_weight = partial + part * 2 * width, *const of_bias = of_weight + width;
        for (int64_t i = 0; i < 2 * width; ++i) of_weight[i] = 0;
        const int64_t moved = rows * width * static_cast<int64_t>((added ? 4 : 3) * sizeof(T));
        const bool streams = type == 0 && moved > kCached && can_stream(dx, width);
        for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
            const int64_t at = row * width;
            const T* const from = static_cast<const T*>(x) + at;
            const T* const given = static_cast<const T*>(grad) + at;
            const float* const v = in_fp32(from, wide, width);
            const R* const g = in_loops(given, of_y, width);
            const Moments of = {statistics[2 * row], statistics[2 * row + 1]};
            Means means;
            with_activation(activation, [&](auto function) {
                using Activation = decltype(function);
                means = parameters_gradient<Activation>(g, v, of, weight, bias, of_weight, of_bias,
                                                        inner, width, from + width);
            });
            if (!centered) means.inner = 0;
            if (added != nullptr && !streams)
                prefetch_row(static_cast<const T*>(added) + at, width);
            const R* const a =
                added ? in_loops(static_cast<const T*>(added) + at, more, width) : nullptr;
            T* const to = static_cast<T*>(dx) + at;
            if constexpr (std::is_same<T, float>::value) {
                if (streams) {
                    stream_gradient(inner, v, of, means, a, to, width, given + width);
                    continue;
                }
            }
            R* const out = loops_place(to, made);
            row_gradient(inner, v, of, means, a, out, width);
            prefetch_row(given + width, width);
            put_from_loops(to, out, width);
        }
        if (streams) streamed();
    };
    with_type(type, [&](auto element) {
        parallel_for(parts, threads_for(rows * width, threads), [&](int64_t begin, int64_t end) {
            Buffer<float> buffers(5 * apart);
            if (!buffers) {
                failed = 1;
                return;
            }
            for (int64_t part = begin; part < end; ++part) part_of_rows(part, element, buffers);
        });
    });
    return failed;
}

// Like styleforge_channels_relu in fusion.cu.
STYLEFORGE_EXPORT int styleforge_channels_relu_cpu(int64_t threads, const void* x,
                                                   const float* mean, const float* inverse,
                                                   const float* weight, const float* bias, void* y,
                                                   int64_t type, int64_t samples, int64_t channels,
                                                   int64_t inner) {
    const Channels of{mean, inverse, weight, bias};
    ask_for_large_pages(y, bytes_of(type, samples * channels * inner));
    with_type(type, [&](auto element) {
        using T = decltype(element);
        each_run(samples, channels, inner, threads, [&](int64_t at, int64_t count, int64_t c,
                                                        bool last) {
            each_block(count, [&](int64_t begin, int64_t size) {
                using R = InLoops<T>;
                float wide[kBlock], made[kBlock];
                const R* const v = in_loops(static_cast<const T*>(x) + at + begin, wide, size);
                T* const to = static_cast<T*>(y) + at + begin;
                R* const out = loops_place(to, made);
                each_element(size, last ? begin : c, last, [&](int64_t k, int64_t channel) {
                    const float scale = of.inverse[channel] * of.weight[channel];
                    const float middle = static_cast<float>(v[k]) - of.mean[channel];
                    out[k] = R(elementwise::relu(middle * scale + of.bias[channel]));
                });
                put_from_loops(to, out, size);
            });
        });
    });
    return 0;
}

// partial: as in styleforge_channels_sums in fusion.cu, [samples, 2, channels], per sample; with
// inner 1 [parts, 2, channels], per part of the samples.
STYLEFORGE_EXPORT int styleforge_channels_sums_cpu(int64_t threads, const void* grad, const void* x,
                                                   const float* mean, const float* inverse,
                                                   const float* weight, const float* bias,
                                                   float* partial, int64_t type, int64_t samples,
                                                   int64_t channels, int64_t inner,
                                                   int64_t parts) {
    const Channels of{mean, inverse, weight, bias};
    const bool last = inner == 1;
    with_type(type, [&](auto element) {
        using T = decltype(element);
        using R = InLoops<T>;
        const T *const from = static_cast<const T*>(x), *const given = static_cast<const T*>(grad);
        // One of `parts` parts of all rows of channels.
        const auto rows = [&](int64_t part) {
            float* const of_weight = partial + part * 2 * channels;
            float* const of_bias = of_weight + channels;
            for (int64_t c = 0; c < 2 * channels; ++c) of_weight[c] = 0;
            for (int64_t row = samples * part / parts; row < samples * (part + 1) / parts; ++row)
                each_block(channels, [&](int64_t begin, int64_t size) {
                    float wide[kBlock], of_y[kBlock];
                    const int64_t at = row * channels + begin;
                    const R* const v = in_loops(from + at, wide, size);
                    const R* const g = given ? in_loops(given + at, of_y, size) : v;
                    const auto add = given ? add_to_channels<true, R> : add_to_channels<false, R>;
                    add(g, v, of.mean + begin, of.inverse + begin, of.weight + begin,
                        of.bias + begin, of_weight + begin, of_bias + begin, size);
                });
        };
        const auto plane = [&](int64_t number) {
            const int64_t c = number % channels, at = number * inner;
            Sums of_plane;
            add_planes(given ? given + at : given, from + at, Channel(of, c), inner, inner,
                       of_plane);
            float* const to = partial + number / channels * 2 * channels + c;
            to[0] = static_cast<float>(of_plane.product);
            to[channels] = static_cast<float>(of_plane.sum);
        };
        const int64_t count = last ? parts : samples * channels;
        parallel_for(count, threads_for(samples * channels * inner, threads),
                     [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) last ? rows(i) : plane(i);
        });
    });
    return 0;
}

// Like styleforge_channels_gradient in fusion.cu.
STYLEFORGE_EXPORT int styleforge_channels_gradient_cpu(
    int64_t threads, const void* grad, const void* x, const float* mean, const float* inverse,
    const float* weight, const float* bias, const float* sums, void* dx, int64_t type,
    int64_t samples, int64_t channels, int64_t inner) {
    const Channels of{mean, inverse, weight, bias};
    const float share = sums ? 1.f / static_cast<float>(samples * inner) : 0.f;
    const float* const of_weight = sums ? sums : mean;
    const float* const of_bias = sums ? sums + channels : mean;
    ask_for_large_pages(dx, bytes_of(type, samples * channels * inner));
    with_type(type, [&](auto element) {
        using T = decltype(element);
        each_run(samples, channels, inner, threads, [&](int64_t at, int64_t count, int64_t c,
                                                        bool last) {
            each_block(count, [&](int64_t begin, int64_t size) {
                using R = InLoops<T>;
                float wide[kBlock], of_y[kBlock], made[kBlock];
                const R* const v = in_loops(static_cast<const T*>(x) + at + begin, wide, size);
                const T* const given = static_cast<const T*>(grad) + at + begin;
                const R* const g = in_loops(given, of_y, size);
                prefetch_row(given + size, size);
                T* const to = static_cast<T*>(dx) + at + begin;
                R* const out = loops_place(to, made);
                each_element(size, last ? begin : c, last, [&](int64_t k, int64_t channel) {
                    const float middle = static_cast<float>(v[k]) - of.mean[channel];
                    const float normed = middle * of.inverse[channel];
                    const float scale = of.weight[channel];
                    const float through = elementwise::relu_gradient(
                        static_cast<float>(g[k]), normed * scale + of.bias[channel]);
                    const float mean_of = (of_bias[channel] + normed * of_weight[channel]) * share;
                    out[k] = R((through - mean_of) * of.inverse[channel] * scale);
                });
                put_from_loops(to, out, size);
            });
        });
    });
    return 0;
}

// Computes the sums and the gradient of one channel after another. Each stays in a core's caches,
// so that memory is read once. sums: [2, channels], the gradients of weight and bias; inner is
// above 1.
STYLEFORGE_EXPORT int styleforge_channels_backward_cpu(
    int64_t threads, const void* grad, const void* x, const float* mean, const float* inverse,
    const float* weight, const float* bias, float* sums, void* dx, int64_t type, int64_t samples,
    int64_t channels, int64_t inner, int training) {
    const Channels all{mean, inverse, weight, bias};
    const int64_t apart = channels * inner, count = samples * apart;
    const double share = training ? 1.0 / static_cast<double>(samples * inner) : 0;
    ask_for_large_pages(dx, bytes_of(type, count));
    const bool streams = type == 0 && can_stream(dx, inner) &&
                         3 * count * static_cast<int64_t>(sizeof(float)) > kCached;
    const auto channel = [&](int64_t c, auto element) {
        using T = decltype(element);
        const T* const from = static_cast<const T*>(x) + c * inner;
        const T* const given = static_cast<const T*>(grad) + c * inner;
        T* const to = static_cast<T*>(dx) + c * inner;
        const Channel of(all, c);
        Sums found;
        for (int64_t at = 0; at < count; at += apart)
            add_planes(given + at, from + at, of, inner, at + apart < count ? apart : 0, found);
        sums[c] = static_cast<float>(found.product);
        sums[channels + c] = static_cast<float>(found.sum);
        const Means means{static_cast<float>(found.sum * share),
                          static_cast<float>(found.product * share)};
        for (int64_t at = 0; at < count; at += apart)
            make_plane(to + at, inner, streams, [&](int64_t begin, auto* out, int64_t size) {
                alignas(64) float wide[kBlock], of_y[kBlock];
                plane_gradient(in_loops(given + at + begin, of_y, size),
                               in_loops(from + at + begin, wide, size), of, means, out, size);
            });
    };
    with_type(type, [&](auto element) {
        parallel_for(channels, threads_for(count, threads), [&](int64_t begin, int64_t end) {
            for (int64_t c = begin; c < end; ++c) channel(c, element);
            if (streams) streamed();
        });
    });
    return 0;
}
