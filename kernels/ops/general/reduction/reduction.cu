// Sums of a functor's values over dimensions, in a fixed order, and their gradients. Tensors are
// [outer, reduced, inner] in FP32, FP16 or BF16; sums are FP32.
#include "include/common/team.cuh"
#include "include/common/with_type.cuh"
#include "reductions.h"

namespace styleforge {
namespace fusion {

// A thread's loads in flight before it computes, as in reductions.py.
constexpr int kAhead = 8, kAheadBackward = 4;

// The term of an element that is already a sum.
struct Summand {
    static __device__ __forceinline__ float value(float x) { return x; }
};

// Like `with_term`, with 2 for elements that are already sums.
template <typename Use>
__device__ __forceinline__ void with_summed(long long number, const Use& use) {
    if (number == 2)
        use(Summand{});
    else
        with_term(number, use);
}

// Sums a thread's elements `from[i * step]` in groups of kCount, i in [begin, end): batches of
// kAhead loads `stride` apart, with `jump` between batches.
template <int kCount, typename Term, typename T>
__device__ __forceinline__ void add_terms(float (&sums)[kCount], const T* from, long long begin,
                                          long long end, long long stride, long long jump,
                                          long long step) {
    const auto take = [&](long long i, auto whole) {
        constexpr bool kWhole = decltype(whole)::value;
        AlignedVector<T, kCount> loaded[kAhead];
        const T* const first = from + i * step;
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            // Beyond the end, the first is read again, so that no load is conditional.
            const T* const at = kWhole || i + a * stride < end ? first + a * stride * step : first;
            loaded[a] = *reinterpret_cast<const AlignedVector<T, kCount>*>(at);
        }
#pragma unroll
        for (int a = 0; a < kAhead; ++a) {
            if (!kWhole && i + a * stride >= end) continue;
            float values[kCount];
            widen(values, loaded[a]);
#pragma unroll
            for (int k = 0; k < kCount; ++k) sums[k] += Term::value(values[k]);
        }
    };
    long long i = begin;
    for (; i + (kAhead - 1) * stride < end; i += jump)
        take(i, std::integral_constant<bool, true>{});
    if (i < end) take(i, std::integral_constant<bool, false>{});
}

// Stores sums as the type with this number.
template <int kCount>
__device__ __forceinline__ void store_sums(void* to, long long type, long long at,
                                           const float (&sums)[kCount]) {
    if (type == kHalf)
        store<kCount>(static_cast<__half*>(to) + at, sums);
    else if (type == kBFloat16)
        store<kCount>(static_cast<__nv_bfloat16*>(to) + at, sums);
    else
        store<kCount>(static_cast<float*>(to) + at, sums);
}

}  // namespace fusion
}  // namespace styleforge

// sums: [outer, splits] of the type `made`, scaled sums of rows of `reduced` elements. A split has
// `chunk` loads and `team` threads, a power of two.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_reduce_rows(const void* x, void* sums, long long type, int vector, long long made,
                           long long term, long long outer, long long reduced, long long splits,
                           long long chunk, long long team, double scale) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    __shared__ float shared[Team::kShared];
    const int size = static_cast<int>(team);
    int number;
    const Team own = Team::of_thread(size, shared, number);
    const long long part = 1ll * blockIdx.x * (blockDim.x >> Team::log2_of(size)) + number;
    // Split rows are few, and a 64-bit division is long.
    const unsigned narrow = static_cast<unsigned>(part), of_row = static_cast<unsigned>(splits);
    const long long row = splits == 1 ? part : narrow / of_row;
    const long long split = splits == 1 ? 0 : narrow % of_row;
    float found[1] = {};
    if (row < outer)
        with_type(type, vector, [&](auto element, auto count) {
            using T = decltype(element);
            constexpr int kCount = decltype(count)::value;
            const long long groups = reduced / kCount, begin = chunk * split;
            const long long end = groups - begin < chunk ? groups : begin + chunk;
            with_summed(term, [&](auto function) {
                float each[kCount] = {};
                // A warp's batch is contiguous.
                add_terms<kCount, decltype(function)>(
                    each, static_cast<const T*>(x) + row * reduced,
                    begin + own.lane / 32 * (32 * kAhead) + own.lane % 32, end, 32, size * kAhead,
                    kCount);
#pragma unroll
                for (int k = 0; k < kCount; ++k) found[0] += each[k];
            });
        });
    own.sum(found);
    found[0] *= static_cast<float>(scale);
    if (row < outer && own.lane == 0) store_sums(sums, made, part, found);
}

