// Layer and RMS norms of rows fused with adjacent operations, and their gradients. A row stays in
// registers.
#pragma once

#include "include/common/copy_ahead.cuh"
#include "include/common/dtypes.cuh"
#include "include/common/pdl.cuh"
#include "include/common/team.cuh"
#include "ops/general/elementwise/group.cuh"
#include "activations.h"

namespace styleforge {
namespace fusion {

// Elements of a row per thread: forward, backward, and backward element by element. More elements
// amortize the work per row, and more loads in flight hide latency: for 16-bit types, forward holds
// as many bytes as for FP32. FORWARD, FORWARD_HALF, BACKWARD and BACKWARD_ELEMENTS in
// row_kernels.py repeat these numbers.
template <int kCount>
constexpr int kMost = kCount > 4 ? 32 : 16;
constexpr int kMostBackward = 16, kMostElements = 8;
// Threads of a backward block that reads vectors, at 128 registers per thread. Blocks with 8
// elements per thread have 512 threads of 64 registers.
constexpr int kBackwardThreads = 256;
using elementwise::CudaMath;

// Loads elements of a row of parameters from `at`, or `otherwise` if the row is null.
template <int kCount, typename T>
__device__ __forceinline__ void load_or(float (&to)[kCount], const T* from, int at,
                                        float otherwise) {
    if (from != nullptr) return load<kCount>(to, from + at);
#pragma unroll
    for (int k = 0; k < kCount; ++k) to[k] = otherwise;
}

// Returns 1 / width without the branch of a division.
__device__ __forceinline__ float share_of(int width) {
    const float w = static_cast<float>(width), near = CudaMath::inverse(w);
    return fmaf(near, fmaf(-w, near, 1.f), near);
}

// Prefetches `address` into the L2 cache.
__device__ __forceinline__ void prefetch(const void* address) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(address)));
#endif
}

// Staging for the next rows while the current one is processed: 16 bytes of each of two tensors per
// thread and group, for kRows rows (two for 16-bit types). A thread reads only its own copies, so
// no barrier is needed. GPUs before sm_80 have no asynchronous copies, and their multiprocessors
// have no room for two blocks' rows.
struct Stage {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    static constexpr bool kCopies = false;
    static constexpr int kPieces = 1;
#else
    static constexpr bool kCopies = true;
    static constexpr int kPieces = 2 * kMostBackward / 4 * kBackwardThreads;
#endif
    template <int kCount>
    static constexpr int kRows = kCount > 4 ? 2 : 1;
    uint4* pieces;  // kPieces
    mutable int slot = 0;  // the current row's slot, of kRows

    template <int kCount>
    __device__ __forceinline__ uint4* at(int group, int tensor) const {
        constexpr int kGroups = kMostBackward / kCount;
        return pieces + (2 * (slot * kGroups + group) + tensor) * kBackwardThreads + threadIdx.x;
    }
    template <int kCount>
    __device__ __forceinline__ void copy(int group, int tensor, const void* from) const {
        if constexpr (kCopies) copy_ahead(at<kCount>(group, tensor), from);
    }
    // Commits a row's copies, which may be none.
    __device__ __forceinline__ void end_row() const { end_copies(); }
    // Waits for the row in `slot`; the kRows - 1 rows committed after it may be pending.
    template <int kCount>
    __device__ __forceinline__ void wait() const {
        wait_for_copies<kRows<kCount> - 1>();
    }
    template <int kCount>
    __device__ __forceinline__ void next() const {
        if (kRows<kCount> > 1) slot ^= 1;
    }
};

// The statistics of a row, which forward saves for backward.
struct Moments {
    float mean, inverse;  // the mean is 0 if not centered; the reciprocal deviation

    static __device__ __forceinline__ Moments load(const float* from) {
        float both[2];
        styleforge::load<2>(both, from);
        return {both[0], both[1]};
    }
    __device__ __forceinline__ void store(float* to) const {
        const float both[2] = {mean, inverse};
        styleforge::store<2>(to, both);
    }
};

