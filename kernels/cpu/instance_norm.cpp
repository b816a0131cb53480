// Instance norm, residual, ReLU and padding on the CPU: one pass over memory after the one for the
// statistics.
//
// Statistics of a chunk that fits the L2 cache take two passes, around its first element and then
// around its mean; chunks are merged by Chan's formula in a fixed order. Chunks depend on the shape
// alone, never on the number of threads, so two runs are bit-equal. An output row is made of `Run`s
// of pixels that are evenly spaced in memory, so that the interleaved and the plain layout share
// their code.
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using at::Tensor;
using OptTensor = std::optional<Tensor>;

constexpr int64_t kChunk = 1 << 15;  // elements whose statistics are taken together
constexpr int64_t kLanes = 32;       // accumulators kept in registers
constexpr int64_t kBlock = 64;       // terms of a sum in FP32 before it goes on in FP64

struct Plan {
    int64_t n, c, h, w;  // of the result before padding
    int64_t pad;
    bool replicate;
    bool interleave;
    bool relu;
    double eps;

    int64_t padded_h() const { return h + 2 * pad; }
    int64_t padded_w() const { return w + 2 * pad; }

    // The position inside [0, size) that padding copies to `i`, which may lie outside.
    int64_t shown(int64_t i, int64_t size) const {
        if (replicate) return std::clamp<int64_t>(i, 0, size - 1);
        i = std::abs(i);
        return size - 1 - std::abs(size - 1 - i);
    }
};

template <typename T>
struct Run {
    const T* source;  // first pixel
    int64_t spacing;  // elements between pixels
    int64_t count;
    int64_t column;  // of the first pixel in the result
    int64_t step;    // columns between pixels in the result
};

// Where the pixels of row `y` of sample `n` lie in a channels-last input. Interleaved, the input
// is [n, h/2 + 1, w/2 + 1, 4c]: phase (a, b) of pixel (i, j) sits at (i + a, j + b).
template <typename T>
int runs_of_row(const Plan& plan, const T* input, int64_t n, int64_t y, Run<T> (&runs)[2]) {
    if (!plan.interleave) {
        runs[0] = {input + (n * plan.h + y) * plan.w * plan.c, plan.c, plan.w, 0, 1};
        return 1;
    }
    const int64_t rows = plan.h / 2 + 1, columns = plan.w / 2 + 1, pixel = 4 * plan.c;
    const int64_t a = y % 2, i = y / 2 + a;
    for (int64_t b = 0; b < 2; ++b) {
        const T* first = input + ((n * rows + i) * columns + b) * pixel + (2 * a + b) * plan.c;
        runs[b] = {first, pixel, plan.w / 2, b, 2};
    }
    return 2;
}

// Prefetches pixels that may lie past the end: a prefetch cannot fault. The hardware prefetcher only
// follows contiguous memory; on an interleaved input this halves the time.
template <typename T>
inline void fetch_ahead(const Run<T>& run, const T* x, int64_t width) {
#if defined(__GNUC__)
    if (run.step == 1) return;
    const char* line = reinterpret_cast<const char*>(x + 16 * run.spacing);
    for (int64_t at = 0; at < width * static_cast<int64_t>(sizeof(T)); at += 64)
        __builtin_prefetch(line + at);
#endif
}

// Chan et al. (1979): the moments of two disjoint sets, from those of each.
struct Moments {
    double count = 0, mean = 0, m2 = 0;

    void merge(const Moments& other) {
        const double total = count + other.count, delta = other.mean - mean;
        mean += delta * (other.count / total);
        m2 += other.m2 + delta * delta * (count * other.count / total);
        count = total;
    }
};

// The moments of a set from the sums of its deviations from `center`, which is near its mean: the
// correction for the distance between the two is small, so that nothing cancels.
inline Moments around(double center, double count, double sum, double squares) {
    return {count, center + sum / count, std::max(0.0, squares - sum * sum / count)};
}

