// The mean and variance of planes, taken in parts and merged in a fixed order: two runs are
// bit-equal. A mean is kept as the sum of two floats, so that one a thousand times the deviation
// costs no accuracy.
#pragma once

#include "elements.cuh"

namespace styleforge {

// What one part of a plane says of it: (count, mean rounded, what the rounding left, M2). A part
// that `Parts` does not find is empty.
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

// Moments in FP64: merged once per part, not per element, so that slow FP64 costs nothing.
struct Merged {
    double count = 0, mean = 0, m2 = 0;

    // Chan et al. (1979).
    __device__ void merge(double n, double other_mean, double other_m2) {
        if (n == 0) return;
        const double total = count + n, delta = other_mean - mean, share = n / total;
        mean += delta * share;
        m2 += other_m2 + delta * delta * count * share;
        count = total;
    }
    __device__ void merge(const Part& p) {
        merge(p.x, static_cast<double>(p.y) + static_cast<double>(p.z), p.w);
    }
    __device__ Part part() const {
        const float high = static_cast<float>(mean);
        return {static_cast<float>(count), high, static_cast<float>(mean - high),
                static_cast<float>(m2)};
    }
};

__device__ __forceinline__ float sum_of_warp(float v) {
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

// Called by a whole warp: the parts of a plane merged, the same in every lane.
__device__ __forceinline__ Part merge_parts(const Parts& p, long long sample, int channel) {
    const Part* from = p.parts + sample * p.of_sample + channel * p.of_channel;
    Merged total;
    for (int i = threadIdx.x % 32; i < p.count; i += 32) total.merge(from[i * p.of_part]);
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
        const double count = __shfl_down_sync(~0u, total.count, step);
        const double mean = __shfl_down_sync(~0u, total.mean, step);
        const double m2 = __shfl_down_sync(~0u, total.m2, step);
        if (threadIdx.x % (2 * step) == 0) total.merge(count, mean, m2);
    }
    const Part lane = total.part();
    return {__shfl_sync(~0u, lane.x, 0), __shfl_sync(~0u, lane.y, 0), __shfl_sync(~0u, lane.z, 0),
            __shfl_sync(~0u, lane.w, 0)};
}

}  // namespace styleforge
