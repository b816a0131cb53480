// Losses for any model: cross-entropy with an online softmax over a row of logits, its gradient,
// and the sum of squared differences. FP16 and BF16 are computed in FP32, FP64 in FP64.
#include <math.h>

#include "include/common/with_type.cuh"
#include "ops/general/elementwise/group.cuh"
#include "rows.h"

namespace styleforge {
namespace loss {

using elementwise::Computed;

constexpr int kMostThreads = 512;
constexpr int kLoads = 4;  // 16-byte loads of a row that a thread has in flight
constexpr int kRowsAtOnce = 8;  // rows whose losses and labels a thread of the total has in flight
constexpr int kGradientLoads = 2;  // per tensor, of two; GRADIENT_LOADS in squares.py
constexpr int kScaled = 4;         // vectors per thread; LOADS in scaling.py

template <typename A>  // -INFINITY, but finite
constexpr A kLowest = sizeof(A) == sizeof(double) ? -1.7976931348623157e308 : -3.402823466e38f;

struct Functions {
    static __device__ __forceinline__ float exp2(float v) {
#ifdef __CUDA_ARCH__
        // exp2f takes three more instructions for results below 2^-126, which this flushes to 0.
        asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));
        return v;
#else
        return exp2f(v);
#endif
    }
    static __device__ __forceinline__ float log2(float v) { return log2f(v); }
    static __device__ __forceinline__ double exp2(double v) { return ::exp2(v); }
    static __device__ __forceinline__ double log2(double v) { return ::log2(v); }
};

// Returns the sum or the maximum over the threads of a block of whole warps, in a fixed order.
template <typename A>
__device__ __forceinline__ A over_block(A value, bool largest) {
    __shared__ A values[kMostThreads / 32];
    const auto over_lanes = [&](int first) {
#pragma unroll
        for (int step = first; step > 0; step /= 2) {
            const A other = __shfl_xor_sync(0xffffffffu, value, step);
            value = !largest ? value + other : other > value ? other : value;
        }
    };
    over_lanes(16);
    const unsigned warps = blockDim.x / 32, lane = threadIdx.x % 32;
    __syncthreads();  // every thread has read the previous call's result
    if (lane == 0) values[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < warps ? values[lane] : largest ? A(-INFINITY) : A(0);
    over_lanes(16);
    return value;
}

// Calls `use(at, vector)` for every element of a row; element i of the vector is the row's element
// `at + i`. Vectors have 16 bytes wherever the row begins; other elements come singly. After using
// a vector, a thread loads the one kLoads further on, so that its other loads stay in flight. `use`
// may overwrite its part of the row.
template <typename T, typename F>
__device__ __forceinline__ void each_vector(const T* x, int count, const F& use) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    const int unaligned = static_cast<int>(reinterpret_cast<size_t>(x) % 16 / sizeof(T));
    const int head = min(count, (kCount - unaligned) % kCount);
    const int vectors = (count - head) / kCount, step = static_cast<int>(blockDim.x);
    using Words = AlignedVector<unsigned, 4>;
    const auto* from = reinterpret_cast<const Words*>(x + head);
    int i = static_cast<int>(threadIdx.x);
    if (i < vectors) {
        // Words, and beyond the end the last ones again: 16-bit elements and conditional loads
        // would be copied from their load registers, and the copy waits for the load.
        const int last = vectors - 1;
        Words loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) loaded[k] = from[min(i + k * step, last)];
        for (; i < vectors; i += kLoads * step) {
#pragma unroll
            for (int k = 0; k < kLoads; ++k) {
                const int own = i + k * step;
                if (own >= vectors) break;
                const Words words = loaded[k];
                use(head + own * kCount, reinterpret_cast<const Vector&>(words));
                loaded[k] = from[min(own + kLoads * step, last)];
            }
        }
    }
    for (i = static_cast<int>(threadIdx.x); i < count - vectors * kCount; i += step) {
        const int at = i < head ? i : i + vectors * kCount;
        use(at, AlignedVector<T, 1>{{x[at]}});
    }
}

