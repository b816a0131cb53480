// One pass of an elementwise operation on a GPU: loads and stores of 16 bytes where tensors lie so,
// single elements of any strides elsewhere. The dimensions are those that a caller left after
// joining what lies together, so that contiguous tensors take no division.
#pragma once

#include <math.h>

#include "../common/dtypes.cuh"
#include "../library.h"
#include "functors.h"
#include "philox.h"

namespace styleforge {
namespace elementwise {

struct CudaMath {
    static __device__ __forceinline__ float exp(float v) { return expf(v); }
    static __device__ __forceinline__ float tanh(float v) { return tanhf(v); }
    static __device__ __forceinline__ float erf(float v) { return erff(v); }
    static __device__ __forceinline__ double exp(double v) { return ::exp(v); }
    static __device__ __forceinline__ double tanh(double v) { return ::tanh(v); }
    static __device__ __forceinline__ double erf(double v) { return ::erf(v); }
};

// FP64 is computed in FP64, everything else in FP32.
template <typename T>
struct Computed {
    using Type = float;
    static __device__ __forceinline__ float from(T v) { return to_float(v); }
    static __device__ __forceinline__ T to(float v) { return from_float<T>(v); }
};
template <>
struct Computed<double> {
    using Type = double;
    static __device__ __forceinline__ double from(double v) { return v; }
    static __device__ __forceinline__ double to(double v) { return v; }
};

// kCount elements from `at` on of what an operation reads and writes, computed in registers.
template <typename Op, typename T, bool kBackward, int kCount, typename I>
__device__ __forceinline__ void compute(const StyleforgeElements& p, I at) {
    using A = typename Computed<T>::Type;
    constexpr int kGiven = Op::kInputs + (kBackward ? 1 : 0);
    I offsets[kGiven] = {};
    I rest = at;
    for (int d = 0; d < p.dims; ++d) {
        const I size = static_cast<I>(p.sizes[d]);
        const I place = d + 1 < p.dims ? rest % size : rest;
        if (d + 1 < p.dims) rest /= size;
#pragma unroll
        for (int i = 0; i < kGiven; ++i) offsets[i] += place * static_cast<I>(p.strides[i][d]);
    }
    A given[kGiven][kCount];
#pragma unroll
    for (int i = 0; i < kGiven; ++i) {
        const T* from = static_cast<const T*>(p.inputs[i]) + offsets[i];
        if (kCount > 1 && p.strides[i][0] != 0) {
            const auto vector = *reinterpret_cast<const AlignedVector<T, kCount>*>(from);
#pragma unroll
            for (int j = 0; j < kCount; ++j) given[i][j] = Computed<T>::from(vector.element[j]);
        } else {
            const A value = Computed<T>::from(*from);
#pragma unroll
            for (int j = 0; j < kCount; ++j) given[i][j] = value;
        }
    }
    A factors[kCount];
    if constexpr (Op::kDrops) {
        Word words[4];
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
            const I element = at + static_cast<I>(j);
            if (p.state != nullptr && (j == 0 || element % 4 == 0))
                philox(static_cast<Words>(element) / 4, p.state, words);
            const int word = static_cast<int>(element % 4);
            const Word drawn = word < 2 ? (word == 0 ? words[0] : words[1])
                                        : (word == 2 ? words[2] : words[3]);
            factors[j] = p.state == nullptr   ? A(1)
                         : drawn >= p.dropped ? static_cast<A>(p.kept_scale)
                                              : A(0);
        }
    }
    AlignedVector<T, kCount> results[2];
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
        A in[kMostInputs] = {};
#pragma unroll
        for (int i = 0; i < Op::kInputs; ++i) in[i] = given[i + (kBackward ? 1 : 0)][j];
        if constexpr (Op::kDrops) in[1] = factors[j];
        if constexpr (kBackward) {
            A out[kMostGradients] = {};
            Op::template backward<CudaMath>(given[0][j], in, out);
#pragma unroll
            for (int i = 0; i < Op::kGradients; ++i) results[i].element[j] = Computed<T>::to(out[i]);
        } else {
            results[0].element[j] = Computed<T>::to(Op::template forward<CudaMath>(in));
        }
    }
    constexpr int kMade = kBackward ? Op::kGradients : 1;
#pragma unroll
    for (int i = 0; i < kMade; ++i)
        if (p.outputs[i] != nullptr)
            *reinterpret_cast<AlignedVector<T, kCount>*>(static_cast<T*>(p.outputs[i]) + at) =
                results[i];
}

template <typename Op, typename T, bool kBackward, int kCount, typename I>
__device__ __forceinline__ void walk(const StyleforgeElements& p) {
    const I step = static_cast<I>(gridDim.x) * kElementThreads;
    const I first = static_cast<I>(blockIdx.x) * kElementThreads + threadIdx.x;
    const I groups = static_cast<I>(p.count) / kCount;
    for (I i = first; i < groups; i += step) compute<Op, T, kBackward, kCount, I>(p, i * kCount);
    if constexpr (kCount > 1)  // what fills no vector, of tensors that lie in one dimension
        for (I i = groups * kCount + first; i < static_cast<I>(p.count); i += step)
            compute<Op, T, kBackward, 1, I>(p, i);
}

template <typename Op, typename T, bool kBackward, int kCount>
__global__ void __launch_bounds__(kElementThreads) elementwise_pass(const StyleforgeElements p) {
    if (p.wide)
        walk<Op, T, kBackward, kCount, unsigned long long>(p);
    else
        walk<Op, T, kBackward, kCount, unsigned>(p);
}

}  // namespace elementwise
}  // namespace styleforge
