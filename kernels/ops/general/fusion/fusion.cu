// Norms fused with adjacent operations, and their gradients: layer and RMS norms of rows, which
// stay in registers, and the affine step, ReLU and gradient of channel and group norms.
#include "include/common/dtypes.cuh"
#include "include/common/pdl.cuh"
#include "include/common/team.cuh"
#include "include/common/with_type.cuh"
#include "activations.h"
#include "channels.cuh"
#include "held_norm.cuh"
#include "row_norm.cuh"

// y = activation(norm(x + residual) * weight + bias), total = x + residual. [rows, width]; weight
// and bias: [width]. Null operands are omitted. statistics: FP32 [rows, 2], the mean (0 if it is
// not subtracted) and the reciprocal deviation. A row has `team` threads with at most kMost
// elements each.
extern "C" __global__ void __launch_bounds__(512, 2)
    styleforge_row_norm(const void* x, const void* residual, const void* weight, const void* bias,
                        void* total, void* y, float* statistics, long long type, int vector,
                        long long activation, long long rows, long long width, long long team,
                        int centered, double eps) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const int size = static_cast<int>(team), length = static_cast<int>(width);
    int number;
    const Team own = Team::of_thread(size, shared, number);
    const long long row = 1ll * blockIdx.x * (blockDim.x >> Team::log2_of(size)) + number;
    with_type(type, vector, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        with_activation(activation, [&](auto function) {
            row_norm<T, kCount, decltype(function)>(
                Row<kCount, kMost<kCount>>{own, row < rows ? length : 0, length, row * width},
                static_cast<const T*>(x), static_cast<const T*>(residual),
                static_cast<const T*>(weight), static_cast<const T*>(bias),
                static_cast<T*>(total), static_cast<T*>(y), statistics + 2 * row, centered,
                static_cast<float>(eps));
        });
    });
}

// dx = added + the gradient of styleforge_row_norm by its sum `x`, in vectors. partial: FP32
// [blocks, teams per block, 2, width], each team's sums of the gradients of weight and bias, or
// null.
extern "C" __global__ void __launch_bounds__(styleforge::fusion::kBackwardThreads, 2)
    styleforge_row_norm_backward(const void* grad, const void* added, const void* x,
                                 const void* weight, const void* bias, const float* statistics,
                                 void* dx, float* partial, long long type, long long activation,
                                 long long rows, long long width, long long team, int centered) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const NormGradient p{grad,    added,      x,    weight, bias, statistics, dx,
                         partial, activation, rows, width,  team, centered};
    __shared__ uint4 pieces[Stage::kPieces];
    with_type(type, 1, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        constexpr bool kStaged = Stage::kCopies && kCount == kVectorSize<T>;
        row_norm_gradients<kStaged, kMostBackward, T, kCount>(p, Stage{pieces}, shared);
    });
}

// The same, element by element. A thread holds fewer elements, and a block has 512 threads.
extern "C" __global__ void __launch_bounds__(512, 1)
    styleforge_row_norm_backward_elements(const void* grad, const void* added, const void* x,
                                          const void* weight, const void* bias,
                                          const float* statistics, void* dx, float* partial,
                                          long long type, long long activation, long long rows,
                                          long long width, long long team, int centered) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const NormGradient p{grad,    added,      x,    weight, bias, statistics, dx,
                         partial, activation, rows, width,  team, centered};
    with_type(type, 0, [&](auto element, auto) {
        row_norm_gradients<false, kMostElements, decltype(element), 1>(p, Stage{nullptr}, shared);
    });
}