// A row, of which each thread holds at most `kHeld` elements in groups of kCount.
template <int kCount, int kHeld>
struct Row {
    static constexpr int kGroups = kHeld / kCount;
    const Team& team;
    int held, width;  // elements; held is 0 if the thread's team has no row
    long long begin;  // offset in the tensors of rows

    __device__ __forceinline__ float share() const { return share_of(width); }
    // Calls `use(group, at)` for this thread's groups.
    template <typename Use>
    __device__ __forceinline__ void each(const Use& use) const {
#pragma unroll
        for (int group = 0; group < kGroups; ++group) {
            const int at = (group * team.size + team.lane) * kCount;
            if (at < held) use(group, at);
        }
    }
    // Subtracts the mean from `values` if `centered`. The threads of a row synchronize once: a warp
    // takes deviations from its own mean, and the row's sum of squares follows from the warps'
    // means (Chan et al., 1979).
    __device__ __forceinline__ Moments center(float (&values)[kGroups][kCount], int centered,
                                              float eps) const {
        if (!centered) return {0.f, rsqrtf(team.sum(less(values, 0)) * share() + eps)};
        float sum[1] = {};
        each([&](int group, int) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) sum[0] += values[group][k];
        });
        Team::over_lanes<16>(sum);
        const float own = mean_of(sum[0], of_warp(team.lane / 32));
        float moments[2] = {sum[0], less(values, own)};
        float squares[1] = {moments[1]};
        Team::over_lanes<16>(squares);
        if (team.size == 32) return {own, rsqrtf(squares[0] * share() + eps)};
        moments[1] = squares[0];
        team.exchange(moments);
        const int count = of_warp(team.lane % Team::kMostWarps);
        sum[0] = moments[0];
        Team::over_lanes<Team::kMostWarps / 2>(sum);
        const float mean = sum[0] * share(), apart = mean_of(moments[0], count) - mean;
        squares[0] = moments[1] + count * apart * apart;
        Team::over_lanes<Team::kMostWarps / 2>(squares);
        less(values, mean - own);
        return {mean, rsqrtf(squares[0] * share() + eps)};
    }

 private:
    // Subtracts `mean` from `values` and returns the sum of the squares.
    __device__ __forceinline__ float less(float (&values)[kGroups][kCount], float mean) const {
        float squares = 0;
        each([&](int group, int) {
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                values[group][k] -= mean;
                squares += values[group][k] * values[group][k];
            }
        });
        return squares;
    }
    // Elements of the row that a warp of its team holds.
    __device__ __forceinline__ int of_warp(int warp) const {
        int count = 0;
#pragma unroll
        for (int group = 0; group < kGroups; ++group)
            count += min(max(width - (group * team.size + 32 * warp) * kCount, 0), 32 * kCount);
        return warp < team.size / 32 ? count : 0;
    }
    static __device__ __forceinline__ float mean_of(float sum, int count) {
        return sum * share_of(max(count, 1));
    }
};

