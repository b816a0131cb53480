// Instance norm, residual, ReLU and padding on the CPU: one pass over memory after the statistics.
//
// Statistics of a chunk that fits the L2 cache take two passes, around its first element and then
// around its mean. Chunks are merged by Chan's formula in a fixed order. They depend only on the
// shape, never on the number of threads, so two runs are bit-equal. An output row consists of
// `PixelSpan`s, evenly spaced pixels, so that the interleaved and the plain layout share their
// code.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "include/cpu/buffer.h"
#include "include/cpu/dtypes.h"
#include "include/cpu/export.h"
#include "include/cpu/parallel.h"

// Values that depend only on shapes, strides and options, so that a caller can reuse them.
// on_cpu.py mirrors both structs.
struct StyleforgeInstanceNorm {
    int64_t n, c, h, w;                              // of the result before padding
    int64_t n_stride, c_stride, h_stride, w_stride;  // of the residual, in elements; w or c is dense
    int64_t pad;
    int64_t replicate, interleave, channels_last, relu;  // 0 or 1
    double eps;
};

// x and y are dense, channels last or first; weight and bias are [c], or null. The residual may be
// null.
struct StyleforgeInstanceNormCall {
    int64_t threads;  // maximum
    const StyleforgeInstanceNorm* norm;
    const void *x, *weight, *bias, *residual;
    void* y;
};

namespace {

using styleforge::BFloat16;
using styleforge::Buffer;
using styleforge::Half;
using styleforge::parallel_for;

constexpr int64_t kChunkElements = 1 << 15;  // elements per statistics chunk
constexpr int64_t kLanes = 32;               // accumulators kept in registers
constexpr int64_t kFp32Terms = 64;           // FP32 terms of a sum before it continues in FP64
constexpr int64_t kSerialElements = 1 << 14;  // below this, waking a thread costs more

// Repeats the border.
inline int64_t clamp_index(int64_t i, int64_t size) { return std::clamp<int64_t>(i, 0, size - 1); }

// Reflects at the border without repeating it; `i` is less than `size` away from it.
inline int64_t reflect_index(int64_t i, int64_t size) {
    return size - 1 - std::abs(size - 1 - std::abs(i));
}

struct Plan {
    int64_t n, c, h, w;  // of the result before padding
    int64_t pad;
    bool replicate;
    bool interleave;
    bool relu;
    double eps;
    int64_t threads;  // maximum

    int64_t padded_h() const { return h + 2 * pad; }
    int64_t padded_w() const { return w + 2 * pad; }

    // Returns the index inside [0, size) that padding copies to `i`, which may be outside.
    int64_t border_index(int64_t i, int64_t size) const {
        return replicate ? clamp_index(i, size) : reflect_index(i, size);
    }
};

template <typename T>
struct PixelSpan {
    const T* source;       // first pixel
    int64_t pixel_stride;  // elements between pixels
    int64_t count;
    int64_t first_column;  // of the first pixel in the result
    int64_t column_step;   // columns between pixels in the result
};

// Returns the pixels of row `y` of sample `n` in a channels-last input. Interleaved, that is [n,
// h/2 + 1, w/2 + 1, 4c]: phase (a, b) of pixel (i, j) is at (i + a, j + b).
template <typename T>
int row_spans(const Plan& plan, const T* input, int64_t n, int64_t y, PixelSpan<T> (&spans)[2]) {
    if (!plan.interleave) {
        spans[0] = {input + (n * plan.h + y) * plan.w * plan.c, plan.c, plan.w, 0, 1};
        return 1;
    }
    const int64_t rows = plan.h / 2 + 1, columns = plan.w / 2 + 1, pixel = 4 * plan.c;
    const int64_t a = y % 2, i = y / 2 + a;
    for (int64_t b = 0; b < 2; ++b) {
        const T* first = input + ((n * rows + i) * columns + b) * pixel + (2 * a + b) * plan.c;
        spans[b] = {first, pixel, plan.w / 2, b, 2};
    }
    return 2;
}

// Prefetches pixels that may be past the end: a prefetch cannot fault. The hardware prefetcher only
// follows contiguous memory; on an interleaved input this halves the time.
template <typename T>
inline void prefetch(const PixelSpan<T>& span, const T* x, int64_t width) {
#if defined(__GNUC__)
    if (span.column_step == 1) return;
    const char* line = reinterpret_cast<const char*>(x + 16 * span.pixel_stride);
    for (int64_t byte = 0; byte < width * static_cast<int64_t>(sizeof(T)); byte += 64)
        __builtin_prefetch(line + byte);
#endif
}

// Returns a * b + c, rounded once if the processor supports it.
inline double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__aarch64__)
    return std::fma(a, b, c);