// The moments of `width` (at most kLanes) adjacent channels over rows [y0, y1).
template <typename T, typename A>
void moments_of_rows(const Plan& plan, const T* input, int64_t n, int64_t y0, int64_t y1,
                     int64_t channel, int64_t width, Moments* moments) {
    Run<T> runs[2];
    A center[kLanes];
    double sum[kLanes], squares[kLanes];
    // `lanes` is a compile-time width where it can be, to keep the sums in registers.
    const auto sum_over_pixels = [&](auto lanes) {
        std::fill_n(sum, kLanes, 0);
        std::fill_n(squares, kLanes, 0);
        for (int64_t y = y0; y < y1; ++y) {
            const int count = runs_of_row(plan, input, n, y, runs);
            for (int r = 0; r < count; ++r) {
                const T* x = runs[r].source + channel;
                for (int64_t begin = 0; begin < runs[r].count; begin += kBlock) {
                    const int64_t end = std::min(runs[r].count, begin + kBlock);
                    A few[kLanes] = {}, few_squares[kLanes] = {};
                    for (int64_t p = begin; p < end; ++p, x += runs[r].spacing) {
                        fetch_ahead(runs[r], x, lanes);
                        for (int64_t k = 0; k < lanes; ++k) {
                            const A d = static_cast<A>(x[k]) - center[k];
                            few[k] += d;
                            few_squares[k] += d * d;
                        }
                    }
                    for (int64_t k = 0; k < lanes; ++k) {
                        sum[k] += few[k];
                        squares[k] += few_squares[k];
                    }
                }
            }
        }
    };
    const auto both_passes = [&](auto lanes) {
        const auto count = static_cast<double>((y1 - y0) * plan.w);
        runs_of_row(plan, input, n, y0, runs);
        for (int64_t k = 0; k < lanes; ++k) center[k] = static_cast<A>(runs[0].source[channel + k]);
        sum_over_pixels(lanes);
        for (int64_t k = 0; k < lanes; ++k) center[k] += static_cast<A>(sum[k] / count);
        sum_over_pixels(lanes);
        for (int64_t k = 0; k < lanes; ++k)
            moments[k] = around(center[k], count, sum[k], squares[k]);
    };
    if (width == kLanes)
        both_passes(std::integral_constant<int64_t, kLanes>{});
    else
        both_passes(width);
}

// What the second pass computes per channel: (x - mean) * scale + bias.
template <typename A>
struct Affine {
    std::vector<A> mean, scale, bias;

    explicit Affine(int64_t size) : mean(size), scale(size), bias(size) {}

    void set(int64_t at, const Moments& moments, double eps, double weight, double offset) {
        const double factor = weight / std::sqrt(moments.m2 / moments.count + eps);
        mean[at] = static_cast<A>(moments.mean);
        scale[at] = static_cast<A>(factor);
        // The rounding error of the mean matters where the mean is large beside the deviation.
        bias[at] = static_cast<A>(offset - (moments.mean - mean[at]) * factor);
    }
};

template <typename A>
A weight_at(const OptTensor& parameter, int64_t channel, A otherwise) {
    return parameter ? parameter->const_data_ptr<A>()[channel] : otherwise;
}

template <typename T, typename A>
Affine<A> affine_channels_last(const Plan& plan, const T* input, const OptTensor& weight,
                               const OptTensor& bias) {
    const int64_t rows = std::max<int64_t>(1, kChunk / (plan.w * plan.c));
    const int64_t chunks = (plan.h + rows - 1) / rows;
    std::vector<Moments> moments(plan.n * chunks * plan.c);
    at::parallel_for(0, plan.n * chunks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; ++at) {
            const int64_t y0 = at % chunks * rows, y1 = std::min(plan.h, y0 + rows);
            for (int64_t channel = 0; channel < plan.c; channel += kLanes) {
                const int64_t width = std::min(kLanes, plan.c - channel);
                const int64_t to = at * plan.c + channel;
                moments_of_rows<T, A>(plan, input, at / chunks, y0, y1, channel, width,
                                      &moments[to]);
            }
        }
    });
    Affine<A> affine(plan.n * plan.c);
    std::vector<Moments> total(plan.c);
    for (int64_t n = 0; n < plan.n; ++n) {
        std::fill(total.begin(), total.end(), Moments{});
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
            const Moments* part = &moments[(n * chunks + chunk) * plan.c];
            for (int64_t c = 0; c < plan.c; ++c) total[c].merge(part[c]);
        }
        for (int64_t c = 0; c < plan.c; ++c)
            affine.set(n * plan.c + c, total[c], plan.eps, weight_at<A>(weight, c, 1),
                       weight_at<A>(bias, c, 0));
    }
    return affine;
}

