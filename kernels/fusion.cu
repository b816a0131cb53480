// Norms joined with what surrounds them, and their gradients: layer and RMS norms of rows, which
// stay in registers, and the affine step, ReLU and gradient of a batch norm.
#include "include/common/dtypes.cuh"
#include "include/common/team.cuh"
#include "include/common/with_type.cuh"
#include "include/fusion/activations.h"
#include "include/fusion/row_norm.cuh"

namespace styleforge {
namespace fusion {

// Of channels: y = (x - mean) * inverse * weight + bias, all of it FP32 [channels].
struct Channels {
    const float *mean, *inverse, *weight, *bias;

    __device__ __forceinline__ float normed(float x, int c) const {
        return (x - mean[c]) * inverse[c];
    }
    __device__ __forceinline__ float affine(float normed, int c) const {
        return normed * weight[c] + bias[c];
    }
};

// `use(at, c, step)` for groups of kCount elements; element k of one is of channel c + k * step.
// `inner` elements of a channel lie together.
template <int kCount, typename Use>
__device__ __forceinline__ void each_group(long long count, int channels, long long inner,
                                           const Use& use) {
    const long long first = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    const int step = inner == 1;
    for (long long i = first * kCount; i < count; i += 1ll * gridDim.x * blockDim.x * kCount) {
        const bool narrow = count <= 0x7fffffff;
        const int c = narrow ? static_cast<unsigned>(i) / static_cast<unsigned>(inner) %
                                   static_cast<unsigned>(channels)
                             : static_cast<int>(i / inner % channels);
        use(i, c, step);
    }
}

}  // namespace fusion
}  // namespace styleforge

// y = activation(norm(x + residual) * weight + bias), total = x + residual. [rows, width]; weight
// and bias: [width]. What is null is left out. A row has `team` threads, of kMost elements each at
// most.
extern "C" __global__ void __launch_bounds__(512, 2)
    styleforge_row_norm(const void* x, const void* residual, const void* weight, const void* bias,
                        void* total, void* y, long long type, int vector, long long activation,
                        long long rows, long long width, long long team, int centered,
                        double eps) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const int size = static_cast<int>(team), length = static_cast<int>(width);
    const Team own{size, static_cast<int>(threadIdx.x) % size, shared};
    const long long row = 1ll * blockIdx.x * (blockDim.x / size) + threadIdx.x / size;
    with_type(type, vector, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        with_activation(activation, [&](auto function) {
            row_norm<T, kCount, decltype(function)>(
                Row<kCount, kMost>{own, row < rows ? length : 0, 1.f / length, row * width},
                static_cast<const T*>(x), static_cast<const T*>(residual),
                static_cast<const T*>(weight), static_cast<const T*>(bias),
                static_cast<T*>(total), static_cast<T*>(y), centered, static_cast<float>(eps));
        });
    });
}

// dx = added + the gradient of styleforge_row_norm by its sum `x`, in vectors. partial: FP32
// [blocks, teams of a block, 2, width], each team's sums of the gradients of weight and bias, or null.
extern "C" __global__ void __launch_bounds__(256, 2)
    styleforge_row_norm_backward(const void* grad, const void* added, const void* x,
                                 const void* weight, const void* bias, void* dx, float* partial,
                                 long long type, long long activation, long long rows,
                                 long long width, long long team, int centered, double eps) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const NormGradient p{grad,       added, x,     weight, bias,     dx, partial,
                         activation, rows,  width, team,   centered, eps};
    __shared__ uint4 pieces[Stage::kPieces];
    with_type(type, 1, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        constexpr bool kStaged = Stage::kCopies && kCount == kVectorSize<T>;
        row_norm_gradients<kStaged, kMostBackward, T, kCount>(p, Stage{pieces}, shared);
    });
}

// The same, element by element, of which a thread holds fewer: a block has 512 threads.
extern "C" __global__ void __launch_bounds__(512, 1)
    styleforge_row_norm_backward_elements(const void* grad, const void* added, const void* x,
                                          const void* weight, const void* bias, void* dx,
                                          float* partial, long long type, long long activation,
                                          long long rows, long long width, long long team,
                                          int centered, double eps) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const NormGradient p{grad,       added, x,     weight, bias,     dx, partial,
                         activation, rows,  width, team,   centered, eps};
    with_type(type, 0, [&](auto element, auto) {
        row_norm_gradients<false, kMostElements, decltype(element), 1>(p, Stage{nullptr}, shared);
    });
}

