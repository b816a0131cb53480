// Windows over series, and their reductions.
#pragma once

#include <math.h>

#include "include/common/dtypes.cuh"
#include "include/common/with_type.cuh"

namespace styleforge {

// Calls `use(element, count)` for this type, with the elements in 16 bytes, half as many, or 1.
template <typename Use>
__device__ __forceinline__ void with_count(long long type, long long count, const Use& use) {
    by_type(type, [&](auto element) {
        constexpr int kMost = kVectorSize<decltype(element)>;
        if (count == kMost)
            use(element, std::integral_constant<int, kMost>{});
        else if (count == kMost / 2)
            use(element, std::integral_constant<int, kMost / 2>{});
        else
            use(element, std::integral_constant<int, 1>{});
    });
}

struct Sum {
    float value = 0;
    __device__ __forceinline__ void take(float x) { value += x; }
};
struct Largest {
    float value = -INFINITY;
    __device__ __forceinline__ void take(float x) { value = x > value || x != x ? x : value; }
};
struct Smallest {
    float value = INFINITY;
    __device__ __forceinline__ void take(float x) { value = x < value || x != x ? x : value; }
};

constexpr int kGroups = 2048;  // groups of windows' elements that a block holds

enum Reduction { kSum = 0, kMean = 1, kMax = 2, kMin = 3 };

template <typename R, typename T>
__device__ __forceinline__ float reduced(const T* x, long long size) {
    R result;
    for (long long k = 0; k < size; ++k) result.take(to_float(x[k]));
    return result.value;
}

// How a block's threads divide rows of `width` elements: the next power of 2 threads per row, at
// most all, side by side, so that no division by the width is needed.
struct Spread {
    unsigned lanes, lane, row, rows;  // of a row; this thread's; its first; at once

    __device__ __forceinline__ explicit Spread(unsigned width) {
        unsigned shift = 0;
#pragma unroll
        for (unsigned i = 0; i < kThreadsLog2; ++i) shift += (1u << i) < width;
        lanes = 1u << shift, rows = (1u << kThreadsLog2) >> shift;
        lane = threadIdx.x & (lanes - 1), row = threadIdx.x >> shift;
    }

 private:
    static constexpr unsigned kThreadsLog2 = 8;
};

constexpr int kSide = 4;  // groups or windows that a thread has in flight

// to[i] = R of group i, counted from vector `from`, for this thread's i below `count`. With kOne, a
// load is one group. Beyond the end, the last group is reduced again, to avoid branches.
template <typename R, bool kOne, typename Vector>
__device__ __forceinline__ void reduce_groups(const Vector* x, unsigned from, float* to,
                                              unsigned count, unsigned vectors, const Spread& of) {
    constexpr int kCount = sizeof(Vector::element) / sizeof(Vector::element[0]);
    const unsigned of_group = kOne ? 1 : vectors;
    for (unsigned first = of.lane; first < count; first += kSide * of.lanes) {
        R found[kSide];
        unsigned group[kSide];
#pragma unroll
        for (int u = 0; u < kSide; ++u) group[u] = min(first + u * of.lanes, count - 1);
        for (unsigned k = 0; k < of_group; ++k) {
            Vector loaded[kSide];
#pragma unroll
            for (int u = 0; u < kSide; ++u) loaded[u] = x[from + group[u] * of_group + k];
#pragma unroll
            for (int u = 0; u < kSide; ++u) {
                float values[kCount];
                widen(values, loaded[u]);
#pragma unroll
                for (int c = 0; c < kCount; ++c) found[u].take(values[c]);
            }
        }
#pragma unroll
        for (int u = 0; u < kSide; ++u) to[group[u]] = found[u].value;
    }
}

// to[i] = R of the `size` groups from i * step on, times `unit`, for this thread's i below `count`.
template <typename R, typename T>
__device__ __forceinline__ void reduce_windows(const float* groups, T* y, unsigned to,
                                               unsigned count, unsigned size, unsigned step,
                                               float unit, const Spread& of) {
    for (unsigned first = of.lane; first < count; first += kSide * of.lanes) {
        R found[kSide];
        unsigned window[kSide];
#pragma unroll
        for (int u = 0; u < kSide; ++u) window[u] = min(first + u * of.lanes, count - 1);
#pragma unroll 4
        for (unsigned k = 0; k < size; ++k)
#pragma unroll
            for (int u = 0; u < kSide; ++u) found[u].take(groups[window[u] * step + k]);
#pragma unroll
        for (int u = 0; u < kSide; ++u)
            y[to + window[u]] = from_float<T>(found[u].value * unit);
    }
}

}  // namespace styleforge