// Sums `partial`, [teams, 2, width], over teams; `of_weight` or `of_bias` may be null. A block
// covers 32 columns of both. Its blocks start as the preceding kernel's blocks end.
extern "C" __global__ void __launch_bounds__(1024)
    styleforge_row_norm_parameters(const float* partial, void* of_weight, void* of_bias,
                                   long long type, long long teams, long long width) {
    using namespace styleforge;
    __shared__ float shared[32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long first = 32ll * blockIdx.x, column = first + lane;
    pdl_wait();
    constexpr int kAtOnce = 12;  // rows of `partial` that a warp loads at once
    float sum = 0;
    if (column < 2 * width)
        for (long long begin = warp; begin < teams; begin += 32 * kAtOnce) {
            float parts[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k) {
                const long long i = begin + 32 * k;
                parts[k] = i < teams ? partial[i * 2 * width + column] : 0;
            }
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k) sum += parts[k];
        }
    shared[warp][lane] = sum;
    __syncthreads();
    // Each warp reduces one column over the 32 warps.
    const long long own = first + warp;
    float total[1] = {shared[lane][warp]};
    Team{32, lane, nullptr}.sum(total);
    if (lane != 0 || own >= 2 * width) return;
    void* to = own < width ? of_weight : of_bias;
    const long long at = own < width ? own : own - width;
    if (to == nullptr) return;
    with_type(type, 0, [&](auto element, auto) {
        using T = decltype(element);
        static_cast<T*>(to)[at] = from_float<T>(total[0]);
    });
}

// y = relu(affine(x)) for [samples, channels, inner]. With `chunks`, a block processes one of that
// many chunks of a plane, starting with the last. With `kept`, `inverse` contains variances; the
// mean, and the reciprocal deviation with eps added, are written to `kept_mean` and `kept`.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_channels_relu(const void* x, const float* mean, const float* inverse,
                             const float* weight, const float* bias, void* y, float* kept_mean,
                             float* kept, double eps, long long type, int vector, long long count,
                             long long channels, long long inner, long long chunks) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    const auto of = [&](int c) {
        Channel own = Channels{mean, inverse, weight, bias}.at(c);
        if (kept != nullptr) own.inverse = rsqrtf(own.inverse + static_cast<float>(eps));
        return own;
    };
    if (kept != nullptr)
        for (long long c = 1ll * blockIdx.x * blockDim.x + threadIdx.x; c < channels;
             c += 1ll * gridDim.x * blockDim.x) {
            const Channel own = of(static_cast<int>(c));
            kept_mean[c] = own.mean, kept[c] = own.inverse;
        }
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        const T* const from[1] = {static_cast<const T*>(x)};
        T* const to = static_cast<T*>(y);
        if (chunks > 0) {
            const Chunk chunk = Chunk::of_block<kCount>(channels, inner, chunks);
            each_of<kCount>(chunk, from, of, [&](const Channel& own, long long at,
                                                 float (&values)[1][kCount]) {
                float(&v)[kCount] = values[0];
#pragma unroll
                for (int k = 0; k < kCount; ++k)
                    v[k] = elementwise::relu(own.affine(own.normed(v[k])));
                store_streaming<kCount>(to + at, v);
            });
            return;
        }
        each_group<kCount>(count, static_cast<int>(channels), inner,
                           [&](long long at, int c, int step) {
            float v[kCount];
            load<kCount>(v, from[0] + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const Channel own = of(c + k * step);
                v[k] = elementwise::relu(own.affine(own.normed(v[k])));
            }
            store<kCount>(to + at, v);
        });
    });
}

