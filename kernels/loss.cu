// Losses for any model: cross-entropy by an online softmax over a row of logits and its gradient, and
// the sum of squared differences. FP16 and BF16 are computed in FP32, FP64 in FP64.
#include <math.h>

#include "include/elementwise/group.cuh"
#include "include/loss/rows.h"

namespace styleforge {
namespace loss {

using elementwise::Computed;

constexpr int kMostThreads = 512;
constexpr int kLoads = 2;  // of 16 bytes, that a thread has under way

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

// The sum, or the largest, of what the threads of a block have; their number is a power of 2. Its
// order is fixed.
template <typename A>
__device__ __forceinline__ A over_block(A value, bool largest) {
    __shared__ A values[kMostThreads];
    __syncthreads();  // of the call before, every thread has read its result
    values[threadIdx.x] = value;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x >= half) continue;
        const A one = values[threadIdx.x], other = values[threadIdx.x + half];
        values[threadIdx.x] = !largest ? one + other : other > one ? other : one;
    }
    __syncthreads();
    return values[0];
}

// Calls `use(at, vector)` for every element of a row, by vectors of 16 bytes wherever it begins, and
// for what fills none by vectors of one.
template <typename T, typename F>
__device__ __forceinline__ void each_vector(const T* x, int count, const F& use) {
    constexpr int kCount = kVectorSize<T>;
    const int unaligned = static_cast<int>(reinterpret_cast<size_t>(x) % 16 / sizeof(T));
    const int head = min(count, (kCount - unaligned) % kCount);
    const int vectors = (count - head) / kCount, step = static_cast<int>(blockDim.x);
    const auto* from = reinterpret_cast<const AlignedVector<T, kCount>*>(x + head);
    int i = static_cast<int>(threadIdx.x);
    for (; i + (kLoads - 1) * step < vectors; i += kLoads * step) {
        AlignedVector<T, kCount> loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) loaded[k] = from[i + k * step];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) use(head + (i + k * step) * kCount, loaded[k]);
    }
    for (; i < vectors; i += step) use(head + i * kCount, from[i]);
    for (i = static_cast<int>(threadIdx.x); i < count - vectors * kCount; i += step) {
        const int at = i < head ? i : i + vectors * kCount;
        use(at, AlignedVector<T, 1>{{x[at]}});
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
        each_vector(x, classes, [&](int at, const auto& vector) {
            constexpr int kCount = sizeof(vector) / sizeof(T);
            A values[kCount], largest = -infinity;
#pragma unroll
            for (int k = 0; k < kCount; ++k) {
                values[k] = Computed<T>::from(vector.element[k]);
                largest = fmax(values[k], largest);  // passes over NaN, which the sum keeps
                if (smoothing != A(0)) linear += weight ? weight[at + k] * values[k] : values[k];
            }
            largest *= log2e;
            if (largest > shift) {
                sum *= Functions::exp2(shift - largest);
                shift = largest;
            }
            const A base = shift == -infinity ? A(0) : shift;
#pragma unroll
            for (int k = 0; k < kCount; ++k) sum += Functions::exp2(values[k] * log2e - base);
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
    each_vector(x, classes, [&](int at, const auto& vector) {
        constexpr int kCount = sizeof(vector) / sizeof(T);
        AlignedVector<T, kCount> result;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            const A value = Computed<T>::from(vector.element[k]);
            A found = of_softmax * Functions::exp2(value * log2e - base);
            if (smoothing != A(0)) found -= weight ? flat * weight[at + k] : flat;
            if (at + k == own) found -= of_label;
            result.element[k] = Computed<T>::to(valid ? found : A(0));
        }
        if (same) {
            *reinterpret_cast<AlignedVector<T, kCount>*>(gradient + at) = result;
        } else {
#pragma unroll
            for (int k = 0; k < kCount; ++k) gradient[at + k] = result.element[k];
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
    const auto add = [&](T one, T other) {
        const A apart = Computed<T>::from(one) - Computed<T>::from(other);
        sum += apart * apart;
    };
    const bool aligned = (reinterpret_cast<size_t>(x) | reinterpret_cast<size_t>(y)) % 16 == 0;
    const long long first = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
    const long long step = 1ll * gridDim.x * blockDim.x, vectors = aligned ? count / kCount : 0;
#pragma unroll 2
    for (long long i = first; i < vectors; i += step) {
        const auto one = reinterpret_cast<const AlignedVector<T, kCount>*>(x)[i];
        const auto other = reinterpret_cast<const AlignedVector<T, kCount>*>(y)[i];
#pragma unroll
        for (int k = 0; k < kCount; ++k) add(one.element[k], other.element[k]);
    }
    for (long long i = vectors * kCount + first; i < count; i += step) add(x[i], y[i]);
    sum = over_block(sum, false);
    if (threadIdx.x == 0) static_cast<A*>(parts)[blockIdx.x] = sum * static_cast<A>(scale);
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
    const auto run = [&](auto element) {
        using T = decltype(element);
        loss::squared_error<T>(static_cast<const T*>(x), static_cast<const T*>(y), parts, count,
                               scale);
    };
    if (type == kHalf)
        run(__half{});
    else if (type == kBFloat16)
        run(__nv_bfloat16{});
    else if (type == kFloat)
        run(0.f);
    else
        run(0.);
}

// The sum of `parts`, which are FP32 or of FP64 FP64, as the type of the loss; by one block.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_squared_error_total(const void* parts, void* total, long long type,
                                   long long count) {
    using namespace styleforge;
    const auto run = [&](auto element) {
        using T = decltype(element);
        using A = typename loss::Computed<T>::Type;
        A sum = A(0);
#pragma unroll 2
        for (long long i = threadIdx.x; i < count; i += blockDim.x)
            sum += static_cast<const A*>(parts)[i];
        sum = loss::over_block(sum, false);
        if (threadIdx.x == 0) *static_cast<T*>(total) = loss::Computed<T>::to(sum);
    };
    if (type == kHalf)
        run(__half{});
    else if (type == kBFloat16)
        run(__nv_bfloat16{});
    else if (type == kFloat)
        run(0.f);
    else
        run(0.);
}