template <int kCount, typename A>
__device__ __forceinline__ A largest_of(const A (&values)[kCount]) {
    A largest = values[0];
#pragma unroll
    for (int i = 1; i < kCount; ++i) largest = fmax(values[i], largest);  // ignores NaN
    return largest;
}

// The loss of one row, its gradient, or both.
template <typename T, typename A>
__device__ __forceinline__ void cross_entropy(const T* x, long long label, const A* weight,
                                              A factor, A* loss, A* lse, T* gradient,
                                              int classes, bool valid, A smoothing, bool known) {
    const A log2e = A(1.44269504088896340736), ln2 = A(0.69314718055994530942);
    const A nan = A(INFINITY) - A(INFINITY);
    const bool inside = label >= 0 && label < classes;
    const A each = smoothing / static_cast<A>(classes);
    const A hit = !inside    ? nan
                  : !weight ? A(1) - smoothing
                            : (A(1) - smoothing) * weight[label];
    A all_weights = static_cast<A>(classes);
    if (weight != nullptr && smoothing != A(0)) {
        A sum = A(0);
        for (int i = static_cast<int>(threadIdx.x); i < classes; i += static_cast<int>(blockDim.x))
            sum += weight[i];
        all_weights = over_block(sum, false);
    }
    A log_sum;
    if (known) {
        log_sum = *lse;
    } else {
        // shift: the largest logit so far, times log2e. It starts finite, so that exp2 of a
        // difference is a number even if all logits are -infinity. With a NaN, the sum is NaN.
        A shift = kLowest<A>, sum = A(0), linear = A(0);
        each_vector(x, classes, [&](int at, const auto& vector) {
            constexpr int kCount = sizeof(vector) / sizeof(T);
            A values[kCount], powers = A(0);
            elementwise::take<T>(values, vector);
            if (smoothing != A(0)) {
#pragma unroll
                for (int i = 0; i < kCount; ++i)
                    linear += weight ? weight[at + i] * values[i] : values[i];
            }
            const A base = fmax(largest_of(values) * log2e, shift);
#pragma unroll
            for (int i = 0; i < kCount; ++i) powers += Functions::exp2(values[i] * log2e - base);
            sum = sum * Functions::exp2(shift - base) + powers;
            shift = base;
        });
        const A largest = over_block(shift, true);
        sum = over_block(sum * Functions::exp2(shift - largest), false);
        log_sum = (largest + Functions::log2(sum)) * ln2;
        if (smoothing != A(0)) linear = over_block(linear, false);
        if (threadIdx.x == 0) {
            *lse = log_sum;
            A found = inside ? hit * (log_sum - Computed<T>::from(x[label])) : nan;
            if (smoothing != A(0)) found += each * (all_weights * log_sum - linear);
            *loss = valid ? found : A(0);
        }
        __syncthreads();  // the gradient may overwrite the logits
    }
    if (gradient == nullptr) return;
    const A of_softmax = factor * (hit + each * all_weights), flat = factor * each;
    const A of_label = factor * hit, base = log_sum * log2e;
    const int own = inside ? static_cast<int>(label) : -1;
    const bool same = (reinterpret_cast<size_t>(gradient) - reinterpret_cast<size_t>(x)) % 16 == 0;
    each_vector(x, classes, [&](int at, const auto& vector) {
        constexpr int kCount = sizeof(vector) / sizeof(T);
        AlignedVector<T, kCount> result = {};
        if (valid) {
            A values[kCount];
            elementwise::take<T>(values, vector);
#pragma unroll
            for (int i = 0; i < kCount; ++i)
                values[i] = of_softmax * Functions::exp2(values[i] * log2e - base);
            if (smoothing != A(0)) {
#pragma unroll
                for (int i = 0; i < kCount; ++i)
                    values[i] -= weight ? flat * weight[at + i] : flat;
            }
            if (own >= at && own < at + kCount) {
#pragma unroll
                for (int i = 0; i < kCount; ++i)
                    if (at + i == own) values[i] -= of_label;
            }
#pragma unroll
            for (int i = 0; i < kCount; ++i) result.element[i] = Computed<T>::to(values[i]);
        }
        if (same) {
            *reinterpret_cast<AlignedVector<T, kCount>*>(gradient + at) = result;
        } else {
#pragma unroll
            for (int i = 0; i < kCount; ++i) gradient[at + i] = result.element[i];
        }
    });
}

