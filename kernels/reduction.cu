// Sums over dimensions of what a functor makes of each element, in a fixed order, and their
// gradients. Tensors are [outer, reduced, inner] of any of FP32, FP16 and BF16; sums are FP32.
#include "include/common/team.cuh"
#include "include/common/with_type.cuh"
#include "include/fusion/reductions.h"

namespace styleforge {
namespace fusion {

constexpr int kSumThreads = 256, kAhead = 4;  // loads that wait for no sum

// Sums a thread's elements `from[i * step]`, i in [begin, end) by `stride`, in groups of kCount.
template <int kCount, typename Term, typename T>
__device__ __forceinline__ void add_terms(float (&sums)[kCount], const T* from, long long begin,
                                          long long end, long long stride, long long step) {
    const auto add = [&](const float (&values)[kCount]) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) sums[k] += Term::value(values[k]);
    };
    long long i = begin;
    for (; i + (kAhead - 1) * stride < end; i += kAhead * stride) {
        float values[kAhead][kCount];
#pragma unroll
        for (int a = 0; a < kAhead; ++a) load<kCount>(values[a], from + (i + a * stride) * step);
#pragma unroll
        for (int a = 0; a < kAhead; ++a) add(values[a]);
    }
    for (; i < end; i += stride) {
        float values[kCount];
        load<kCount>(values, from + i * step);
        add(values);
    }
}

}  // namespace fusion
}  // namespace styleforge

// partial: [outer, splits], scaled sums of rows of `reduced` elements. A row has `team` threads.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_reduce_rows(const void* x, float* partial, long long type, int vector,
                           long long term, long long outer, long long reduced, long long splits,
                           long long team, double scale) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const int size = static_cast<int>(team);
    const Team own{size, static_cast<int>(threadIdx.x) % size, shared};
    const long long part = 1ll * blockIdx.x * (blockDim.x / size) + threadIdx.x / size;
    const long long row = part / splits, split = part % splits;
    float sum = 0;
    if (row < outer)
        with_type(type, vector, [&](auto element, auto count) {
            using T = decltype(element);
            constexpr int kCount = decltype(count)::value;
            const long long groups = reduced / kCount;
            const long long begin = groups * split / splits, end = groups * (split + 1) / splits;
            with_term(term, [&](auto function) {
                float sums[kCount] = {};
                add_terms<kCount, decltype(function)>(
                    sums, static_cast<const T*>(x) + row * reduced, begin + own.lane, end, size,
                    kCount);
#pragma unroll
                for (int k = 0; k < kCount; ++k) sum += sums[k];
            });
        });
    sum = own.sum(sum);
    if (row < outer && own.lane == 0) partial[part] = sum * static_cast<float>(scale);
}

// partial: [outer, splits, inner], scaled sums of columns, one or a vector of them for a thread.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_reduce_columns(const void* x, float* partial, long long type, int vector,
                              long long term, long long outer, long long reduced,
                              long long inner, long long splits, double scale) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    with_type(type, vector, [&](auto element, auto count) {
        using T = decltype(element);
        constexpr int kCount = decltype(count)::value;
        const long long groups = inner / kCount;
        const long long thread = 1ll * blockIdx.x * blockDim.x + threadIdx.x;
        if (thread >= outer * splits * groups) return;
        const long long at = thread % groups * kCount, part = thread / groups;
        const long long row = part / splits, split = part % splits;
        with_term(term, [&](auto function) {
            float sums[kCount] = {};
            add_terms<kCount, decltype(function)>(
                sums, static_cast<const T*>(x) + row * reduced * inner + at,
                reduced * split / splits, reduced * (split + 1) / splits, 1, inner);
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                partial[part * inner + at + k] = sums[k] * static_cast<float>(scale);
        });
    });
}

// dx = grad[outer, inner] * scale * the derivative at x.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_reduce_backward(const void* x, const float* grad, void* dx, long long type,
                               int vector, long long term, long long count, long long reduced,
                               long long inner, double scale) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        with_term(term, [&](auto function) {
            const long long step = 1ll * gridDim.x * blockDim.x * kCount;
            for (long long i = (1ll * blockIdx.x * blockDim.x + threadIdx.x) * kCount; i < count;
                 i += step) {
                const float* from;  // of the first element; the others' follow, if inner > 1
                if (count <= 0x7fffffff) {
                    const unsigned at = static_cast<unsigned>(i), in = static_cast<unsigned>(inner);
                    from = grad + at / (static_cast<unsigned>(reduced) * in) * in + at % in;
                } else {
                    from = grad + i / (reduced * inner) * inner + i % inner;
                }
                float v[kCount];
                load<kCount>(v, static_cast<const T*>(x) + i);
#pragma unroll
                for (int k = 0; k < kCount; ++k)
                    v[k] = from[inner > 1 ? k : 0] * static_cast<float>(scale) *
                           decltype(function)::slope(v[k]);
                store<kCount>(static_cast<T*>(dx) + i, v);
            }
        });
    });
}