// sums: [outer, splits, inner] of the type `made`, scaled sums of columns, one or a vector of them
// per thread.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_reduce_columns(const void* x, void* sums, long long type, int vector,
                              long long made, long long term, long long outer, long long reduced,
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
        with_summed(term, [&](auto function) {
            float each[kCount] = {};
            add_terms<kCount, decltype(function)>(
                each, static_cast<const T*>(x) + row * reduced * inner + at,
                reduced * split / splits, reduced * (split + 1) / splits, 1, kAhead, inner);
#pragma unroll
            for (int k = 0; k < kCount; ++k) each[k] *= static_cast<float>(scale);
            store_sums(sums, made, part * inner + at, each);
        });
    });
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBackwardBlocks = 4;  // a multiprocessor of sm_75 holds 1,024 threads
#else
constexpr int kBackwardBlocks = 5;
#endif

// dx = grad[outer, inner] * scale * the derivative at x.
extern "C" __global__ void __launch_bounds__(256, kBackwardBlocks)
    styleforge_reduce_backward(const void* x, const void* grad, void* dx, long long type,
                               int vector, long long term, long long count, long long reduced,
                               long long inner, double scale) {
    using namespace styleforge;
    using namespace styleforge::fusion;
    with_type(type, vector, [&](auto element, auto width) {
        using T = decltype(element);
        constexpr int kCount = decltype(width)::value;
        using Vector = AlignedVector<T, kCount>;
        with_term(term, [&](auto function) {
            // Processes `loads` loads from element `first` on, with indices of `first`'s type.
            // `of_rows`: all elements of a load share one gradient.
            const auto take = [&](auto first, auto loads, auto of_rows) {
                using I = decltype(first);
                constexpr int kLoads = decltype(loads)::value;
                constexpr bool kRows = decltype(of_rows)::value;
                using Grads = AlignedVector<T, kRows ? 1 : kCount>;
                const I end = static_cast<I>(count), step = static_cast<I>(blockDim.x * kCount);
                const I in = static_cast<I>(inner), each = static_cast<I>(reduced) * in;
                Vector loaded[kLoads];
                Grads grads[kLoads];
#pragma unroll
                for (int a = 0; a < kLoads; ++a) {
                    // Beyond the end, the first is read again, so that no load is conditional.
                    const I at = first + a * step < end ? first + a * step : first;
                    const I of = kRows ? at / each : at / each * in + at % in;
                    loaded[a] = *reinterpret_cast<const Vector*>(static_cast<const T*>(x) + at);
                    grads[a] = *reinterpret_cast<const Grads*>(static_cast<const T*>(grad) + of);
                }
#pragma unroll
                for (int a = 0; a < kLoads; ++a) {
                    const I at = first + a * step;
                    if (at >= end) return;
                    float v[kCount], g[kCount];
                    widen(v, loaded[a]);
                    widen(g, grads[a]);
#pragma unroll
                    for (int k = 0; k < kCount; ++k)
                        v[k] = g[kRows ? 0 : k] * static_cast<float>(scale) *
                               decltype(function)::slope(v[k]);
                    store<kCount>(static_cast<T*>(dx) + at, v);
                }
            };
            const auto take_all = [&](auto of_rows) {
                const long long block = 1ll * kAheadBackward * blockDim.x * blockIdx.x;
                const long long at = (block + threadIdx.x) * kCount;
                if (at >= count) return;
                if (count <= 0x7fffffff)
                    return take(static_cast<unsigned>(at),
                                std::integral_constant<int, kAheadBackward>{}, of_rows);
#pragma unroll 1  // a 64-bit division is long
                for (long long i = 0; i < kAheadBackward; ++i)
                    if (at + i * blockDim.x * kCount < count)
                        take(static_cast<unsigned long long>(at + i * blockDim.x * kCount),
                             std::integral_constant<int, 1>{}, of_rows);
            };
            if (inner == 1)
                take_all(std::integral_constant<bool, true>{});
            else
                take_all(std::integral_constant<bool, false>{});
        });
    });
}
