// Group norm fused with a preceding bias and ReLU, and its gradients, on the CPU.
//
// If there are enough groups for all threads, a thread processes one group after another: each is
// read from memory once and stays in a core's caches. Otherwise the threads divide the planes of
// all groups. Both ways sum each plane in FP32, and over planes in FP64, so the number of threads
// changes no bit.
#include <cmath>
#include <cstdint>

#include "include/cpu/export.h"
#include "norm_channels.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/with_type.h"

namespace {

using namespace styleforge;
using namespace styleforge::fusion;

constexpr int64_t kGroupsOfThread = 4;  // minimum for whole groups per thread

// A tensor's layout: [samples, channels, inner], with `of_group` channels per group.
struct Groups {
    int64_t type, samples, channels, of_group, inner;

    int64_t planes() const { return samples * channels; }
    int64_t bytes() const { return bytes_of(type, planes() * inner); }
};

// The statistics and parameters of planes: [5, planes], as in styleforge_groups_totals.
template <typename Number>
struct Kept {
    Number *mean, *inverse, *weight, *bias, *normed;

    Kept(Number* of, int64_t planes)
        : mean(of),
          inverse(of + planes),
          weight(of + 2 * planes),
          bias(of + 3 * planes),
          normed(of + 4 * planes) {}
};

// For each group, calls `sum` for its planes and their channels, `settle` for its first plane, then
// `write` like `sum`.
template <typename Sum, typename Settle, typename Write>
void each_group(const Groups& of, int64_t threads, const Sum& sum, const Settle& settle,
                const Write& write) {
    const int64_t planes = of.planes(), groups = planes / of.of_group;
    const int64_t team = threads_for(planes * of.inner, threads);
    const auto all = [&](int64_t begin, int64_t end, const auto& use) {
        int64_t c = begin % of.channels;
        for (int64_t plane = begin; plane < end; ++plane) {
            use(plane, c);
            if (++c == of.channels) c = 0;
        }
    };
    if (team == 1 || groups >= kGroupsOfThread * team)
        return parallel_for(groups, team, [&](int64_t begin, int64_t end) {
            for (int64_t group = begin; group < end; ++group) {
                const int64_t first = group * of.of_group, behind = first + of.of_group;
                all(first, behind, sum);
                settle(first, first % of.channels);
                all(first, behind, write);
            }
            streamed();
        });
    parallel_for(planes, team, [&](int64_t begin, int64_t end) { all(begin, end, sum); });
    parallel_for(groups, team, [&](int64_t begin, int64_t end) {
        for (int64_t group = begin; group < end; ++group)
            settle(group * of.of_group, group * of.of_group % of.channels);
    });
    parallel_for(planes, team, [&](int64_t begin, int64_t end) {
        all(begin, end, write);
        streamed();
    });
}

template <typename R, typename Out>
STYLEFORGE_APART void normed_relu(const R* __restrict x, Channel of, Out* __restrict out,
                                  int64_t count) {
    const float scale = of.inverse * of.weight;
    for (int64_t k = 0; k < count; ++k)
        out[k] = Out(elementwise::relu((static_cast<float>(x[k]) - of.mean) * scale + of.bias));
}

// The gradient of elements of a plane. `means` are over the group: of the gradient past ReLU and
// the weight, and of its products with the norm.
template <typename R, typename Out>
STYLEFORGE_APART void group_gradient(const R* __restrict grad, const R* __restrict x, Channel of,
                                     Means means, Out* __restrict out, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
        const float normed = (static_cast<float>(x[k]) - of.mean) * of.inverse;
        const float through = elementwise::relu_gradient(static_cast<float>(grad[k]),
                                                         normed * of.weight + of.bias);
        out[k] =
            Out((through * of.weight - (means.inner + normed * means.product)) * of.inverse);
    }
}

}  // namespace

