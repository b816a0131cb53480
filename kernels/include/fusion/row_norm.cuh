// Layer and RMS norms of rows joined with what surrounds them, and their gradients. A row stays in the
// registers of the threads that work on it.
#pragma once

#include "../common/dtypes.cuh"
#include "../common/team.cuh"
#include "../elementwise/group.cuh"
#include "activations.h"

namespace styleforge {
namespace fusion {

constexpr int kMost = 16, kMostBackward = 8;  // elements of a row that a thread holds
using elementwise::CudaMath;

// Elements `at` on of a row of parameters, or `otherwise` where there are none.
template <int kCount, typename T>
__device__ __forceinline__ void load_or(float (&to)[kCount], const T* from, int at,
                                        float otherwise) {
    if (from != nullptr) return load<kCount>(to, from + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) to[k] = otherwise;
}

// Has what lies at `address` brought into the L2 cache.
__device__ __forceinline__ void prefetch(const void* address) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}

// A row of which each thread holds `kHeld` elements at most, in groups of kCount.
template <int kCount, int kHeld>
struct Row {
    static constexpr int kGroups = kHeld / kCount;
    const Team& team;
    int width, held;  // elements; none are held where there is no row
    long long begin;   // in tensors of rows

    // `use(group, at)` for the groups of this thread.
    template <typename Use>
    __device__ __forceinline__ void each(const Use& use) const {
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
            const int at = (group * team.size + team.lane) * kCount;
            if (at < held) use(group, at);
        }
    }
    // Has `values` less their mean if `centered`; the reciprocal of their deviation.
    __device__ __forceinline__ float normalize(float (&values)[kGroups][kCount], int centered,
                                               float eps) const {
        float sum = 0, squares = 0;
        if (centered) {
            each([&](int group, int) {
#pragma unroll
                for (int k = 0; k < kCount; ++k) sum += values[group][k];
            });
            sum = team.sum(sum) / width;
        }
        each([&](int group, int) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                values[group][k] -= sum;
                squares += values[group][k] * values[group][k];
            }
        });
        return rsqrtf(team.sum(squares) / width + eps);
    }
};

template <typename T, int kCount, typename Activation>
__device__ __forceinline__ void row_norm(const Row<kCount, kMost>& row, const T* x,
                                         const T* residual, const T* weight, const T* bias,
                                         T* total, T* y, int centered, float eps) {
    float values[kMost / kCount][kCount];
    row.each([&](int group, int at) {
        load<kCount>(values[group], x + row.begin + at);
        if (residual == nullptr) return;
        float added[kCount];
        load<kCount>(added, residual + row.begin + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k)  // rounded, as backward will read it
            values[group][k] = to_float(from_float<T>(values[group][k] + added[k]));
        store<kCount>(total + row.begin + at, values[group]);
    });
    const float inverse = row.normalize(values, centered, eps);
    row.each([&](int group, int at) {
        float w[kCount], b[kCount];
        load_or(w, weight, at, 1.f);
        load_or(b, bias, at, 0.f);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            w[k] = Activation::template value<CudaMath>(values[group][k] * inverse * w[k] + b[k]);
        store<kCount>(y + row.begin + at, w);
    });
}

// Adds a row's share to `of_weight` and `of_bias`. The row that follows, `ahead` elements on if there
// is one, is brought into the L2 cache meanwhile.
template <typename T, int kCount>
__device__ __forceinline__ void row_norm_gradient(
    const Row<kCount, kMostBackward>& row, const T* grad, const T* added, const T* x,
    const T* weight, const T* bias, T* dx, long long activation, long long ahead, float (&of_weight)[kMostBackward / kCount][kCount],
    float (&of_bias)[kMostBackward / kCount][kCount], int centered, float eps) {
    float values[kMostBackward / kCount][kCount], inner[kMostBackward / kCount][kCount];
    row.each([&](int group, int at) {
        const T *const of_x = x + row.begin + at, *const of_grad = grad + row.begin + at;
        load<kCount>(values[group], of_x);
        load<kCount>(inner[group], of_grad);
        if (ahead == 0) return;
        prefetch(of_x + ahead);
        prefetch(of_grad + ahead);
    });
    const float inverse = row.normalize(values, centered, eps);
    float sums[2] = {};  // of what comes through, and of its product with the norm
    // Not the whole function: it would take more registers to have it three times.
    with_activation(activation, [&](auto function) {
        using Activation = decltype(function);
        row.each([&](int group, int at) {
            float w[kCount], b[kCount];
            load_or(w, weight, at, 1.f);
            load_or(b, bias, at, 0.f);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float normed = values[group][k] *= inverse;
                const float g = Activation::template gradient<CudaMath>(inner[group][k],
                                                                        normed * w[k] + b[k]);
                of_weight[group][k] += g * normed;
                of_bias[group][k] += g;
                inner[group][k] = g * w[k];
                sums[0] += inner[group][k];
                sums[1] += inner[group][k] * normed;
            }
        });
    });
    row.team.sum(sums);
    const float sum = centered ? sums[0] / row.width : 0, product = sums[1] / row.width;
    row.each([&](int group, int at) {
        float out[kCount] = {};
        if (added != nullptr) load<kCount>(out, added + row.begin + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            out[k] += inverse * (inner[group][k] - sum - values[group][k] * product);
        store<kCount>(dx + row.begin + at, out);
    });
}

// What the gradients of a norm are computed of; see styleforge_row_norm_backward.
struct NormGradient {
    const void *grad, *added, *x, *weight, *bias;
    void* dx;
    float* partial;
    long long activation, rows, width, team;
    int centered;
    double eps;
};

// The rows of a block, and its sums of the gradients of parameters.
template <typename T, int kCount>
__device__ __forceinline__ void row_norm_gradients(const NormGradient& p, float* shared) {
    const int size = static_cast<int>(p.team), width = static_cast<int>(p.width);
    const Team team{size, static_cast<int>(threadIdx.x) % size, shared};
    const unsigned at_once = blockDim.x / size, own = threadIdx.x / size;
    constexpr int kGroups = kMostBackward / kCount;
    float of_weight[kGroups][kCount] = {}, of_bias[kGroups][kCount] = {};
    // The same for all teams of a block, which wait for each other.
    const unsigned rows = static_cast<unsigned>(p.rows), step = gridDim.x * at_once;
    for (unsigned first = blockIdx.x * at_once; first < rows; first += step) {
        const unsigned row = first + own;
        const long long ahead = row + step < rows ? step * p.width : 0;
        row_norm_gradient<T, kCount>(
            Row<kCount, kMostBackward>{team, width, row < rows ? width : 0, row * p.width},
            static_cast<const T*>(p.grad), static_cast<const T*>(p.added),
            static_cast<const T*>(p.x), static_cast<const T*>(p.weight),
            static_cast<const T*>(p.bias), static_cast<T*>(p.dx), p.activation, ahead, of_weight, of_bias,
            p.centered, static_cast<float>(p.eps));
    }
    if (p.partial == nullptr) return;
    float* to = p.partial + (1ll * blockIdx.x * at_once + own) * 2 * p.width;
    Row<kCount, kMostBackward>{team, width, width, 0}.each([&](int group, int at) {
        store<kCount>(to + at, of_weight[group]);
        store<kCount>(to + p.width + at, of_bias[group]);
    });
}

}  // namespace fusion
}  // namespace styleforge