// partial: [channels, splits, 2], sums of the gradients of weight and bias. Without `grad`, the
// sums of d^2 and of d, where d is an element minus the channel's first element. A block processes
// one channel and one split of its `samples` * `inner` elements, in chunks of `chunk` loads unless
// that is 0. With inner 1, a block processes 32 channels, one per lane.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_channels_sums(const void* grad, const void* x, const float* mean,
                             const float* inverse, const float* weight, const float* bias,
                             float* partial, long long type, int vector, long long samples,
                             long long channels, long long inner, long long splits,
                             long long chunk) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[2][256];
    const Channels of{mean, inverse, weight, bias};
    const bool last = inner == 1;
    const int thread = threadIdx.x, threads = blockDim.x;
    const long long split = blockIdx.x % splits, part = blockIdx.x / splits;
    const int c = static_cast<int>(last ? part * 32 + thread % 32 : part);
    float of_weight = 0, of_bias = 0;
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        if (c >= channels) return;
        const T *const from = static_cast<const T*>(x), *const of_y = static_cast<const T*>(grad);
        const bool is_gradient = grad != nullptr;
        const Channel own = is_gradient ? of.at(c) : Channel{to_float(from[c * inner]), 1, 1, 0};
        float weights[2] = {}, biases[2] = {};  // for even and odd positions in a vector
        const auto add = [&](const float(&g)[kCount], const float(&v)[kCount], bool exists) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float normed = own.normed(v[k]), given = exists ? g[k] : 0;
                const float through = elementwise::relu_gradient(given, own.affine(normed));
                weights[k % 2] += through * normed;
                biases[k % 2] += through;
            }
        };
        const auto add_elements = [&](const float(&v)[kCount], bool exists) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float above = exists ? v[k] - own.mean : 0;
                weights[k % 2] += above * above;
                biases[k % 2] += above;
            }
        };
        if (chunk > 0) {
            const Planes planes{samples, channels, inner, chunk, c, split, splits};
            if (is_gradient) {
                const T* const both[2] = {of_y, from};
                planes.each<kCount>(both, [&](const float(&values)[2][kCount], bool exists) {
                    add(values[0], values[1], exists);
                });
            } else {
                const T* const alone[1] = {from};
                planes.each<kCount>(alone, [&](const float(&values)[1][kCount], bool exists) {
                    add_elements(values[0], exists);
                });
            }
        } else {
            const long long row = inner / kCount, groups = samples * row;  // in loads
            const long long end = groups * (split + 1) / splits;
            const long long step = last ? threads / 32 : threads;
#pragma unroll 2
            for (long long i = groups * split / splits + (last ? thread / 32 : thread); i < end;
                 i += step) {
                const long long sample =
                    groups <= 0x7fffffff ? static_cast<unsigned>(i) / static_cast<unsigned>(row)
                                         : i / row;
                const long long at = (sample * channels + c) * inner + (i - sample * row) * kCount;
                float v[kCount], g[kCount] = {};
                load<kCount>(v, from + at);
                if (is_gradient) {
                    load<kCount>(g, of_y + at);
                    add(g, v, true);
                } else {
                    add_elements(v, true);
                }
            }
        }
        of_weight = weights[0] + weights[1], of_bias = biases[0] + biases[1];
    });
    if (!last) {
        float sums[2] = {of_weight, of_bias};
        Team{threads, thread, shared[0]}.sum(sums);
        of_weight = sums[0], of_bias = sums[1];
    } else {
        shared[0][thread] = of_weight, shared[1][thread] = of_bias;
        __syncthreads();
        for (int i = thread + 32; thread < 32 && i < threads; i += 32)
            of_weight += shared[0][i], of_bias += shared[1][i];
    }
    if (c < channels && thread < (last ? 32 : 1)) {
        float* const to = partial + 2 * (c * splits + split);
        to[0] = of_weight, to[1] = of_bias;
    }
}