#else
    return a * b + c;
#endif
}

// The moments of a set; `merge` combines two disjoint sets (Chan et al., 1979).
struct WelfordFp64 {
    double count = 0, mean = 0, m2 = 0;

    void merge(const WelfordFp64& other) {
        const double total = count + other.count, delta = other.mean - mean;
        mean += delta * (other.count / total);
        m2 += other.m2 + delta * delta * (count * other.count / total);
        count = total;
    }

    // The same, with the mean's product and sum fused if the processor supports it. In `merge`,
    // fusing is up to the compiler; in a chain of merges, GCC fuses and Clang does not.
    void merge_fused(const WelfordFp64& other) {
        const double start = mean, delta = other.mean - mean;
        merge(other);
        mean = multiply_add(delta, other.count / count, start);
    }
};

// Returns moments from sums of deviations from `center`. It is near the mean, so that the
// correction is small and nothing cancels.
inline WelfordFp64 moments_from_sums(double center, double count, double sum, double squares) {
    return {count, center + sum / count, std::max(0.0, squares - sum * sum / count)};
}

// Adds the deviations of `pixels` pixels from `center`, and their squares, to `sum` and `squares`.
// `lanes` is a compile-time width where possible, and nothing else points to the arrays, so that
// they stay in registers.
template <typename T, typename A, typename Lanes>
inline void add_pixels(const PixelSpan<T>& span, const T* x, int64_t pixels, Lanes lanes,
                       const A* center, double* sum, double* squares) {
    A around[kLanes], partial_sum[kLanes] = {}, partial_squares[kLanes] = {};
    for (int64_t k = 0; k < lanes; ++k) around[k] = center[k];
    const int64_t stride = span.pixel_stride;
    for (int64_t p = 0; p < pixels; ++p, x += stride) {
        prefetch(span, x, lanes);
        for (int64_t k = 0; k < lanes; ++k) {
            const A d = static_cast<A>(x[k]) - around[k];
            partial_sum[k] += d;
            partial_squares[k] += d * d;
        }
    }
    for (int64_t k = 0; k < lanes; ++k) {
        sum[k] += partial_sum[k];
        squares[k] += partial_squares[k];
    }
}

// The moments of `width` (at most kLanes) adjacent channels over rows [y0, y1).
template <typename T, typename A>
void moments_of_rows(const Plan& plan, const T* input, int64_t n, int64_t y0, int64_t y1,
                     int64_t channel, int64_t width, WelfordFp64* moments) {
    PixelSpan<T> spans[2];
    A center[kLanes];
    double sum[kLanes], squares[kLanes];
    const auto sum_over_pixels = [&](auto lanes) {
        std::fill_n(sum, kLanes, 0);
        std::fill_n(squares, kLanes, 0);
        for (int64_t y = y0; y < y1; ++y) {
            const int count = row_spans(plan, input, n, y, spans);
            for (int r = 0; r < count; ++r) {
                const T* x = spans[r].source + channel;
                for (int64_t begin = 0; begin < spans[r].count; begin += kFp32Terms) {
                    const int64_t pixels = std::min(kFp32Terms, spans[r].count - begin);
                    add_pixels<T, A>(spans[r], x, pixels, lanes, center, sum, squares);
                    x += pixels * spans[r].pixel_stride;
                }
            }
        }
    };
    const auto both_passes = [&](auto lanes) {
        const auto count = static_cast<double>((y1 - y0) * plan.w);
        row_spans(plan, input, n, y0, spans);
        const T* first = spans[0].source + channel;
        for (int64_t k = 0; k < lanes; ++k) center[k] = static_cast<A>(first[k]);
        sum_over_pixels(lanes);
        for (int64_t k = 0; k < lanes; ++k) center[k] += static_cast<A>(sum[k] / count);
        sum_over_pixels(lanes);
        for (int64_t k = 0; k < lanes; ++k)
            moments[k] = moments_from_sums(center[k], count, sum[k], squares[k]);
    };
    if (width == kLanes) both_passes(std::integral_constant<int64_t, kLanes>{});
    else both_passes(width);
}