// Written so that a NaN passes through, as in PyTorch.
template <typename A>
inline A floored(A y, A floor) {
    return y < floor ? floor : y;
}

template <typename T, typename A>
void write_channels_last(const Plan& plan, const T* input, const Affine<A>& affine,
                         const OptTensor& residual, T* output) {
    const A floor = plan.relu ? A(0) : -std::numeric_limits<A>::infinity();
    const int64_t c = plan.c, out_w = plan.padded_w();
    at::parallel_for(0, plan.n * plan.padded_h(), 1, [&](int64_t begin, int64_t end) {
        Run<T> runs[2];
        for (int64_t at = begin; at < end; ++at) {
            const int64_t n = at / plan.padded_h();
            const int64_t y = plan.shown(at % plan.padded_h() - plan.pad, plan.h);
            const A* mean = &affine.mean[n * c];
            const A* scale = &affine.scale[n * c];
            const A* bias = &affine.bias[n * c];
            T* row = output + at * out_w * c;
            T* inner = row + plan.pad * c;
            const int count = runs_of_row(plan, input, n, y, runs);
            for (int r = 0; r < count; ++r) {
                const auto& run = runs[r];
                for (int64_t p = 0; p < run.count; ++p) {
                    const T* __restrict x = run.source + p * run.spacing;
                    fetch_ahead(run, x, c);
                    const int64_t column = run.column + p * run.step;
                    T* __restrict to = inner + column * c;
                    if (residual) {
                        const T* __restrict add = residual->const_data_ptr<T>() +
                                                  n * residual->stride(0) +
                                                  y * residual->stride(2) +
                                                  column * residual->stride(3);
                        for (int64_t k = 0; k < c; ++k)
                            to[k] = static_cast<T>(floored(
                                (static_cast<A>(x[k]) - mean[k]) * scale[k] + bias[k] +
                                    static_cast<A>(add[k]),
                                floor));
                    } else {
                        for (int64_t k = 0; k < c; ++k)
                            to[k] = static_cast<T>(floored(
                                (static_cast<A>(x[k]) - mean[k]) * scale[k] + bias[k], floor));
                    }
                }
            }
            for (int64_t p = 0; p < plan.pad; ++p) {
                const int64_t left = plan.shown(p - plan.pad, plan.w);
                const int64_t right = plan.shown(plan.w + p, plan.w);
                std::memcpy(row + p * c, inner + left * c, c * sizeof(T));
                std::memcpy(inner + (plan.w + p) * c, inner + right * c, c * sizeof(T));
            }
        }
    });
}

// One plane of a contiguous (channels-first) input.
template <typename T, typename A>
Moments moments_of_plane(const T* x, int64_t size) {
    Moments total;
    for (int64_t begin = 0; begin < size; begin += kChunk) {
        const int64_t count = std::min(kChunk, size - begin);
        const T* chunk = x + begin;
        A center = static_cast<A>(chunk[0]);
        double sum = 0, squares = 0;
        for (int pass = 0; pass < 2; ++pass) {
            center += static_cast<A>(sum / count);
            sum = squares = 0;
            for (int64_t block = 0; block < count; block += kBlock * kLanes) {
                const int64_t end = std::min(count, block + kBlock * kLanes);
                const int64_t whole = end / kLanes * kLanes;
                A few[kLanes] = {}, few_squares[kLanes] = {};
                const auto take = [&](int64_t i, int64_t lane) {
                    const A d = static_cast<A>(chunk[i]) - center;
                    few[lane] += d;
                    few_squares[lane] += d * d;
                };
                for (int64_t i = block; i < whole; i += kLanes)
                    for (int64_t k = 0; k < kLanes; ++k) take(i + k, k);
                for (int64_t i = whole; i < end; ++i) take(i, i - whole);
                for (int64_t k = 0; k < kLanes; ++k) sum += few[k], squares += few_squares[k];
            }
        }
        total.merge(around(center, static_cast<double>(count), sum, squares));
    }
    return total;
}

