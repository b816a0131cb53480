// The mean and variance of planes, taken in parts and merged in a fixed order: two runs are
// bit-equal. A mean is kept as the sum of two floats, so that one a thousand times the deviation
// costs no accuracy.
#pragma once

#include "dtypes.cuh"

namespace styleforge {

// What one part of a plane says of it: (count, mean rounded, what the rounding left, M2).
// An empty part is all zeros.
using Part = float4;

// Where the parts of plane (n, c) lie, of which there are `count`.
struct Parts {
    const Part* parts;
    long long of_sample, of_channel, of_part;  // distances between neighbours
    int count;
};

// norm(x) = (x - x) * y + z, with the affine included.
using Affine = float4;

struct AffineParameters {
    const void* gamma;  // [C] or null
    const void* beta;   // [C] or null
    int type;           // of both
    float eps;
};

template <typename T>
__device__ __forceinline__ T sum_of_warp(T v) {
#pragma unroll
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    return v;
}

// From a rounded mean and the sums of (x - mean) and its square.
__device__ __forceinline__ Part part_about(float count, float center, float sum, float squares) {
    const float rest = sum / count;
    return {count, center, rest, fmaxf(squares - sum * rest, 0.f)};
}

__device__ __forceinline__ Affine affine_of(const Part& p, const AffineParameters& a, int channel) {
    const float scale = parameter(a.gamma, a.type, channel, 1.f) * rsqrtf(p.w / p.x + a.eps);
    return {p.y, scale, fmaf(-p.z, scale, parameter(a.beta, a.type, channel, 0.f)), 0.f};
}

__device__ __forceinline__ float normalize(float x, const Affine& a) {
    return fmaf(x - a.x, a.y, a.z);
}

// Parts merged, in FP64 (once per part, not per element): all are seen twice, first for the mean
// and then for the squares about it, as then no division waits for the one before.
struct Merging {
    double count = 0, sum = 0, mean = 0, squares = 0;

    static __device__ double mean_of(const Part& p) {
        return static_cast<double>(p.y) + static_cast<double>(p.z);
    }
    __device__ void see(const Part& p) { count += p.x, sum += p.x * mean_of(p); }
    __device__ void settle() { mean = sum / count; }
    __device__ void see_again(const Part& p) {
        const double d = mean_of(p) - mean;
        squares += p.w + p.x * d * d;
    }
    __device__ Part part() const {
        const float high = static_cast<float>(mean);
        return {static_cast<float>(count), high, static_cast<float>(mean - high),
                static_cast<float>(squares)};
    }
};

// Called by a whole warp: the parts of a plane merged, the same in every lane.
__device__ __forceinline__ Part merge_parts(const Parts& p, long long sample, int channel) {
    const Part* from = p.parts + sample * p.of_sample + channel * p.of_channel;
    Merging total;
    for (int i = threadIdx.x % 32; i < p.count; i += 32) total.see(from[i * p.of_part]);
    total.count = sum_of_warp(total.count), total.sum = sum_of_warp(total.sum);
    total.settle();
    for (int i = threadIdx.x % 32; i < p.count; i += 32) total.see_again(from[i * p.of_part]);
    total.squares = sum_of_warp(total.squares);
    return total.part();
}

}  // namespace styleforge