// Adds up the splits of styleforge_channels_sums: the gradients of weight and bias, FP32
// [channels]. With `x`, the means of its channels and the reciprocal deviations over `each`
// elements. One warp per channel.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channels_totals(const float* partial, const void* x, float* first, float* second,
                               long long type, long long splits, long long channels,
                               long long inner, long long each, double eps) {
    using namespace styleforge;
    const int lane = threadIdx.x % 32;
    const long long c = (1ll * blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (c >= channels) return;
    float sums[2] = {};
#pragma unroll 4
    for (long long i = lane; i < splits; i += 32) {
        float pair[2];
        load<2>(pair, partial + 2 * (c * splits + i));
        sums[0] += pair[0], sums[1] += pair[1];
    }
    Team{32, lane, nullptr}.sum(sums);
    if (lane != 0) return;
    if (x == nullptr) {
        first[c] = sums[0], second[c] = sums[1];
        return;
    }
    with_type(type, 0, [&](auto element, auto) {
        using T = decltype(element);
        const float share = 1.f / static_cast<float>(each), offset = sums[1] * share;
        const float spread = sums[0] * share - offset * offset;
        first[c] = to_float(static_cast<const T*>(x)[c * inner]) + offset;
        second[c] = rsqrtf((spread < 0 ? 0 : spread) + static_cast<float>(eps));
    });
}

// Group statistics from the sums that styleforge_channels_sums left for the planes of [samples,
// channels, inner]. Groups have `of_group` channels, to which `shift`, [channels], is added first.
// kept: [5, planes], the subtracted mean, the reciprocal deviation, weight, bias, and the mean of
// the normed plane. shift, weight and bias may be null. One warp per group.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_groups_totals(const float* partial, const void* x, const float* shift,
                             const float* weight, const float* bias, float* kept, long long type,
                             long long splits, long long samples, long long channels,
                             long long of_group, long long inner, double eps) {
    using namespace styleforge;
    const int lane = threadIdx.x % 32;
    const long long number = (1ll * blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const long long planes = samples * channels, first = number * of_group;
    if (first >= planes) return;
    const long long channel = first % channels;
    const float share = 1.f / static_cast<float>(inner), each = 1.f / static_cast<float>(of_group);
    const Team team{32, lane, nullptr};
    float* const normed = kept + 4 * planes;
    with_type(type, 0, [&](auto element, auto) {
        const auto* const from = static_cast<const decltype(element)*>(x);
        float moments[2] = {};
        for (long long k = lane; k < of_group; k += 32) {
            const long long plane = first + k;
            float sums[2] = {};
#pragma unroll 4
            for (long long i = 0; i < splits; ++i) {
                float pair[2];
                load<2>(pair, partial + 2 * (plane * splits + i));
                sums[0] += pair[0], sums[1] += pair[1];
            }
            const float offset = sums[1] * share, spread = sums[0] * share - offset * offset;
            const float added = shift == nullptr ? 0 : shift[channel + k];
            normed[plane] = to_float(from[plane * inner]) + offset + added;
            moments[0] += normed[plane], moments[1] += spread < 0 ? 0 : spread;
        }
        team.sum(moments);
        const float mean = moments[0] * each;
        float apart = 0;
        for (long long k = lane; k < of_group; k += 32) {
            const float above = normed[first + k] - mean;
            apart += above * above;
        }
        const float variance = (moments[1] + team.sum(apart)) * each;
        const float inverse = rsqrtf(variance + static_cast<float>(eps));
        for (long long k = lane; k < of_group; k += 32) {
            const long long plane = first + k, c = channel + k;
            kept[plane] = shift == nullptr ? mean : mean - shift[c];
            kept[planes + plane] = inverse;
            kept[2 * planes + plane] = weight == nullptr ? 1 : weight[c];
            kept[3 * planes + plane] = bias == nullptr ? 0 : bias[c];
            normed[plane] = (normed[plane] - mean) * inverse;
        }
    });
}

// Group gradients from the planes' gradients that styleforge_channels_sums left. means: [4,
// planes], of which styleforge_channels_gradient reads the first two. of_parameters: [3, channels],
// the gradients of weight, bias and shift. Without `partial`, `means` already contains the results
// of styleforge_slabs_gradient. One block per group of all samples.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_groups_gradients(const float* partial, const float* kept, float* means,
                                float* of_parameters, long long splits, long long samples,
                                long long channels, long long of_group, long long inner) {
    using namespace styleforge;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const long long planes = samples * channels, channel = blockIdx.x * of_group;
    const float share = 1.f / (static_cast<float>(inner) * static_cast<float>(of_group));
    const float *const inverse = kept + planes, *const weight = kept + 2 * planes;
    const float* const normed = kept + 4 * planes;
    float *const of_weight = means + 2 * planes, *const of_bias = means + 3 * planes;
    for (long long n = warp; n < samples && partial != nullptr; n += warps) {
        const long long first = n * channels + channel;
        float totals[2] = {};
        for (long long k = lane; k < of_group; k += 32) {
            const long long plane = first + k;
            float sums[2] = {};
#pragma unroll 4
            for (long long i = 0; i < splits; ++i) {
                float pair[2];
                load<2>(pair, partial + 2 * (plane * splits + i));
                sums[0] += pair[0], sums[1] += pair[1];
            }
            of_weight[plane] = sums[0], of_bias[plane] = sums[1];
            totals[0] += weight[plane] * sums[0], totals[1] += weight[plane] * sums[1];
        }
        Team{32, lane, nullptr}.sum(totals);
        for (long long k = lane; k < of_group; k += 32) {
            means[first + k] = totals[0] * share;
            means[planes + first + k] = totals[1] * share;
        }
    }
    __syncthreads();
    for (long long c = channel + warp; c < channel + of_group; c += warps) {
        float sums[3] = {};
        for (long long n = lane; n < samples; n += 32) {
            const long long plane = n * channels + c;
            sums[0] += of_weight[plane], sums[1] += of_bias[plane];
            // The sum of x's gradients over the plane.
            const float subtracted = means[planes + plane] + normed[plane] * means[plane];
            sums[2] += (weight[plane] * of_bias[plane] - static_cast<float>(inner) * subtracted) *
                       inverse[plane];
        }
        Team::over_lanes<16>(sums);
        for (int i = 0; lane == 0 && i < 3; ++i) of_parameters[i * channels + c] = sums[i];
    }
}