template <typename T, int kCount, typename Activation>
__device__ __forceinline__ void row_norm(const Row<kCount, kMost<kCount>>& row, const T* x,
                                         const T* residual, const T* weight, const T* bias,
                                         T* total, T* y, float* statistics, int centered, float eps) {
    constexpr int kGroups = kMost<kCount> / kCount;
    using Vector = AlignedVector<T, kCount>;
    using Math = typename elementwise::MathOf<T>::Type;
    float values[kGroups][kCount];
    // Adds the residual to a vector and rounds, since backward will read the rounded sum.
    const auto add = [&](int group, int at, const Vector& vector) {
        float added[kCount];
        widen(added, vector);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            values[group][k] = to_float(from_float<T>(values[group][k] + added[k]));
        store<kCount>(total + row.begin + at, values[group]);
    };
    const auto ask = [&](const T* from, int at) {
        return *reinterpret_cast<const Vector*>(from + row.begin + at);
    };
    if constexpr (kCount == 1) {
        row.each([&](int group, int at) {
            widen(values[group], ask(x, at));
            if (residual != nullptr) add(group, at, ask(residual, at));
        });
    } else {
        // Issue all loads of a row before waiting for any of them.
        Vector given[kGroups], others[kGroups];
        row.each([&](int group, int at) { given[group] = ask(x, at); });
        if (residual == nullptr) {
            row.each([&](int group, int) { widen(values[group], given[group]); });
        } else {
            row.each([&](int group, int at) { others[group] = ask(residual, at); });
            row.each([&](int group, int at) {
                widen(values[group], given[group]);
                add(group, at, others[group]);
            });
        }
    }
    const Moments of = row.center(values, centered, eps);
    if (row.team.lane == 0 && row.held > 0) of.store(statistics);
    row.each([&](int group, int at) {
        float w[kCount], b[kCount];
        load_or(w, weight, at, 1.f);
        load_or(b, bias, at, 0.f);
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            w[k] = Activation::template value<Math>(values[group][k] * of.inverse * w[k] + b[k]);
        store<kCount>(y + row.begin + at, w);
    });
}

// The inputs of a norm's gradient; see styleforge_row_norm_backward.
struct NormGradient {
    const void *grad, *added, *x, *weight, *bias;
    const float* statistics;
    void* dx;
    float* partial;
    long long activation, rows, width, team;
    int centered;
};

// Computes a row's gradient and adds its share to `of_weight` and `of_bias`. If kStaged, the row is
// in `stage`. If `more`, the row `ahead` elements on is copied into its place, or else prefetched
// into the L2 cache. share: an element's share of a mean.
template <bool kStaged, typename T, int kCount, int kHeld>
__device__ __forceinline__ void row_norm_gradient(
    const NormGradient& p, const Row<kCount, kHeld>& row, const Moments& of, const Stage& stage,
    bool more, long long ahead, float share, float (&of_weight)[kHeld / kCount][kCount],
    float (&of_bias)[kHeld / kCount][kCount]) {
    using Vector = AlignedVector<T, kCount>;
    using Math = typename elementwise::MathOf<T>::Type;
    float values[kHeld / kCount][kCount], inner[kHeld / kCount][kCount];
    const T* const x = static_cast<const T*>(p.x) + row.begin;
    const T* const grad = static_cast<const T*>(p.grad) + row.begin;
    const T* const added = static_cast<const T*>(p.added) + row.begin;
    if constexpr (kStaged) stage.template wait<kCount>();
    row.each([&](int group, int at) {
        if constexpr (kStaged) {
            load<kCount>(values[group], reinterpret_cast<const T*>(stage.template at<kCount>(group, 0)));
            load<kCount>(inner[group], reinterpret_cast<const T*>(stage.template at<kCount>(group, 1)));
        } else {
            load<kCount>(values[group], x + at);
            load<kCount>(inner[group], grad + at);
        }
    });
    if (more)
        row.each([&](int group, int at) {
            if constexpr (kStaged) {
                stage.template copy<kCount>(group, 0, x + at + ahead);
                stage.template copy<kCount>(group, 1, grad + at + ahead);
            } else {
                prefetch(x + at + ahead);
                prefetch(grad + at + ahead);
            }
            if (p.added != nullptr) prefetch(added + at + ahead);
        });
    if constexpr (kStaged) stage.end_row(), stage.template next<kCount>();
    float sums[2] = {};  // of the gradient past the activation, and of its product with the norm
    // Only this loop depends on the activation: three instances of the whole function would take
    // more registers.
    with_activation(p.activation, [&](auto function) {
        using Activation = decltype(function);
        row.each([&](int group, int at) {
            float w[kCount], b[kCount];
            load_or(w, static_cast<const T*>(p.weight), at, 1.f);
            load_or(b, static_cast<const T*>(p.bias), at, 0.f);
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                const float normed = values[group][k] =
                    (values[group][k] - of.mean) * of.inverse;
                const float g =
                    Activation::template gradient<Math>(inner[group][k], normed * w[k] + b[k]);
                of_weight[group][k] += g * normed;
                of_bias[group][k] += g;
                inner[group][k] = g * w[k];
                sums[0] += inner[group][k];
                sums[1] += inner[group][k] * normed;
            }
        });
    });
    Vector others[kHeld / kCount];  // they arrive while all wait
    if (p.added != nullptr)
        row.each([&](int group, int at) {
            others[group] = *reinterpret_cast<const Vector*>(added + at);
        });
    row.team.sum(sums);
    // The terms that the sum of `inner`, and the sum of its product with the norm, subtract from an
    // element's gradient; the second is multiplied by the norm.
    const float scale = of.inverse * share;
    const float sum = p.centered ? sums[0] * scale : 0, product = sums[1] * scale;
    T* const dx = static_cast<T*>(p.dx) + row.begin;
    row.each([&](int group, int at) {
        float(&out)[kCount] = inner[group];
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            out[k] = out[k] * of.inverse - sum - values[group][k] * product;
        if (p.added != nullptr) {
            float more_of[kCount];
            widen(more_of, others[group]);
#pragma unroll
            for (int k = 0; k < kCount; ++k) out[k] += more_of[k];
        }
        store<kCount>(dx + at, out);
    });
}

