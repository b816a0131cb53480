// Losses for any model: cross-entropy by an online softmax over a row of logits and its gradient, and
// the sum of squared differences. FP16 and BF16 are computed in FP32, FP64 in FP64.
#include <math.h>

#include "include/elementwise/group.cuh"
#include "include/loss/rows.h"

namespace styleforge {
namespace loss {

using elementwise::Computed;

constexpr int kMostThreads = 512;
constexpr int kLoads = 4;  // of 16 bytes, that a thread has under way
constexpr int kGradientLoads = 2;  // of each of two tensors; GRADIENT_LOADS in squares.py

struct Functions {
    static __device__ __forceinline__ float exp2(float v) {
#ifdef __CUDA_ARCH__
        // exp2f takes three instructions more, for results below 2^-126, which this makes 0.
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

// The sum, or the largest, of what the threads of a block have, whole warps. Its order is fixed.
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
    __syncthreads();  // of the call before, every thread has read its result
    if (lane == 0) values[threadIdx.x / 32] = value;
    __syncthreads();
    value = lane < warps ? values[lane] : largest ? A(-INFINITY) : A(0);
    over_lanes(16);
    return value;
}

// Calls `use(at, apart, vectors)` for every element of a row, where element i of vector k is that at
// `at + k * apart + i`: by vectors of 16 bytes wherever the row begins, kLoads at a time where it has
// as many, and for what fills none by one of one element.
template <typename T, typename F>
__device__ __forceinline__ void each_vector(const T* x, int count, const F& use) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    const int unaligned = static_cast<int>(reinterpret_cast<size_t>(x) % 16 / sizeof(T));
    const int head = min(count, (kCount - unaligned) % kCount);
    const int vectors = (count - head) / kCount, step = static_cast<int>(blockDim.x);
    const auto* from = reinterpret_cast<const Vector*>(x + head);
    int i = static_cast<int>(threadIdx.x);
    for (; i + (kLoads - 1) * step < vectors; i += kLoads * step) {
        Vector loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) loaded[k] = from[i + k * step];
        use(head + i * kCount, step * kCount, loaded);
    }
    for (; i < vectors; i += step) {
        const Vector loaded[1] = {from[i]};
        use(head + i * kCount, 0, loaded);
    }
    for (i = static_cast<int>(threadIdx.x); i < count - vectors * kCount; i += step) {
        const int at = i < head ? i : i + vectors * kCount;
        const AlignedVector<T, 1> loaded[1] = {{{x[at]}}};
        use(at, 0, loaded);
    }
}

// The loss of one row, its gradient, or both.
template <typename T, typename A>
__device__ __forceinline__ void cross_entropy(const T* x, long long label, const A* weight,
                                              const A* grad, A* loss, A* lse, T* gradient,
                                              int classes, bool valid, A smoothing, bool known) {
    const A log2e = A(1.44269504088896340736), ln2 = A(0.69314718055994530942);
    const A infinity = A(INFINITY), nan = infinity - infinity;
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
        A shift = -infinity, sum = A(0), linear = A(0);  // shift: the largest logit so far, * log2e
        each_vector(x, classes, [&](int at, int apart, const auto& vectors) {
            constexpr int kCount = sizeof(vectors[0]) / sizeof(T);
            constexpr int kVectors = sizeof(vectors) / sizeof(vectors[0]);
            // All at once: the largest changes once for them, and no sum waits for the one before.
            A values[kVectors][kCount], largest[kVectors], sums[kVectors] = {};
#pragma unroll
            for (int k = 0; k < kVectors; ++k) {
                largest[k] = -infinity;
                elementwise::take<T>(values[k], vectors[k]);
#pragma unroll
                for (int i = 0; i < kCount; ++i)
                    largest[k] = fmax(values[k][i], largest[k]);  // not NaN, which the sum keeps
            }
            if (smoothing != A(0)) {
#pragma unroll
                for (int k = 0; k < kVectors; ++k)
#pragma unroll
                    for (int i = 0; i < kCount; ++i)
                        linear += weight ? weight[at + k * apart + i] * values[k][i] : values[k][i];
            }
#pragma unroll
            for (int k = 1; k < kVectors; ++k) largest[0] = fmax(largest[k], largest[0]);
            largest[0] *= log2e;
            if (largest[0] > shift) {
                sum *= Functions::exp2(shift - largest[0]);
                shift = largest[0];
            }
            const A base = shift == -infinity ? A(0) : shift;
#pragma unroll
            for (int k = 0; k < kVectors; ++k)
#pragma unroll
                for (int i = 0; i < kCount; ++i)
                    sums[k] += Functions::exp2(values[k][i] * log2e - base);
#pragma unroll
            for (int k = 0; k < kVectors; ++k) sum += sums[k];
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
        __syncthreads();  // the gradient may take the place of the logits
    }
    if (gradient == nullptr) return;
    const A factor = grad == nullptr ? A(1) : *grad;
    const A of_softmax = factor * (hit + each * all_weights), flat = factor * each;
    const A of_label = factor * hit, base = log_sum * log2e;
    const int own = inside ? static_cast<int>(label) : -1;
    const bool same = (reinterpret_cast<size_t>(gradient) - reinterpret_cast<size_t>(x)) % 16 == 0;
    each_vector(x, classes, [&](int at, int apart, const auto& vectors) {
        constexpr int kCount = sizeof(vectors[0]) / sizeof(T);
        constexpr int kVectors = sizeof(vectors) / sizeof(vectors[0]);
#pragma unroll
        for (int k = 0; k < kVectors; ++k) {
            const int first = at + k * apart;
            AlignedVector<T, kCount> result;
            A values[kCount];
            elementwise::take<T>(values, vectors[k]);
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
                A found = of_softmax * Functions::exp2(values[i] * log2e - base);
                if (smoothing != A(0)) found -= weight ? flat * weight[first + i] : flat;
                if (first + i == own) found -= of_label;
                result.element[i] = Computed<T>::to(valid ? found : A(0));
            }
            if (same) {
                *reinterpret_cast<AlignedVector<T, kCount>*>(gradient + first) = result;
            } else {
#pragma unroll
                for (int i = 0; i < kCount; ++i) gradient[first + i] = result.element[i];
            }
        }
    });
}

// The sum of (x - y)^2 over what one block has of them, times `scale`.
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

// dx = (x - y) * factor, of kGradientLoads vectors of a thread.
template <typename T>
__device__ __forceinline__ void squared_error_gradient(const T* x, const T* y, T* dx,
                                                       long long count,
                                                       typename Computed<T>::Type factor) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    const auto of = [&](T one, T other) {
        return Computed<T>::to((Computed<T>::from(one) - Computed<T>::from(other)) * factor);
    };
    const long long tile = 1ll * kGradientLoads * blockDim.x * kCount, begin = blockIdx.x * tile;
    const size_t places = reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y) |
                          reinterpret_cast<size_t>(dx);
    if (places % 16 != 0 || begin + tile > count) {
        const long long end = begin + tile < count ? begin + tile : count;
        for (long long i = begin + threadIdx.x; i < end; i += blockDim.x) dx[i] = of(x[i], y[i]);
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
    for (int k = 0; k < kGradientLoads; ++k) {
#pragma unroll
        for (int i = 0; i < kCount; ++i)
            ones[k].element[i] = of(ones[k].element[i], others[k].element[i]);
        *reinterpret_cast<Vector*>(dx + first + k * step) = ones[k];
    }
}