// The second pass for a channel: (x - mean) * scale + bias.
template <typename A>
struct ChannelAffine {
    A mean, scale, bias;
};

template <typename A>
ChannelAffine<A> affine_of(const WelfordFp64& moments, double eps, double weight, double offset) {
    const double factor = weight / std::sqrt(moments.m2 / moments.count + eps);
    const A mean = static_cast<A>(moments.mean);
    // The rounding error of the mean matters if the mean is large relative to the deviation.
    const A bias = static_cast<A>(offset - (moments.mean - mean) * factor);
    return {mean, static_cast<A>(factor), bias};
}

// The same for all channels, with one array per field.
template <typename A>
struct Affine {
    Buffer<A> mean, scale, bias;

    explicit Affine(int64_t size) : mean(size), scale(size), bias(size) {}

    explicit operator bool() const { return mean && scale && bias; }

    void set(int64_t index, const ChannelAffine<A>& channel) {
        mean[index] = channel.mean;
        scale[index] = channel.scale;
        bias[index] = channel.bias;
    }
};

template <typename A>
A parameter_or(const A* parameter, int64_t channel, A otherwise) {
    return parameter ? parameter[channel] : otherwise;
}

// The optional tensor added before the ReLU. Only the innermost dimension is dense.
template <typename T>
struct Residual {
    const T* data;
    int64_t n_stride, c_stride, h_stride, w_stride;

    explicit operator bool() const { return data != nullptr; }
};

// Fills `affine` for n * c channels; returns false if an allocation failed.
template <typename T, typename A>
bool find_affine(const Plan& plan, const T* input, const A* weight, const A* bias,
                 Affine<A>& affine) {
    const int64_t rows = std::max<int64_t>(1, kChunkElements / (plan.w * plan.c));
    const int64_t chunks = (plan.h + rows - 1) / rows;
    Buffer<WelfordFp64> moments(plan.n * chunks * plan.c), total(plan.c);
    if (!moments || !total) return false;
    parallel_for(plan.n * chunks, plan.threads, [&](int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
            const int64_t y0 = index % chunks * rows, y1 = std::min(plan.h, y0 + rows);
            for (int64_t channel = 0; channel < plan.c; channel += kLanes) {
                const int64_t width = std::min(kLanes, plan.c - channel);
                const int64_t to = index * plan.c + channel;
                moments_of_rows<T, A>(plan, input, index / chunks, y0, y1, channel, width,
                                      &moments[to]);
            }
        }
    });
    for (int64_t n = 0; n < plan.n; ++n) {
        for (int64_t c = 0; c < plan.c; ++c) total[c] = WelfordFp64{};
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
            const WelfordFp64* part = &moments[(n * chunks + chunk) * plan.c];
            for (int64_t c = 0; c < plan.c; ++c) total[c].merge(part[c]);
        }
        for (int64_t c = 0; c < plan.c; ++c)
            affine.set(n * plan.c + c,
                       affine_of<A>(total[c], plan.eps, parameter_or<A>(weight, c, 1),
                                    parameter_or<A>(bias, c, 0)));
    }
    return true;
}

// Returns the larger value; written so that a NaN passes through, as in PyTorch's clamp_min.
template <typename A>
inline A clamp_min(A y, A floor) {
    return y < floor ? floor : y;
}

// Makes Clang load and store 16 bytes at a time, in one stream each. A picture that fits no cache
// is bound by memory. With Clang's wider vectors and four streams, its norm took up to a fifth
// longer than with GCC's code; with these it takes as long.
#if defined(__clang__)
#define STYLEFORGE_STREAM \
    _Pragma("clang loop vectorize_width(sizeof(T) == 2 ? 8 : 4) interleave_count(1) unroll(disable)")
#else
#define STYLEFORGE_STREAM
#endif

// Normalizes a pixel's channels. The `__restrict` is on parameters because Clang ignores any other
// and would check for aliasing at run time, for each pixel.
template <typename T, typename A>
inline void normalize_channels(const T* __restrict x, const A* __restrict mean,
                               const A* __restrict scale, const A* __restrict bias, A floor,
                               int64_t count, T* __restrict y) {
    STYLEFORGE_STREAM
    for (int64_t k = 0; k < count; ++k)
        y[k] = static_cast<T>(
            clamp_min((static_cast<A>(x[k]) - mean[k]) * scale[k] + bias[k], floor));
}

