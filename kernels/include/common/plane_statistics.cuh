// Mean and variance of planes, computed in parts and merged in a fixed order, so two runs are
// bit-equal. A mean is stored as the sum of two floats, so that a mean a thousand times the
// deviation costs no accuracy.
#pragma once

#include "dtypes.cuh"
#include "plane_params.cuh"

namespace styleforge {

template <typename T>
__device__ __forceinline__ T warp_sum(T v) {
#pragma unroll
    for (int step = 16; step; step /= 2) v += __shfl_xor_sync(~0u, v, step);
    return v;
}

// Computes moments from a rounded mean and the sums of (x - mean) and its square.
__device__ __forceinline__ PartialMoments moments_from_sums(float count, float center, float sum,
                                                            float squares) {
    const float rest = sum / count;
    return {count, center, rest, fmaxf(squares - sum * rest, 0.f)};
}

__device__ __forceinline__ Affine affine_of(const PartialMoments& p, const AffineParameters& a,
                                            int channel) {
    const float scale = load_parameter(a.gamma, a.type, channel, 1.f) * rsqrtf(p.w / p.x + a.eps);
    return {p.y, scale, fmaf(-p.z, scale, load_parameter(a.beta, a.type, channel, 0.f)), 0.f};
}

__device__ __forceinline__ float normalize(float x, const Affine& a) {
    return fmaf(x - a.x, a.y, a.z);
}

// Merges parts in FP64 (once per part, not per element) in two passes: first the mean, then the
// squared deviations from it. This avoids the dependent divisions of Welford's update.
struct TwoPassMoments {
    double count = 0, sum = 0, mean = 0, squares = 0;

    static __device__ double mean_of(const PartialMoments& p) {
        return static_cast<double>(p.y) + static_cast<double>(p.z);
    }
    __device__ void add_to_mean(const PartialMoments& p) { count += p.x, sum += p.x * mean_of(p); }
    __device__ void finish_mean() { mean = sum / count; }
    __device__ void add_to_squares(const PartialMoments& p) {
        const double d = mean_of(p) - mean;
        squares += p.w + p.x * d * d;
    }
    __device__ PartialMoments part() const {
        const float high = static_cast<float>(mean);
        return {static_cast<float>(count), high, static_cast<float>(mean - high),
                static_cast<float>(squares)};
    }
};

// Merges the parts of a plane. Call it with a whole warp; every lane gets the result.
__device__ __forceinline__ PartialMoments merge_partial_moments(const PartialMomentsView& p,
                                                                long long sample, int channel) {
    const PartialMoments* from = p.parts + sample * p.of_sample + channel * p.of_channel;
    TwoPassMoments total;
    for (int i = threadIdx.x % 32; i < p.count; i += 32) total.add_to_mean(from[i * p.of_part]);
    total.count = warp_sum(total.count), total.sum = warp_sum(total.sum);
    total.finish_mean();
    for (int i = threadIdx.x % 32; i < p.count; i += 32) total.add_to_squares(from[i * p.of_part]);
    total.squares = warp_sum(total.squares);
    return total.part();
}

// Shared memory of a block that merges parts: count, sum and squares of each plane, per warp.
struct MergeSums {
    double sums[3][kMergeThreads / 32][kMergedPlanes];
};

// Returns the sum over the threads of a plane, in a fixed order, to all of them.
__device__ __forceinline__ double sum_over_block(
    double value, double (&slots)[kMergeThreads / 32][kMergedPlanes]) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 16; step >= kMergedPlanes; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    if (lane < kMergedPlanes) slots[threadIdx.x / 32][lane] = value;
    __syncthreads();
    value = 0;
#pragma unroll
    for (int warp = 0; warp < kMergeThreads / 32; ++warp)
        value += slots[warp][lane % kMergedPlanes];
    return value;
}

// Merges the parts of plane (sample, channel). A whole block calls it and merges kMergedPlanes
// planes, each with every kMergedPlanes-th thread. `exists` is false if the plane does not exist.
__device__ __forceinline__ PartialMoments merge_by_block(const PartialMomentsView& p,
                                                         long long sample, int channel, bool exists,
                                                         MergeSums& shared) {
    constexpr int kRows = kMergeThreads / kMergedPlanes;
    constexpr int kKept = 8;  // parts per thread, all loaded at once
    const PartialMoments* from = p.parts + sample * p.of_sample + channel * p.of_channel;
    const int row = threadIdx.x / kMergedPlanes, count = exists ? p.count : 0;
    PartialMoments kept[kKept];
#pragma unroll
    for (int k = 0; k < kKept; ++k) {
        const int i = row + k * kRows;
        kept[k] = i < count ? from[i * p.of_part] : PartialMoments{};
    }
    TwoPassMoments total;
#pragma unroll
    for (int k = 0; k < kKept; ++k) total.add_to_mean(kept[k]);
    for (int i = row + kKept * kRows; i < count; i += kRows) total.add_to_mean(from[i * p.of_part]);
    total.count = sum_over_block(total.count, shared.sums[0]);
    total.sum = sum_over_block(total.sum, shared.sums[1]);
    total.finish_mean();
#pragma unroll
    for (int k = 0; k < kKept; ++k) total.add_to_squares(kept[k]);
    for (int i = row + kKept * kRows; i < count; i += kRows)
        total.add_to_squares(from[i * p.of_part]);
    total.squares = sum_over_block(total.squares, shared.sums[2]);
    return total.part();
}

}  // namespace styleforge
