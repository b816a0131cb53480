// Norms joined with what surrounds them, and their gradients, on the CPU: layer and RMS norms of
// rows, and the affine step, ReLU and gradient of a batch norm.
//
// A row is read from memory once and stays in the first caches. Arithmetic is in FP32. Sums over
// rows are taken by parts of a fixed size, so that the number of threads changes no bit.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "../include/cpu/buffer.h"
#include "../include/cpu/export.h"
#include "../include/cpu/gelu_slope.h"
#include "../include/cpu/pages.h"
#include "../include/cpu/parallel.h"
#include "../include/cpu/streams.h"
#include "../include/cpu/sums.h"
#include "../include/cpu/vector_math.h"
#include "../include/cpu/with_type.h"
#include "../include/fusion/activations.h"

namespace {

using namespace styleforge;
using namespace styleforge::fusion;

constexpr int64_t kSerialElements = 1 << 14;  // below, waking a thread takes longer than its work

int64_t threads_for(int64_t elements, int64_t threads) {
    return elements < kSerialElements ? 1 : threads;
}

int64_t bytes_of(int64_t type, int64_t elements) {
    return elements * static_cast<int64_t>(type == 0 ? sizeof(float) : sizeof(Half));
}

// A row is read at once and then taken several times, so that loads of the next one would begin late:
// they are begun while this one is computed, of one tensor after another, as memory takes them.
template <typename T>
STYLEFORGE_INLINE void prefetch_row(const T* from, int64_t count) {
    constexpr int64_t kStep = kPiece * static_cast<int64_t>(sizeof(float) / sizeof(T));
    for (int64_t i = 0; i < count; i += kStep) prefetch(from + i);
}

struct Moments {
    float mean, inverse;
    void store(float* to) const { to[0] = mean, to[1] = inverse; }
};

// Of a row whose sum is known.
Moments moments_from(double sum, const float* x, int64_t width, bool centered, double eps) {
    const double count = static_cast<double>(width);
    const float mean = centered ? static_cast<float>(sum / count) : 0.f;
    const double squares = sum_of(width, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); });
    return {mean, static_cast<float>(1 / std::sqrt(squares / count + eps))};
}