// The same with a tensor added before the ReLU.
template <typename T, typename A>
inline void normalize_channels(const T* __restrict x, const A* __restrict mean,
                               const A* __restrict scale, const A* __restrict bias,
                               const T* __restrict addend, A floor, int64_t count,
                               T* __restrict y) {
    STYLEFORGE_STREAM
    for (int64_t k = 0; k < count; ++k)
        y[k] = static_cast<T>(clamp_min((static_cast<A>(x[k]) - mean[k]) * scale[k] + bias[k] +
                                            static_cast<A>(addend[k]),
                                        floor));
}

template <typename T, typename A>
void normalize_channels_last(const Plan& plan, const T* input, const Affine<A>& affine,
                             const Residual<T>& residual, T* output) {
    const A floor = plan.relu ? A(0) : -std::numeric_limits<A>::infinity();
    const int64_t c = plan.c, out_w = plan.padded_w();
    parallel_for(plan.n * plan.padded_h(), plan.threads, [&](int64_t begin, int64_t end) {
        PixelSpan<T> spans[2];
        for (int64_t row_index = begin; row_index < end; ++row_index) {
            const int64_t n = row_index / plan.padded_h();
            const int64_t y = plan.border_index(row_index % plan.padded_h() - plan.pad, plan.h);
            const A* mean = &affine.mean[n * c];
            const A* scale = &affine.scale[n * c];
            const A* bias = &affine.bias[n * c];
            T* row = output + row_index * out_w * c;
            T* interior = row + plan.pad * c;
            const int count = row_spans(plan, input, n, y, spans);
            for (int r = 0; r < count; ++r) {
                const auto& span = spans[r];
                for (int64_t p = 0; p < span.count; ++p) {
                    const T* x = span.source + p * span.pixel_stride;
                    prefetch(span, x, c);
                    const int64_t column = span.first_column + p * span.column_step;
                    T* to = interior + column * c;
                    if (residual) {
                        const T* addend = residual.data + n * residual.n_stride +
                                          y * residual.h_stride + column * residual.w_stride;
                        normalize_channels<T, A>(x, mean, scale, bias, addend, floor, c, to);
                    } else {
                        normalize_channels<T, A>(x, mean, scale, bias, floor, c, to);
                    }
                }
            }
            for (int64_t p = 0; p < plan.pad; ++p) {
                const int64_t left = plan.border_index(p - plan.pad, plan.w);
                const int64_t right = plan.border_index(plan.w + p, plan.w);
                std::memcpy(row + p * c, interior + left * c, c * sizeof(T));
                std::memcpy(interior + (plan.w + p) * c, interior + right * c, c * sizeof(T));
            }
        }
    });
}

// One plane of a contiguous (channels-first) input.
template <typename T, typename A>
WelfordFp64 moments_of_plane(const T* x, int64_t size) {
    WelfordFp64 total;
    for (int64_t begin = 0; begin < size; begin += kChunkElements) {
        const int64_t count = std::min(kChunkElements, size - begin);
        const T* chunk = x + begin;
        A center = static_cast<A>(chunk[0]);
        double sum = 0, squares = 0;
        for (int pass = 0; pass < 2; ++pass) {
            center += static_cast<A>(sum / count);
            sum = squares = 0;
            for (int64_t block = 0; block < count; block += kFp32Terms * kLanes) {
                const int64_t end = std::min(count, block + kFp32Terms * kLanes);
                const int64_t full_lanes = end / kLanes * kLanes;
                A partial_sum[kLanes] = {}, partial_squares[kLanes] = {};
                const auto accumulate = [&](int64_t i, int64_t lane) {
                    const A d = static_cast<A>(chunk[i]) - center;
                    partial_sum[lane] += d;
                    partial_squares[lane] += d * d;
                };
                for (int64_t i = block; i < full_lanes; i += kLanes)
                    for (int64_t k = 0; k < kLanes; ++k) accumulate(i + k, k);
                for (int64_t i = full_lanes; i < end; ++i) accumulate(i, i - full_lanes);
// Clang keeps the lanes in registers only if this loop is unrolled.
#if defined(__clang__)
#pragma clang loop unroll(full)
#endif
                for (int64_t k = 0; k < kLanes; ++k)
                    sum += partial_sum[k], squares += partial_squares[k];
            }
        }
        total.merge_fused(moments_from_sums(center, static_cast<double>(count), sum, squares));
    }
    return total;
}