// The sum of (x - y)^2 over a block's elements, times `scale`.
template <typename T>
__device__ __forceinline__ void squared_error(const T* x, const T* y, void* parts,
                                              long long count, double scale) {
    using A = typename Computed<T>::Type;
    constexpr int kCount = kVectorSize<T>;
    A sum = A(0);
    const auto add = [&](const auto& one, const auto& other) {
        constexpr int kEach = sizeof(one) / sizeof(T);
        A ones[kEach], others[kEach];
        elementwise::take<T>(ones, one);
        elementwise::take<T>(others, other);
#pragma unroll
        for (int k = 0; k < kEach; ++k) sum += (ones[k] - others[k]) * (ones[k] - others[k]);
    };
    const bool aligned = (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0;
    const long long first = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    const long long step = 1ll * gridDim.x * blockDim.x, vectors = aligned ? count / kCount : 0;
#pragma unroll 4
    for (long long i = first; i < vectors; i += step) {
        const auto one = reinterpret_cast<const AlignedVector<T, kCount>*>(x)[i];
        const auto other = reinterpret_cast<const AlignedVector<T, kCount>*>(y)[i];
        add(one, other);
    }
    using One = AlignedVector<T, 1>;
    for (long long i = vectors * kCount + first; i < count; i += step)
        add(One{{x[i]}}, One{{y[i]}});
    sum = over_block(sum, false);
    if (threadIdx.x == 0) static_cast<A*>(parts)[blockIdx.x] = sum * static_cast<A>(scale);
}

// dx = (x - y) * factor, with kGradientLoads vectors per thread.
template <typename T>
__device__ __forceinline__ void squared_error_gradient(const T* x, const T* y, T* dx,
                                                       long long count,
                                                       typename Computed<T>::Type factor) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    const auto of = [&](const auto& one, const auto& other) {
        constexpr int kEach = sizeof(one) / sizeof(T);
        typename Computed<T>::Type ones[kEach], others[kEach];
        elementwise::take<T>(ones, one);
        elementwise::take<T>(others, other);
        AlignedVector<T, kEach> made;
#pragma unroll
        for (int k = 0; k < kEach; ++k)
            made.element[k] = Computed<T>::to((ones[k] - others[k]) * factor);
        return made;
    };
    const long long tile = 1ll * kGradientLoads * blockDim.x * kCount, begin = blockIdx.x * tile;
    const size_t places = reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y) |
                          reinterpret_cast<size_t>(dx);
    if (places % 16 != 0 || begin + tile > count) {
        using One = AlignedVector<T, 1>;
        const long long end = begin + tile < count ? begin + tile : count;
        for (long long i = begin + threadIdx.x; i < end; i += blockDim.x)
            dx[i] = of(One{{x[i]}}, One{{y[i]}}).element[0];
        return;
    }
    Vector ones[kGradientLoads], others[kGradientLoads];
    const long long first = begin + threadIdx.x * kCount, step = blockDim.x * kCount;
#pragma unroll
    for (int k = 0; k < kGradientLoads; ++k) {
        ones[k] = *reinterpret_cast<const Vector*>(x + first + k * step);
        others[k] = *reinterpret_cast<const Vector*>(y + first + k * step);
    }
#pragma unroll
    for (int k = 0; k < kGradientLoads; ++k)
        *reinterpret_cast<Vector*>(dx + first + k * step) = of(ones[k], others[k]);
}