// Gradients of a block's rows, and the block's sums of the parameters' gradients.
template <bool kStaged, int kHeld, typename T, int kCount>
__device__ __forceinline__ void row_norm_gradients(const NormGradient& p, const Stage& stage,
                                                   float* shared) {
    static_assert(!kStaged || kCount * sizeof(T) == sizeof(uint4), "a copy is of 16 bytes");
    using Held = Row<kCount, kHeld>;
    const int size = static_cast<int>(p.team), width = static_cast<int>(p.width);
    int own;
    const Team team = Team::of_thread(size, shared, own);
    const unsigned at_once = blockDim.x >> Team::log2_of(size);
    float of_weight[Held::kGroups][kCount] = {}, of_bias[Held::kGroups][kCount] = {};
    const unsigned rows = static_cast<unsigned>(p.rows), step = gridDim.x * at_once;
    const auto held_of = [&](unsigned row) {
        return Held{team, row < rows ? width : 0, width, row * p.width};
    };
    constexpr unsigned kAhead = kStaged ? Stage::kRows<kCount> : 1;
    if constexpr (kStaged) {
#pragma unroll
        for (unsigned i = 0; i < kAhead; ++i) {
            const Held row = held_of(blockIdx.x * at_once + own + i * step);
            row.each([&](int group, int at) {
                stage.template copy<kCount>(group, 0, static_cast<const T*>(p.x) + row.begin + at);
                stage.template copy<kCount>(group, 1,
                                            static_cast<const T*>(p.grad) + row.begin + at);
            });
            stage.end_row(), stage.template next<kCount>();
        }
    }
    // The next row's moments arrive while the current row is processed.
    const auto moments_of = [&](unsigned row) {
        return row < rows ? Moments::load(p.statistics + 2ll * row) : Moments{0.f, 0.f};
    };
    Moments next = moments_of(blockIdx.x * at_once + own);
    const long long ahead = 1ll * kAhead * step * width;
    const float share = share_of(width);
    // The trip count is the same for all teams of a block, since they synchronize.
    for (unsigned first = blockIdx.x * at_once; first < rows; first += step) {
        const unsigned row = first + own;
        const Moments of = next;
        next = moments_of(row + step);
        row_norm_gradient<kStaged, T>(p, held_of(row), of, stage, row + kAhead * step < rows, ahead,
                                      share, of_weight, of_bias);
    }
    pdl_launch_dependents();
    if (p.partial == nullptr) return;
    float* to = p.partial + (1ll * blockIdx.x * at_once + own) * 2 * p.width;
    Held{team, width, width, 0}.each([&](int group, int at) {
        store<kCount>(to + at, of_weight[group]);
        store<kCount>(to + p.width + at, of_bias[group]);
    });
}

}  // namespace fusion
}  // namespace styleforge