template <typename T, typename A>
void normalize_planes(const Plan& plan, const T* input, const A* weight, const A* bias,
                      const Residual<T>& residual, T* output) {
    const A floor = plan.relu ? A(0) : -std::numeric_limits<A>::infinity();
    const int64_t size = plan.h * plan.w, out_w = plan.padded_w();
    parallel_for(plan.n * plan.c, plan.threads, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
            const int64_t n = plane / plan.c, c = plane % plan.c;
            const T* x = input + plane * size;
            const auto [mean, scale, offset] =
                affine_of<A>(moments_of_plane<T, A>(x, size), plan.eps,
                             parameter_or<A>(weight, c, 1), parameter_or<A>(bias, c, 0));
            for (int64_t i = 0; i < plan.padded_h(); ++i) {
                const int64_t y = plan.border_index(i - plan.pad, plan.h);
                const T* __restrict from = x + y * plan.w;
                T* __restrict row = output + (plane * plan.padded_h() + i) * out_w;
                T* __restrict interior = row + plan.pad;
                if (residual) {
                    const T* __restrict addend = residual.data + n * residual.n_stride +
                                                 c * residual.c_stride + y * residual.h_stride;
                    for (int64_t j = 0; j < plan.w; ++j)
                        interior[j] =
                            static_cast<T>(clamp_min((static_cast<A>(from[j]) - mean) * scale +
                                                         offset + static_cast<A>(addend[j]),
                                                     floor));
                } else {
                    for (int64_t j = 0; j < plan.w; ++j)
                        interior[j] = static_cast<T>(
                            clamp_min((static_cast<A>(from[j]) - mean) * scale + offset, floor));
                }
                for (int64_t p = 0; p < plan.pad; ++p) {
                    row[p] = interior[plan.border_index(p - plan.pad, plan.w)];
                    interior[plan.w + p] = interior[plan.border_index(plan.w + p, plan.w)];
                }
            }
        }
    });
}

// Returns false if an allocation failed.
template <typename T, typename A>
bool run(const StyleforgeInstanceNormCall& call) {
    const StyleforgeInstanceNorm& norm = *call.norm;
    const bool small = norm.n * norm.c * norm.h * norm.w < kSerialElements;
    const Plan plan{norm.n, norm.c, norm.h, norm.w, norm.pad, norm.replicate != 0,
                    norm.interleave != 0, norm.relu != 0, norm.eps, small ? 1 : call.threads};
    const auto* x = static_cast<const T*>(call.x);
    const auto* weight = static_cast<const A*>(call.weight);
    const auto* bias = static_cast<const A*>(call.bias);
    const Residual<T> residual{static_cast<const T*>(call.residual), norm.n_stride, norm.c_stride,
                               norm.h_stride, norm.w_stride};
    auto* y = static_cast<T*>(call.y);
    if (norm.channels_last == 0) {
        normalize_planes<T, A>(plan, x, weight, bias, residual, y);
        return true;
    }
    Affine<A> affine(plan.n * plan.c);
    if (!affine || !find_affine<T, A>(plan, x, weight, bias, affine)) return false;
    normalize_channels_last<T, A>(plan, x, affine, residual, y);
    return true;
}

}  // namespace

// y = pad(relu(norm(x) * weight + bias + residual)), see api.py. There is one
// function per dtype of x, y and the residual. Returns 0, or 1 if an allocation failed.
#define STYLEFORGE_INSTANCE_NORM(NAME, T, A)                               \
    STYLEFORGE_EXPORT int NAME(const StyleforgeInstanceNormCall* call) {   \
        return run<T, A>(*call) ? 0 : 1;                                   \
    }

STYLEFORGE_INSTANCE_NORM(styleforge_instance_norm_float32, float, float)
STYLEFORGE_INSTANCE_NORM(styleforge_instance_norm_float16, Half, float)
STYLEFORGE_INSTANCE_NORM(styleforge_instance_norm_bfloat16, BFloat16, float)
STYLEFORGE_INSTANCE_NORM(styleforge_instance_norm_float64, double, double)