// What all teams left in `partial`, [teams, 2, width], summed; `of_weight` or `of_bias` may be null. A
// block is of 32 columns of both.
extern "C" __global__ void __launch_bounds__(1024)
    styleforge_row_norm_parameters(const float* partial, void* of_weight, void* of_bias,
                                   long long type, long long teams, long long width) {
    using namespace styleforge;
    __shared__ float shared[32][33];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long first = 32ll * blockIdx.x, column = first + lane;
    float sum = 0;
    if (column < 2 * width)
#pragma unroll 4
        for (long long i = warp; i < teams; i += 32) sum += partial[i * 2 * width + column];
    shared[warp][lane] = sum;
    __syncthreads();
    // A warp takes a column: what 32 warps have of it.
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

// y = relu(affine(x)) of [samples, channels, inner].
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channels_relu(const void* x, const float* mean, const float* inverse,
                             const float* weight, const float* bias, void* y, long long type,
                             int vector, long long count, long long channels, long long inner) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    const Channels of{mean, inverse, weight, bias};
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        each_group<kCount>(count, static_cast<int>(channels), inner,
                           [&](long long at, int c, int step) {
            float v[kCount];
            load<kCount>(v, static_cast<const T*>(x) + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                v[k] = elementwise::relu(of.affine(of.normed(v[k], c + k * step), c + k * step));
            store<kCount>(static_cast<T*>(y) + at, v);
        });
    });
}

// partial: [splits, 2, channels], sums of the gradients of weight and bias, or with no `grad` of
// squares and of elements as mean and inverse norm them. A block is of a channel and a split of its
// `samples` * `inner` elements; with inner 1, of 32 channels, one for a lane.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channels_sums(const void* grad, const void* x, const float* mean,
                             const float* inverse, const float* weight, const float* bias,
                             float* partial, long long type, int vector, long long samples,
                             long long channels, long long inner, long long splits) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[2][256];
    const Channels of{mean, inverse, weight, bias};
    const bool last = inner == 1;
    const int thread = threadIdx.x, threads = blockDim.x;
    const long long split = blockIdx.x % splits, part = blockIdx.x / splits;
    const int c = static_cast<int>(last ? part * 32 + thread % 32 : part);
    float of_weight = 0, of_bias = 0;
    if (c < channels)
        with_type(type, vector, [&](auto element, auto width) {
            using T = decltype(element);
            constexpr int kCount = decltype(width)::value;
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
                load<kCount>(v, static_cast<const T*>(x) + at);
                if (grad != nullptr) load<kCount>(g, static_cast<const T*>(grad) + at);
#pragma unroll
                for (int k = 0; k < kCount; ++k) {
                    const float normed = of.normed(v[k], c);
                    g[k] = grad == nullptr
                               ? normed
                               : elementwise::relu_gradient(g[k], of.affine(normed, c));
                    of_weight += g[k] * normed;
                    of_bias += g[k];
                }
            }
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
        partial[(split * 2) * channels + c] = of_weight;
        partial[(split * 2 + 1) * channels + c] = of_bias;
    }
}

// The gradient of styleforge_channels_relu by x; `sums`, [2, channels], are the gradients of weight
// and bias where mean and deviation are those of the `each` elements of a channel, else null.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channels_gradient(const void* grad, const void* x, const float* mean,
                                 const float* inverse, const float* weight, const float* bias,
                                 const float* sums, void* dx, long long type, int vector,
                                 long long count, long long channels, long long inner,
                                 long long each) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    const Channels of{mean, inverse, weight, bias};
    const float share = 1.f / static_cast<float>(each);
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        each_group<kCount>(count, static_cast<int>(channels), inner,
                           [&](long long at, int first, int step) {
            float v[kCount], g[kCount];
            load<kCount>(v, static_cast<const T*>(x) + at);
            load<kCount>(g, static_cast<const T*>(grad) + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const int c = first + k * step;
                const float normed = of.normed(v[k], c);
                g[k] = elementwise::relu_gradient(g[k], of.affine(normed, c));
                if (sums != nullptr)
                    g[k] -= (sums[channels + c] + normed * sums[c]) * share;
                g[k] *= inverse[c] * weight[c];
            }
            store<kCount>(static_cast<T*>(dx) + at, g);
        });
    });
}
