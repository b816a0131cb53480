// Updates of many tensors in one launch: Adam, SGD, the norm of all gradients and their clipping. A
// block processes a chunk of one tensor, of any type. FP16 and BF16 are computed in FP32, FP64 in
// FP64.
#include "include/common/with_type.cuh"
#include "ops/general/elementwise/group.cuh"
#include "tensors.h"

namespace styleforge {
namespace optim {

using elementwise::Computed;

// Threads of a block for updates, for parts of a norm, and for the norm of the parts;
// tensors.py repeats them.
constexpr int kThreads = 256, kThreadsOfParts = 128, kThreadsOfNorm = 1024;
constexpr int kReadAtOnce = 4;    // vectors that a thread of parts has in flight
constexpr int kPartsAtOnce = 16;  // parts that a thread of the norm has in flight

// Calls `use(i, values)` for the elements of a chunk, with each list's element in FP32 or FP64, and
// stores the modified lists of kWritten.
template <typename T, int kLists, int kWritten, typename F>
__device__ __forceinline__ void each_element(const StyleforgeTensors& t, int tensor,
                                             long long begin, long long end, const F& use) {
    using A = typename Computed<T>::Type;
    constexpr int kCount = kVectorSize<T>;
    T* lists[kLists];
    size_t addresses = 0;
#pragma unroll
    for (int list = 0; list < kLists; ++list) {
        lists[list] = static_cast<T*>(t.at[list][tensor]);
        addresses |= reinterpret_cast<size_t>(lists[list]);
    }
    const auto run = [&](auto width, long long i) {
        constexpr int kWidth = sizeof(width);
        using Vector = AlignedVector<T, kWidth>;
        Vector vectors[kLists];
#pragma unroll
        for (int list = 0; list < kLists; ++list)
            vectors[list] = *reinterpret_cast<const Vector*>(lists[list] + i);
#pragma unroll
        for (int k = 0; k < kWidth; ++k) {
            A values[kLists];
#pragma unroll
            for (int list = 0; list < kLists; ++list)
                values[list] = Computed<T>::from(vectors[list].element[k]);
            use(values);
#pragma unroll
            for (int list = 0; list < kLists; ++list)
                vectors[list].element[k] = Computed<T>::to(values[list]);
        }
#pragma unroll
        for (int list = 0; list < kLists; ++list)
            if (kWritten >> list & 1) *reinterpret_cast<Vector*>(lists[list] + i) = vectors[list];
    };
    struct Wide {
        char bytes[kCount];
    };
    const long long whole = addresses % 16 == 0 ? begin + (end - begin) / kCount * kCount : begin;
#pragma unroll 1
    for (long long i = begin + threadIdx.x * kCount; i < whole; i += kThreads * kCount)
        run(Wide{}, i);
    for (long long i = whole + threadIdx.x; i < end; i += kThreads) run(char{}, i);
}

// Calls `run(element, tensor, begin, end)` with the chunk of this block.
template <typename F>
__device__ __forceinline__ void chunk_of(const StyleforgeTensors& t, const F& run) {
    int tensor = 0, above = t.tensors;  // the last tensor that does not begin after the chunk
    while (above - tensor > 1) {
        const int middle = (tensor + above) / 2;
        (t.first[middle] <= blockIdx.x ? tensor : above) = middle;
    }
    const long long begin = 1ll * (blockIdx.x - t.first[tensor]) * kChunk;
    const long long left = t.counts[tensor] - begin, end = begin + (left < kChunk ? left : kChunk);
    by_type<true>(t.types[tensor], [&](auto element) { run(element, tensor, begin, end); });
}

template <template <typename> class Op>
__device__ __forceinline__ void update(const StyleforgeTensors& t, const StyleforgeUpdate& p) {
    if (p.found_inf != nullptr && *p.found_inf != 0) return;
    chunk_of(t, [&](auto element, int tensor, long long begin, long long end) {
        using T = decltype(element);
        using O = Op<typename Computed<T>::Type>;
        const O op(p, t.steps[tensor]);
        each_element<T, O::kLists, O::kWritten>(t, tensor, begin, end, op);
    });
}

// Returns a thread's share of a chunk's part of a norm, in FP32 or FP64.
template <int kKind, typename T>
__device__ __forceinline__ typename Computed<T>::Type part_of(const T* x, long long begin,
                                                              long long end) {
    using A = typename Computed<T>::Type;
    constexpr int kCount = kVectorSize<T>, kStep = kThreadsOfParts * kCount;
    using Vector = AlignedVector<T, kCount>;
    const int count = static_cast<int>(end - begin), thread = static_cast<int>(threadIdx.x);
    const T* const from = x + begin;
    const int whole = reinterpret_cast<size_t>(from) % 16 == 0 ? count / kCount * kCount : 0;
    A parts[kCount] = {};
    for (int i = thread * kCount; i < whole; i += kReadAtOnce * kStep) {
        Vector loaded[kReadAtOnce];
#pragma unroll
        for (int a = 0; a < kReadAtOnce; ++a)  // beyond the end the first: no load is conditional
            loaded[a] = *reinterpret_cast<const Vector*>(
                from + (i + a * kStep < whole ? i + a * kStep : i));
#pragma unroll
        for (int a = 0; a < kReadAtOnce; ++a) {
            if (i + a * kStep >= whole) continue;
            A values[kCount];
            elementwise::take<T>(values, loaded[a]);
#pragma unroll
            for (int k = 0; k < kCount; ++k) parts[k] = joined(parts[k], values[k], kKind);
        }
    }
    for (int i = whole + thread; i < count; i += kThreadsOfParts)
        parts[0] = joined(parts[0], Computed<T>::from(from[i]), kKind);
    A part = parts[0];
#pragma unroll
    for (int k = 1; k < kCount; ++k)
        part = kKind != 0 ? part + parts[k] : joined(part, parts[k], 0);
    return part;
}

template <int kBlock, typename A>
__device__ __forceinline__ A over_block(A part, long long kind) {
    static_assert(kBlock % 32 == 0 && kBlock <= 1024, "what warps have fits one warp");
    __shared__ A found[kBlock / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto join = [&](int lanes) {
#pragma unroll
        for (int step = lanes / 2; step > 0; step /= 2) {
            const A other = __shfl_xor_sync(0xffffffffu, part, step);
            part = kind != 0 ? part + other : joined(part, other, 0);
        }
    };
    join(32);
    if (lane == 0) found[warp] = part;
    __syncthreads();
    part = lane < kBlock / 32 ? found[lane] : A(0);
    join(kBlock / 32);
    return part;
}

template <typename A>
__device__ __forceinline__ void norm_of_parts(const StyleforgeTensors& t, A* norm, long long kind) {
    const double* const parts = static_cast<const double*>(t.at[0][0]);
    const long long count = t.counts[0];
    double part = 0;
    for (long long i = threadIdx.x; i < count; i += kPartsAtOnce * kThreadsOfNorm) {
        double loaded[kPartsAtOnce];
#pragma unroll
        for (int a = 0; a < kPartsAtOnce; ++a)
            loaded[a] = i + a * kThreadsOfNorm < count ? parts[i + a * kThreadsOfNorm] : 0;
#pragma unroll
        for (int a = 0; a < kPartsAtOnce; ++a)
            part = kind != 0 ? part + loaded[a] : joined(part, loaded[a], 0);
    }
    part = over_block<kThreadsOfNorm>(part, kind);
    if (threadIdx.x == 0) *norm = static_cast<A>(kind == 2 ? sqrt(part) : part);
}

template <typename A>
using WithMomentum = Sgd<A, true>;
template <typename A>
using WithoutMomentum = Sgd<A, false>;

}  // namespace optim
}  // namespace styleforge

extern "C" __global__ void __launch_bounds__(256)
    styleforge_adam(const StyleforgeTensors t, const StyleforgeUpdate p) {
    styleforge::optim::update<styleforge::optim::Adam>(t, p);
}

extern "C" __global__ void __launch_bounds__(256)
    styleforge_sgd(const StyleforgeTensors t, const StyleforgeUpdate p) {
    styleforge::optim::update<styleforge::optim::WithoutMomentum>(t, p);
}

extern "C" __global__ void __launch_bounds__(256)
    styleforge_sgd_momentum(const StyleforgeTensors t, const StyleforgeUpdate p) {
    styleforge::optim::update<styleforge::optim::WithMomentum>(t, p);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kBlocksOfParts = 8;  // a multiprocessor of sm_75 holds 1,024 threads
#else
constexpr int kBlocksOfParts = 10;
#endif

// parts[chunk]: the sum of absolute values, the sum of squares, or the largest absolute value of
// its elements, for `kind` 1, 2 and 0. The order is fixed.
extern "C" __global__ void __launch_bounds__(128, kBlocksOfParts)
    styleforge_norm_parts(const StyleforgeTensors t, double* parts, long long kind) {
    using namespace styleforge;
    using namespace styleforge::optim;
    chunk_of(t, [&](auto element, int tensor, long long begin, long long end) {
        using T = decltype(element);
        using A = typename Computed<T>::Type;
        const T* const x = static_cast<const T*>(t.at[0][tensor]);
        A part = kind == 2   ? part_of<2>(x, begin, end)
                 : kind == 1 ? part_of<1>(x, begin, end)
                             : part_of<0>(x, begin, end);
        part = over_block<kThreadsOfParts>(part, kind);
        if (threadIdx.x == 0) parts[blockIdx.x] = static_cast<double>(part);
    });
}

// Computes the norm in one block, from the parts in the only tensor of `t`.
extern "C" __global__ void __launch_bounds__(1024)
    styleforge_norm_float32(const StyleforgeTensors t, float* norm, long long kind) {
    styleforge::optim::norm_of_parts(t, norm, kind);
}

extern "C" __global__ void __launch_bounds__(1024)
    styleforge_norm_float64(const StyleforgeTensors t, double* norm, long long kind) {
    styleforge::optim::norm_of_parts(t, norm, kind);
}

// Multiplies by most / (norm + 1e-6) if that is below 1; otherwise writes nothing.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_clip(const StyleforgeTensors t, const double* norm, double most) {
    using namespace styleforge;
    using namespace styleforge::optim;
    const double factor = most / (*norm + 1e-6);
    if (factor >= 1) return;  // NaN continues
    chunk_of(t, [&](auto element, int tensor, long long begin, long long end) {
        using T = decltype(element);
        using A = typename Computed<T>::Type;
        each_element<T, 1, 1>(t, tensor, begin, end, [&](A(&v)[1]) { v[0] *= static_cast<A>(factor); });
    });
}
