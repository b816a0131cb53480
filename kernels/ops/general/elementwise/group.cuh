// The elements that a thread of an elementwise pass processes together on a GPU. A caller issues
// the loads of several groups first.
#pragma once

#include "include/common/dtypes.cuh"
#include "call.h"
#include "functors.h"
#include "math.cuh"
#include "philox.h"

namespace styleforge {
namespace elementwise {

// The computation type: FP64 for FP64, FP32 for all others.
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

template <typename T, int kCount>
__device__ __forceinline__ void take(typename Computed<T>::Type (&to)[kCount],
                                     const AlignedVector<T, kCount>& vector) {
    if constexpr (sizeof(T) == sizeof(double)) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) to[j] = vector.element[j];
    } else {
        widen(to, vector);
    }
}

// Draws the dropout factors of kGroups groups of kCount elements: the first group starts at `at`,
// each other one `step` elements after the previous; all are multiples of kCount. `state` holds the
// contents of p.state, or anything if that is null. It reads no memory, so that it runs while loads
// are in flight.
template <typename A, int kGroups, int kCount, typename I>
__device__ __forceinline__ void draw(const StyleforgeElements& p, const long long (&state)[2], I at,
                                     I step, A (&factors)[kGroups][kCount]) {
    static_assert(kDrawn % kCount == 0, "the elements of a group have numbers of one counter");
    constexpr int kWords = (kCount + 1) / 2;  // of a counter, per group
    Word words[kGroups][4] = {};
    if (p.state != nullptr) {
        Words numbers[kGroups];
#pragma unroll
        for (int i = 0; i < kGroups; ++i)
            numbers[i] = static_cast<Words>(at + i * step) / kDrawn;
        philox(numbers, state, words);
    }
    // If all are dropped, the factor is 0. Without a state none is dropped, and the factor is 1.
    const A kept_scale = static_cast<A>(p.kept_scale);
    const Word least = p.dropped << 16;
#pragma unroll
    for (int i = 0; i < kGroups; ++i) {
        // Masks, since the compiler would otherwise index the words in local memory.
        const int first = kCount == kDrawn ? 0 : static_cast<int>((at + i * step) % kDrawn);
        Word masks[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) masks[k] = first / 2 == k ? ~0u : 0u;
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
            Word word = 0;
#pragma unroll
            for (int k = 0; k < 4; k += kWords) word |= words[i][k + j / 2] & masks[k];
            // The number is in the upper half; the lower half does not matter.
            const Word drawn = (kCount == 1 ? first : j) % 2 ? word : word << 16;
            factors[i][j] = drawn >= least ? kept_scale : A(0);
        }
    }
}

// kCount elements of every tensor that a pass reads.
template <typename Op, typename T, bool kBackward, int kCount>
struct Group {
    static constexpr int kGiven = kBackward ? 1 + (Op::kOfResult ? 1 : Op::kInputs) : Op::kInputs;
    static constexpr int kMade = kBackward ? Op::kGradients : 1;
    using A = typename Computed<T>::Type;
    using Math = typename MathOf<T>::Type;
    using Vector = AlignedVector<T, kCount>;
    Vector given[kGiven];

    // Loads contiguous elements of one tensor.
    __device__ __forceinline__ void load(int input, const T* from) {
        given[input] = *reinterpret_cast<const Vector*>(from);
    }
    __device__ __forceinline__ void fill(int input, T value) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) given[input].element[j] = value;
    }
    // Computes the result, or the gradients, of element j.
    static __device__ __forceinline__ void compute(const A (&of)[kGiven][kCount], int j, A factor,
                                                   A (&out)[kMostGradients]) {
        A in[kMostInputs] = {};
#pragma unroll
        for (int i = kBackward ? 1 : 0; i < kGiven; ++i) in[i - (kBackward ? 1 : 0)] = of[i][j];
        if constexpr (Op::kDrops) in[1] = factor;
        if constexpr (kBackward)
            Op::template backward<Math>(of[0][j], in, out);
        else
            out[0] = Op::template forward<Math>(in);
    }
    // Computes all elements and stores the requested outputs to dense tensors from element `at` on.
    // Passes the unrounded outputs of element j to `use(j, out)`.
    template <typename I, typename Use>
    __device__ __forceinline__ void finish(const StyleforgeElements& p, const A (&factors)[kCount],
                                           I at, const Use& use) const {
        Vector results[kMade];
        A of[kGiven][kCount];
#pragma unroll
        for (int i = 0; i < kGiven; ++i) take<T>(of[i], given[i]);
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
            A out[kMostGradients] = {};
            compute(of, j, factors[j], out);
            use(j, out);
#pragma unroll
            for (int i = 0; i < kMade; ++i) results[i].element[j] = Computed<T>::to(out[i]);
        }
#pragma unroll
        for (int i = 0; i < kMade; ++i)
            if (p.outputs[i] != nullptr)
                *reinterpret_cast<Vector*>(static_cast<T*>(p.outputs[i]) + at) = results[i];
    }
    template <typename I>
    __device__ __forceinline__ void finish(const StyleforgeElements& p, const A (&factors)[kCount],
                                           I at) const {
        finish(p, factors, at, [](int, const A (&)[kMostGradients]) {});
    }
};

}  // namespace elementwise
}  // namespace styleforge