// `use` is called with an element of the type of this number.
template <typename Use>
__device__ __forceinline__ void by_type(long long type, const Use& use) {
    if (type == kHalf)
        use(__half{});
    else if (type == kBFloat16)
        use(__nv_bfloat16{});
    else if (type == kFloat)
        use(0.f);
    else
        use(0.);
}

// Row `blockIdx.x` of a call.
template <typename T>
__device__ __forceinline__ void row_of(const StyleforgeRows& p) {
    using A = typename Computed<T>::Type;
    const unsigned row = blockIdx.x, inner = static_cast<unsigned>(p.inner);
    const T* x = static_cast<const T*>(p.logits) + row / inner * p.outer_stride +
                 row % inner * p.inner_stride;
    const A* grad = p.grads ? static_cast<const A*>(p.grads) + row * p.grad_step : nullptr;
    T* gradient = p.gradient ? static_cast<T*>(p.gradient) + row * p.classes : nullptr;
    const long long label = p.labels[row];
    cross_entropy<T>(x, label, static_cast<const A*>(p.weight), grad,
                     static_cast<A*>(p.losses) + row, static_cast<A*>(p.lse) + row, gradient,
                     static_cast<int>(p.classes), label != p.ignore_index,
                     static_cast<A>(p.smoothing), p.known != 0);
}

}  // namespace loss
}  // namespace styleforge

// A block for each row.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_cross_entropy_float32(const StyleforgeRows p) {
    styleforge::loss::row_of<float>(p);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_cross_entropy_float16(const StyleforgeRows p) {
    styleforge::loss::row_of<__half>(p);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_cross_entropy_bfloat16(const StyleforgeRows p) {
    styleforge::loss::row_of<__nv_bfloat16>(p);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_cross_entropy_float64(const StyleforgeRows p) {
    styleforge::loss::row_of<double>(p);
}

// parts[block]: the block's part of the sum of (x - y)^2, times `scale`, in FP32 or, of FP64, in FP64.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_squared_error(const void* x, const void* y, void* parts, long long type,
                             long long count, double scale) {
    using namespace styleforge;
    loss::by_type(type, [&](auto element) {
        using T = decltype(element);
        loss::squared_error<T>(static_cast<const T*>(x), static_cast<const T*>(y), parts, count,
                               scale);
    });
}

// The sum of `parts`, which are FP32 or of FP64 FP64, as the type of the loss; by one block.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_squared_error_total(const void* parts, void* total, long long type,
                                   long long count) {
    using namespace styleforge;
    loss::by_type(type, [&](auto element) {
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

// dx = (x - y) * scale * grad, where grad is one number.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_squared_error_gradient(const void* grad, const void* x, const void* y, void* dx,
                                      long long type, long long count, double scale) {
    using namespace styleforge;
    loss::by_type(type, [&](auto element) {
        using T = decltype(element);
        using A = typename loss::Computed<T>::Type;
        loss::squared_error_gradient<T>(
            static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(dx), count,
            static_cast<A>(scale) * loss::Computed<T>::from(*static_cast<const T*>(grad)));
    });
}