template <typename T, typename A>
void run_planes(const Plan& plan, const T* input, const OptTensor& weight, const OptTensor& bias,
                const OptTensor& residual, T* output) {
    const A floor = plan.relu ? A(0) : -std::numeric_limits<A>::infinity();
    const int64_t size = plan.h * plan.w, out_w = plan.padded_w();
    at::parallel_for(0, plan.n * plan.c, 1, [&](int64_t begin, int64_t end) {
        Affine<A> affine(1);
        for (int64_t plane = begin; plane < end; ++plane) {
            const int64_t n = plane / plan.c, c = plane % plan.c;
            const T* x = input + plane * size;
            affine.set(0, moments_of_plane<T, A>(x, size), plan.eps, weight_at<A>(weight, c, 1),
                       weight_at<A>(bias, c, 0));
            const A mean = affine.mean[0], scale = affine.scale[0], offset = affine.bias[0];
            for (int64_t i = 0; i < plan.padded_h(); ++i) {
                const int64_t y = plan.shown(i - plan.pad, plan.h);
                const T* __restrict from = x + y * plan.w;
                T* __restrict row = output + (plane * plan.padded_h() + i) * out_w;
                T* __restrict inner = row + plan.pad;
                if (residual) {
                    const T* __restrict add = residual->const_data_ptr<T>() +
                                              n * residual->stride(0) + c * residual->stride(1) +
                                              y * residual->stride(2);
                    for (int64_t j = 0; j < plan.w; ++j)
                        inner[j] = static_cast<T>(
                            floored((static_cast<A>(from[j]) - mean) * scale + offset +
                                        static_cast<A>(add[j]),
                                    floor));
                } else {
                    for (int64_t j = 0; j < plan.w; ++j)
                        inner[j] = static_cast<T>(
                            floored((static_cast<A>(from[j]) - mean) * scale + offset, floor));
                }
                for (int64_t p = 0; p < plan.pad; ++p) {
                    row[p] = inner[plan.shown(p - plan.pad, plan.w)];
                    inner[plan.w + p] = inner[plan.shown(plan.w + p, plan.w)];
                }
            }
        }
    });
}

// As in the reference: channels last where the input is, and always when interleaved.
bool channels_last(const Tensor& x, bool interleave) {
    return interleave ||
           (!x.is_contiguous() && x.is_contiguous(at::MemoryFormat::ChannelsLast));
}

Plan plan_for(const Tensor& x, const OptTensor& weight, const OptTensor& bias,
              const OptTensor& residual, double eps, bool relu, int64_t pad,
              std::string_view pad_mode, bool interleave) {
    TORCH_CHECK_VALUE(x.dim() == 4, "instance norm: expected [N, C, H, W], got ", x.sizes());
    Plan plan{x.size(0), x.size(1), x.size(2), x.size(3), pad, pad_mode == "replicate",
              interleave, relu, eps};
    if (interleave) {
        TORCH_CHECK_VALUE(plan.c % 4 == 0 && plan.h > 1 && plan.w > 1,
                          "instance norm: expected [N, 4C, h + 1, w + 1] to interleave, got ",
                          x.sizes());
        plan.c /= 4, plan.h = 2 * (plan.h - 1), plan.w = 2 * (plan.w - 1);
    }
    TORCH_CHECK_VALUE(plan.h * plan.w > 1, "instance norm: one pixel has no variance, got ",
                      x.sizes());
    TORCH_CHECK_VALUE(plan.replicate || pad_mode == "reflect",
                      "instance norm: pad_mode is 'reflect' or 'replicate', not '", pad_mode, "'");
    TORCH_CHECK_VALUE(pad >= 0 && (plan.replicate || (pad < plan.h && pad < plan.w)),
                      "instance norm: cannot pad ", plan.h, "x", plan.w, " by ", pad,
                      " with reflection");
    for (const auto* parameter : {&weight, &bias})
        TORCH_CHECK_VALUE(!*parameter || ((*parameter)->dim() == 1 &&
                                          (*parameter)->size(0) == plan.c),
                          "instance norm: expected ", plan.c, " weights and biases");
    if (residual) {
        TORCH_CHECK_VALUE(residual->sizes() == at::IntArrayRef({plan.n, plan.c, plan.h, plan.w}),
                          "instance norm: the residual has the shape ", residual->sizes());
        TORCH_CHECK_VALUE(residual->scalar_type() == x.scalar_type(),
                          "instance norm: the residual is ", residual->scalar_type(), ", not ",
                          x.scalar_type());
    }
    return plan;
}