Moments moments_of(const float* x, int64_t width, bool centered, double eps) {
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

// x + y, rounded, into `total`; gives these in FP32, where they lie or in `sum`.
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

// The same past the caches, of rows that can be streamed; begins to load `next_x`.
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

// x + y into `total`, past the caches, and into `sum`; gives the sum of these, in the order of
// `sum_of`. Begins to load `next_y`.
STYLEFORGE_APART double stream_sum(const float* __restrict x, const float* __restrict y,
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

// What the gradient of a row subtracts: the means of `inner` and of its products with the norm.
struct Means {
    float inner, product;
};

// The products of what comes through the activation and the weight, and their means; adds to the
// sums of both parameters, and begins to load `next_x`. Apart, since of pointers that are inlined
// compilers forget that they lie apart, and compare all of them for every few elements.
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

// The same past the caches, of rows that can be streamed; begins to load `next_grad`.
template <typename T>
void stream_gradient(const float* inner, const float* x, Moments of, Means means,
                     const float* added, float* out, int64_t width, const T* next_grad) {
    alignas(64) float piece[kPiece];
    for (int64_t i = 0; i < width; i += kPiece) {
        prefetch_row(next_grad + i, kPiece);
        row_gradient(inner + i, x + i, of, means, added ? added + i : added, piece, kPiece);
        stream(out + i, piece);
    }
}

// What channels are normed by, and their parameters.
struct Channels {
    const float *mean, *inverse, *weight, *bias;
};

// Adds to the sums of channels that lie together: as styleforge_channels_sums in fusion.cu.
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

// Calls `use(at, count, c, last)` for runs of elements from `at` on: one channel each, or with
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

constexpr int64_t kBlock = 1024;  // elements of a run at a time

// `use(k, c)` for elements k of a block; apart, so that a channel's numbers stay in registers.
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

// What a channel's elements are normed by, and its parameters.
struct Channel {
    float mean, inverse, weight, bias;

    Channel(const Channels& of, int64_t c)
        : mean(of.mean[c]), inverse(of.inverse[c]), weight(of.weight[c]), bias(of.bias[c]) {}
};

// Sums of terms and of their products with the norm.
struct Sums {
    double product = 0, sum = 0;
};

// Adds those of elements of a channel, at most kSumTerms: of what comes through ReLU, or of the
// norm. Begins to load as many from `next_grad` and `next_x` on.
template <bool kOfGradients, typename R>
STYLEFORGE_APART void add_plane(const R* __restrict grad, const R* __restrict x, Channel of,
                                int64_t count, const R* next_grad, const R* next_x, Sums& to) {
    float sums[kSumLanes] = {}, products[kSumLanes] = {};
    const auto element = [&](int64_t i, int64_t k) {
        const float normed = (static_cast<float>(x[i]) - of.mean) * of.inverse;
        const float term =
            kOfGradients ? elementwise::relu_gradient(static_cast<float>(grad[i]),
                                                      normed * of.weight + of.bias)
                         : normed;
        sums[k] += term;
        products[k] += term * normed;
    };
    int64_t i = 0;
    for (; i + kSumLanes <= count; i += kSumLanes) {
        if (i % kPiece == 0) {
            if (kOfGradients) prefetch_row(next_grad + i, kPiece);
            prefetch_row(next_x + i, kPiece);
        }
        for (int64_t k = 0; k < kSumLanes; ++k) element(i + k, k);
    }
    for (int64_t k = 0; i + k < count; ++k) element(i + k, k);
    to.sum += joined(sums);
    to.product += joined(products);
}

// The sums of a plane of a channel, of the norm where `grad` is null; the plane that is taken after it
// lies `next` elements further.
template <typename T>
void add_planes(const T* grad, const T* x, Channel of, int64_t inner, int64_t next, Sums& to) {
    using R = InLoops<T>;
    constexpr int64_t kRun = std::is_same<T, R>::value ? kSumTerms : kBlock;
    float wide[kBlock], of_y[kBlock];
    for (int64_t i = 0; i < inner; i += kRun) {
        const int64_t size = inner - i < kRun ? inner - i : kRun;
        const R* const v = in_loops(x + i, wide, size);
        const R* const g = grad ? in_loops(grad + i, of_y, size) : v;
        const auto add = grad ? add_plane<true, R> : add_plane<false, R>;
        constexpr bool kDirect = std::is_same<T, R>::value;
        add(g, v, of, size, kDirect ? g + next : g, kDirect ? v + next : v, to);
    }
}

// The gradient of elements of a channel; `means` are over the batch, of what comes through ReLU and
// of its products with the norm.
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

}  // namespace

// As styleforge_row_norm in fusion.cu; weight and bias are FP32 and never null.
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

// As styleforge_row_norm_backward in fusion.cu; partial is [parts, 2, width] and never null.
STYLEFORGE_EXPORT int styleforge_row_norm_backward_cpu(
    int64_t threads, const void* grad, const void* added, const void* x, const float* weight,
    const float* bias, const float* statistics, void* dx, float* partial, int64_t type,
    int64_t activation, int64_t rows, int64_t width, int64_t parts, int centered) {
    std::atomic<int> failed{0};
    // Apart by other than a power of two: loads do not wait for stores to the same places of other
    // pages.
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
            if (added != nullptr) prefetch_row(static_cast<const T*>(added) + at, width);
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

// As styleforge_channels_relu in fusion.cu.
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

// partial: as of styleforge_channels_sums in fusion.cu, [samples, 2, channels], of each sample, or
// with inner 1 [parts, 2, channels], of each part of the samples.
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

// As styleforge_channels_gradient in fusion.cu.
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

// Sums and gradient of channels one after another. Each stays in a core's caches, so that memory is
// read once. sums: [2, channels], the gradients of weight and bias; inner is above 1.
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
        using R = InLoops<T>;
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
        alignas(64) float wide[kBlock], of_y[kBlock], made[kBlock];
        for (int64_t at = 0; at < count; at += apart)
            each_block(inner, [&](int64_t begin, int64_t size) {
                const R* const v = in_loops(from + at + begin, wide, size);
                const R* const g = in_loops(given + at + begin, of_y, size);
                T* const place = to + at + begin;
                if constexpr (std::is_same<T, float>::value) {
                    for (int64_t k = 0; streams && k < size; k += kPiece) {
                        plane_gradient(g + k, v + k, of, means, made, kPiece);
                        stream(place + k, made);
                    }
                    if (streams) return;
                }
                R* const out = loops_place(place, made);
                plane_gradient(g, v, of, means, out, size);
                put_from_loops(place, out, size);
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