// A label's part of a mean's divisor: its weight, or 0 if it is ignored.
template <typename A>
__device__ __forceinline__ A weight_of(const StyleforgeTotal& p, long long label) {
    if (label == p.ignore_index) return A(0);
    if (p.weight == nullptr) return A(1);
    const long long last = p.classes - 1, at = label < 0 ? 0 : label > last ? last : label;
    return static_cast<const A*>(p.weight)[at];
}

template <typename A>
__device__ __forceinline__ void total_of(const StyleforgeTotal& p) {
    A sum = A(0), weights = A(0);
    const long long step = blockDim.x;
    for (long long row = threadIdx.x; row < p.rows; row += kRowsAtOnce * step) {
        A losses[kRowsAtOnce] = {};
        long long labels[kRowsAtOnce];
#pragma unroll
        for (int k = 0; k < kRowsAtOnce; ++k) {
            const long long at = row + k * step;
            const bool is_row = at < p.rows;
            if (is_row) losses[k] = static_cast<const A*>(p.losses)[at];
            labels[k] = is_row ? p.labels[at] : p.ignore_index;
        }
#pragma unroll
        for (int k = 0; k < kRowsAtOnce; ++k) {
            sum += losses[k];
            weights += weight_of<A>(p, labels[k]);
        }
    }
    sum = over_block(sum, false);
    weights = over_block(weights, false);
    if (threadIdx.x != 0) return;
    const A divisor = p.is_mean ? weights : A(1);
    *static_cast<A*>(p.divisor) = divisor;
    by_type<true>(p.type, [&](auto element) {
        using T = decltype(element);
        using Wide = typename Computed<T>::Type;
        *static_cast<T*>(p.total) = Computed<T>::to(static_cast<Wide>(sum / divisor));
    });
}

// x *= factor, with kScaled vectors per thread.
template <typename T>
__device__ __forceinline__ void scale(T* x, long long count, typename Computed<T>::Type factor) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    const auto scaled = [&](const auto& vector) {
        constexpr int kEach = sizeof(vector) / sizeof(T);
        typename Computed<T>::Type values[kEach];
        elementwise::take<T>(values, vector);
        AlignedVector<T, kEach> made;
#pragma unroll
        for (int k = 0; k < kEach; ++k) made.element[k] = Computed<T>::to(values[k] * factor);
        return made;
    };
    const long long tile = 1ll * kScaled * blockDim.x * kCount, begin = blockIdx.x * tile;
    if (reinterpret_cast<size_t>(x) % 16 != 0 || begin + tile > count) {
        const long long end = begin + tile < count ? begin + tile : count;
        for (long long i = begin + threadIdx.x; i < end; i += blockDim.x)
            x[i] = scaled(AlignedVector<T, 1>{{x[i]}}).element[0];
        return;
    }
    auto* const at = reinterpret_cast<Vector*>(x + begin) + threadIdx.x;
    Vector loaded[kScaled];
#pragma unroll
    for (int k = 0; k < kScaled; ++k) loaded[k] = at[k * blockDim.x];
#pragma unroll
    for (int k = 0; k < kScaled; ++k) at[k * blockDim.x] = scaled(loaded[k]);
}

template <typename T>
__device__ __forceinline__ void row_of(const StyleforgeRows& p) {
    using A = typename Computed<T>::Type;
    const unsigned row = blockIdx.x, inner = static_cast<unsigned>(p.inner);
    const T* x = static_cast<const T*>(p.logits) + row / inner * p.outer_stride +
                 row % inner * p.inner_stride;
    A factor = A(1);
    if (p.grads != nullptr) {
        const long long at = row * p.grad_step;
        factor = p.are_wide ? static_cast<const A*>(p.grads)[at]
                            : Computed<T>::from(static_cast<const T*>(p.grads)[at]);
    }
    if (p.divisor != nullptr) factor /= *static_cast<const A*>(p.divisor);
    T* gradient = p.gradient ? static_cast<T*>(p.gradient) + row * p.classes : nullptr;
    const long long label = p.labels[row];
    cross_entropy<T>(x, label, static_cast<const A*>(p.weight), factor,
                     static_cast<A*>(p.losses) + row, static_cast<A*>(p.lse) + row, gradient,
                     static_cast<int>(p.classes), label != p.ignore_index,
                     static_cast<A>(p.smoothing), p.known != 0);
}

}  // namespace loss
}  // namespace styleforge