void run(const Plan& plan, const Tensor& input, const OptTensor& weight, const OptTensor& bias,
         const OptTensor& addend, Tensor& out) {
    const bool last = channels_last(input, plan.interleave);
    const auto format = last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    TORCH_CHECK_VALUE(
        out.sizes() == at::IntArrayRef({plan.n, plan.c, plan.padded_h(), plan.padded_w()}) &&
            out.scalar_type() == input.scalar_type() && out.is_contiguous(format),
        "instance norm: out must be a dense ", last ? "channels-last " : "", input.scalar_type(),
        " tensor of the padded shape, got ", out.scalar_type(), " ", out.sizes());
    if (out.numel() == 0) return;
    const Tensor x = input.contiguous(format);
    OptTensor residual = addend;
    if (residual && residual->stride(last ? 1 : 3) != 1)
        residual = residual->contiguous(format);  // only the innermost dimension must be dense
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, x.scalar_type(), "fused_instance_norm", [&] {
            using A = at::opmath_type<scalar_t>;
            const auto wide = [](const OptTensor& p) -> OptTensor {
                if (!p) return p;
                return p->to(c10::CppTypeToScalarType<A>::value).contiguous();
            };
            const OptTensor w = wide(weight), b = wide(bias);
            const auto* from = x.const_data_ptr<scalar_t>();
            auto* to = out.mutable_data_ptr<scalar_t>();
            if (last) {
                const auto affine = affine_channels_last<scalar_t, A>(plan, from, w, b);
                write_channels_last<scalar_t, A>(plan, from, affine, residual, to);
            } else {
                run_planes<scalar_t, A>(plan, from, w, b, residual, to);
            }
        });
}

Tensor fused_instance_norm(const Tensor& x, const OptTensor& weight, const OptTensor& bias,
                           const OptTensor& residual, double eps, bool relu, int64_t pad,
                           std::string_view pad_mode, bool interleave) {
    const Plan plan =
        plan_for(x, weight, bias, residual, eps, relu, pad, pad_mode, interleave);
    Tensor out = at::empty({plan.n, plan.c, plan.padded_h(), plan.padded_w()}, x.options(),
                           channels_last(x, interleave) ? at::MemoryFormat::ChannelsLast
                                                        : at::MemoryFormat::Contiguous);
    run(plan, x, weight, bias, residual, out);
    return out;
}

void fused_instance_norm_out(const Tensor& x, const OptTensor& weight, const OptTensor& bias,
                             const OptTensor& residual, double eps, bool relu, int64_t pad,
                             std::string_view pad_mode, bool interleave, Tensor out) {
    run(plan_for(x, weight, bias, residual, eps, relu, pad, pad_mode, interleave), x, weight, bias,
        residual, out);
}

// The compiler vectorizes this code; `use_vectorized` is accepted for compatibility.
Tensor fused_instance_norm_forward(const Tensor& input, const OptTensor& gamma,
                                   const OptTensor& beta, double eps, bool /*use_vectorized*/,
                                   const OptTensor& residual, bool relu) {
    return fused_instance_norm(input, gamma, beta, residual, eps, relu, 0, "reflect", false);
}

}  // namespace

TORCH_LIBRARY_IMPL(styleforge, CPU, m) {
    m.impl("fused_instance_norm", &fused_instance_norm);
    m.impl("fused_instance_norm_out", &fused_instance_norm_out);
    m.impl("fused_instance_norm_forward", &fused_instance_norm_forward);
}