// Computes y = relu(group_norm(x + shift)), and kept as in styleforge_groups_totals in fusion.cu.
// shift, weight and bias are FP32 [channels] or null.
STYLEFORGE_EXPORT int styleforge_groups_relu_cpu(int64_t threads, const void* x,
                                                 const float* shift, const float* weight,
                                                 const float* bias, void* y, float* kept,
                                                 int64_t type, int64_t samples, int64_t channels,
                                                 int64_t of_group, int64_t inner, double eps) {
    const Groups of{type, samples, channels, of_group, inner};
    const int64_t planes = of.planes();
    const Kept<float> to(kept, planes);
    float* const spread = to.inverse;  // of a plane around its mean, until its group is settled
    const bool streams = type == 0 && 2 * of.bytes() > kCached && can_stream(y, inner);
    ask_for_large_pages(y, of.bytes());
    const auto settle = [&](int64_t first, int64_t channel) {
        const double each = 1.0 / static_cast<double>(of_group);
        double mean = 0, within = 0, between = 0;
        for (int64_t plane = first; plane < first + of_group; ++plane) {
            mean += to.normed[plane] * each;
            within += spread[plane] * each;
        }
        for (int64_t plane = first; plane < first + of_group; ++plane) {
            const double above = to.normed[plane] - mean;
            between += above * above * each;
        }
        const double inverse = 1 / std::sqrt(within + between + eps);
        for (int64_t plane = first; plane < first + of_group; ++plane) {
            const int64_t c = channel + plane - first;
            to.mean[plane] = static_cast<float>(mean - (shift ? shift[c] : 0.f));
            to.inverse[plane] = static_cast<float>(inverse);
            to.weight[plane] = weight ? weight[c] : 1.f;
            to.bias[plane] = bias ? bias[c] : 0.f;
            to.normed[plane] = static_cast<float>((to.normed[plane] - mean) * inverse);
        }
    };
    with_type(type, [&](auto element) {
        using T = decltype(element);
        const T* const from = static_cast<const T*>(x);
        const auto sum = [&](int64_t plane, int64_t c) {
            // Squares are summed around one element, so that a large mean costs no digits.
            const T* const row = from + plane * inner;
            const float pivot = static_cast<float>(row[0]), one = 1, none = 0;
            Sums found;
            add_planes(static_cast<const T*>(nullptr), row,
                       Channel({&pivot, &one, &one, &none}, 0), inner,
                       plane + 1 < planes ? inner : 0, found);
            const double share = 1.0 / static_cast<double>(inner), above = found.sum * share;
            const double apart = found.product * share - above * above;
            const double added = shift ? shift[c] : 0.f;
            to.normed[plane] = static_cast<float>(pivot + above + added);
            spread[plane] = static_cast<float>(apart > 0 ? apart : 0);
        };
        const auto write = [&](int64_t plane, int64_t) {
            const Channel by({to.mean, to.inverse, to.weight, to.bias}, plane);
            const T* const row = from + plane * inner;
            make_plane(static_cast<T*>(y) + plane * inner, inner, streams,
                       [&](int64_t begin, auto* out, int64_t count) {
                alignas(64) float wide[kBlock];
                normed_relu(in_loops(row + begin, wide, count), by, out, count);
            });
        };
        each_group(of, threads, sum, settle, write);
    });
    return 0;
}

// Computes the gradient of x, and of_planes, [3, planes], whose sums over samples are the gradients
// of weight, bias and shift. means: workspace for [samples, groups, 2].
STYLEFORGE_EXPORT int styleforge_groups_backward_cpu(int64_t threads, const void* grad,
                                                     const void* x, const float* kept,
                                                     float* of_planes, float* means, void* dx,
                                                     int64_t type, int64_t samples,
                                                     int64_t channels, int64_t of_group,
                                                     int64_t inner) {
    const Groups of{type, samples, channels, of_group, inner};
    const int64_t planes = of.planes();
    const Kept<const float> by(kept, planes);
    float *const products = of_planes, *const sums = of_planes + planes;
    float* const of_shift = of_planes + 2 * planes;
    const bool streams = type == 0 && 3 * of.bytes() > kCached && can_stream(dx, inner);
    ask_for_large_pages(dx, of.bytes());
    const auto settle = [&](int64_t first, int64_t) {
        const double share = 1.0 / (static_cast<double>(of_group) * static_cast<double>(inner));
        double sum = 0, product = 0;
        for (int64_t plane = first; plane < first + of_group; ++plane) {
            sum += static_cast<double>(by.weight[plane]) * sums[plane];
            product += static_cast<double>(by.weight[plane]) * products[plane];
        }
        float* const to = means + first / of_group * 2;
        to[0] = static_cast<float>(sum * share);
        to[1] = static_cast<float>(product * share);
        for (int64_t plane = first; plane < first + of_group; ++plane) {
            const double given = static_cast<double>(by.weight[plane]) * sums[plane];
            const double mean = (sum + product * by.normed[plane]) / static_cast<double>(of_group);
            of_shift[plane] = static_cast<float>((given - mean) * by.inverse[plane]);
        }
    };
    with_type(type, [&](auto element) {
        using T = decltype(element);
        const T *const from = static_cast<const T*>(x), *const given = static_cast<const T*>(grad);
        const auto channel = [&](int64_t plane) {
            return Channel({by.mean, by.inverse, by.weight, by.bias}, plane);
        };
        const auto sum = [&](int64_t plane, int64_t) {
            const int64_t at = plane * inner;
            Sums found;
            add_planes(given + at, from + at, channel(plane), inner,
                       plane + 1 < planes ? inner : 0, found);
            products[plane] = static_cast<float>(found.product);
            sums[plane] = static_cast<float>(found.sum);
        };
        const auto write = [&](int64_t plane, int64_t) {
            const float* const of_group_means = means + plane / of_group * 2;
            const Means subtracted{of_group_means[0], of_group_means[1]};
            const int64_t at = plane * inner;
            make_plane(static_cast<T*>(dx) + at, inner, streams,
                       [&](int64_t begin, auto* out, int64_t count) {
                alignas(64) float wide[kBlock], of_y[kBlock];
                group_gradient(in_loops(given + at + begin, of_y, count),
                               in_loops(from + at + begin, wide, count), channel(plane),
                               subtracted, out, count);
            });
        };
        each_group(of, threads, sum, settle, write);
    });
    return 0;
}