// One block per row. Two fit on a multiprocessor, except for FP64, whose powers take registers.
extern "C" __global__ void __launch_bounds__(512, 2)
    styleforge_cross_entropy_float32(const StyleforgeRows p) {
    styleforge::loss::row_of<float>(p);
}
extern "C" __global__ void __launch_bounds__(512, 2)
    styleforge_cross_entropy_float16(const StyleforgeRows p) {
    styleforge::loss::row_of<__half>(p);
}
extern "C" __global__ void __launch_bounds__(512, 2)
    styleforge_cross_entropy_bfloat16(const StyleforgeRows p) {
    styleforge::loss::row_of<__nv_bfloat16>(p);
}
extern "C" __global__ void __launch_bounds__(512, 1)
    styleforge_cross_entropy_float64(const StyleforgeRows p) {
    styleforge::loss::row_of<double>(p);
}

// The loss of all rows from the rows' losses, and the divisor of a mean.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_cross_entropy_total(const StyleforgeTotal p) {
    if (p.is_wide)
        styleforge::loss::total_of<double>(p);
    else
        styleforge::loss::total_of<float>(p);
}

// x *= grad / divisor, or 0 if the divisor is 0. `grad_type`: the type of grad. If x is FP64, all
// are FP64; otherwise divisor is FP32.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_scale(void* x, const void* grad, const void* divisor, long long type,
                     long long grad_type, long long count) {
    using namespace styleforge;
    by_type<true>(type, [&](auto element) {
        using T = decltype(element);
        using A = typename loss::Computed<T>::Type;
        A factor = A(0);
        const A by = *static_cast<const A*>(divisor);
        by_type<true>(grad_type, [&](auto given) {
            using G = decltype(given);
            factor = static_cast<A>(loss::Computed<G>::from(*static_cast<const G*>(grad)));
        });
        factor = by == A(0) ? A(0) : factor / by;
        loss::scale(static_cast<T*>(x), count, factor);
    });
}

// parts[block]: a block's part of the sum of (x - y)^2, times `scale`, in FP64 for FP64, else in
// FP32.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_squared_error(const void* x, const void* y, void* parts, long long type,
                             long long count, double scale) {
    using namespace styleforge;
    by_type<true>(type, [&](auto element) {
        using T = decltype(element);
        loss::squared_error<T>(static_cast<const T*>(x), static_cast<const T*>(y), parts, count,
                               scale);
    });
}

// Adds up `parts` (FP64 for FP64, else FP32) into the loss's type, in one block.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_squared_error_total(const void* parts, void* total, long long type,
                                   long long count) {
    using namespace styleforge;
    by_type<true>(type, [&](auto element) {
        using T = decltype(element);
        using A = typename loss::Computed<T>::Type;
        A sum = A(0);
#pragma unroll 2
        for (long long i = threadIdx.x; i < count; i += blockDim.x)
            sum += static_cast<const A*>(parts)[i];
        sum = loss::over_block(sum, false);
        if (threadIdx.x == 0) *static_cast<T*>(total) = loss::Computed<T>::to(sum);
    });
}

// dx = (x - y) * scale * grad, where grad is a single number.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_squared_error_gradient(const void* grad, const void* x, const void* y, void* dx,
                                      long long type, long long count, double scale) {
    using namespace styleforge;
    by_type<true>(type, [&](auto element) {
        using T = decltype(element);
        using A = typename loss::Computed<T>::Type;
        loss::squared_error_gradient<T>(
            static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(dx), count,
            static_cast<A>(scale) * loss::Computed<T>::from(*static_cast<const T*>(grad)));
    });
}