// The gradient of styleforge_channels_relu by x. `sums`, [2, channels], holds the gradients of
// weight and bias if mean and deviation come from a channel's `each` elements, or with `each` 0 the
// results of styleforge_groups_gradients; otherwise it is null.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_channels_gradient(const void* grad, const void* x, const float* mean,
                                 const float* inverse, const float* weight, const float* bias,
                                 const float* sums, void* dx, long long type, int vector,
                                 long long count, long long channels, long long inner,
                                 long long each, long long chunks) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    const Channels of{mean, inverse, weight, bias};
    const float share = 1.f / static_cast<float>(each);
    const auto of_channel = [&](int c) {
        const Channel own = of.at(c);
        if (sums == nullptr) return ChannelGradient{own, 0, 0};
        const float scale = each > 0 ? share * own.weight : 1;
        return ChannelGradient{own, sums[c] * scale, sums[channels + c] * scale};
    };
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        const T* const from[2] = {static_cast<const T*>(x), static_cast<const T*>(grad)};
        T* const to = static_cast<T*>(dx);
        if (chunks > 0) {
            const Chunk chunk = Chunk::of_block<kCount>(channels, inner, chunks);
            each_of<kCount>(chunk, from, of_channel, [&](const ChannelGradient& own, long long at,
                                                         float (&values)[2][kCount]) {
                float(&g)[kCount] = values[1];
#pragma unroll
                for (int k = 0; k < kCount; ++k) g[k] = own.at(g[k], values[0][k]);
                store_streaming<kCount>(to + at, g);
            });
            return;
        }
        each_group<kCount>(count, static_cast<int>(channels), inner,
                           [&](long long at, int first, int step) {
            float v[kCount], g[kCount];
            load<kCount>(v, from[0] + at);
            load<kCount>(g, from[1] + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) g[k] = of_channel(first + k * step).at(g[k], v[k]);
            store<kCount>(to + at, g);
        });
    });
}

// y = relu(norm(x + shift) * weight + bias) for channels or groups, which are read once.
extern "C" __global__ void __launch_bounds__(styleforge::fusion::kHeldThreads, 2)
    styleforge_slabs_relu(const StyleforgeSlabs p) {
    using namespace styleforge;
    __shared__ fusion::HeldShared shared;
    by_type(p.type, [&](auto element) {
        using T = decltype(element);
        if (p.group > 0)
            fusion::hold<fusion::HeldForward<T, true>>(p, shared);
        else
            fusion::hold<fusion::HeldForward<T, false>>(p, shared);
    });
}

// The gradient of styleforge_slabs_relu by x, and the sums for its parameters' gradients.
extern "C" __global__ void __launch_bounds__(styleforge::fusion::kHeldThreads, 2)
    styleforge_slabs_gradient(const StyleforgeSlabs p) {
    using namespace styleforge;
    __shared__ fusion::HeldShared shared;
    by_type(p.type, [&](auto element) {
        using T = decltype(element);
        if (p.group > 0)
            fusion::hold<fusion::HeldBackward<T, true>>(p, shared);
        else
            fusion::hold<fusion::HeldBackward<T, false>>(p, shared);
    });
}
