// Instance-norm statistics of a layer as fixed-point sums that all blocks add to concurrently.
// Integer sums do not depend on the order, so two runs are bit-equal, and no block waits for
// another to merge results.
//
// They cover values that FP16 can store. A block's squares then sum to less than 2^39, and 255
// blocks to less than 2^47, which leaves 16 fractional bits. With n pixels in b blocks, the error
// of a variance is at most b / n * 2^-17: 6e-8 for a full tile, where the norm adds 1e-5.
#pragma once

#include "params.cuh"
#include "statistics.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr double kValueUnits = 4294967296.0, kSquareUnits = 65536.0;  // 2^32 and 2^16
constexpr double kMaxSquares = 137438953472.0;                        // 2^37, for 32 pixels

// A thread's contribution to its layer's sums.
struct ExactSum {
    long long value;
    bool overflows;
};

// Returns this thread's sum over the four threads with pixels of the same two channels, at most 32
// each. Even threads get the first channel, odd threads the second; the first two get the sum of
// values, the last two the sum of squares. Whole warps call it.
__device__ __forceinline__ ExactSum exact_sum(const WelfordFp32x2& moments) {
    const double count = moments.count;
    long long values[2], squares[2];
    bool overflows = false;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const double mean = moments.mean[h], sum = count * mean;
        const double square = fma(sum, mean, static_cast<double>(moments.m2[h]));
        values[h] = __double2ll_rn(sum * kValueUnits);
        squares[h] = __double2ll_rn(square * kSquareUnits);
        overflows = overflows || !(square <= kMaxSquares);
    }
    const int h = threadIdx.x % 2, kind = threadIdx.x / 2 % 2;
    const long long value =
        (h ? values[1] : values[0]) + __shfl_xor_sync(~0u, h ? values[0] : values[1], 1);
    const long long square =
        (h ? squares[1] : squares[0]) + __shfl_xor_sync(~0u, h ? squares[0] : squares[1], 1);
    return {(kind ? square : value) + __shfl_xor_sync(~0u, kind ? value : square, 2), overflows};
}

// Adds `sum` to the layer. `channel` is the thread's first channel; the second is channel + 8.
__device__ __forceinline__ void add_exact_sum(LayerSums& layer, const ExactSum& sum, int channel) {
    const int h = threadIdx.x % 2, kind = threadIdx.x / 2 % 2;
    atomicAdd(reinterpret_cast<unsigned long long*>(
                  &layer.sums[blockIdx.x % kSumCopies][channel + 8 * h][kind]),
              static_cast<unsigned long long>(sum.value));
    if (sum.overflows) atomicOr(&layer.overflowed, 1u);
}

// Returns scale and bias of channel c, norm(x) = x * scale + bias, or NaN if a value was too large.
// `part` is 1 / pixels.
__device__ __forceinline__ float2 exact_affine(const LayerSums& layer, int c, double part,
                                               float gamma, float beta, float eps) {
    longlong2 item[kSumCopies];
#pragma unroll
    for (int i = 0; i < kSumCopies; ++i)
        item[i] = __ldcg(reinterpret_cast<const longlong2*>(layer.sums[i][c]));
    const unsigned overflowed = __ldcg(&layer.overflowed);
    long long values = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kSumCopies; ++i) values += item[i].x, squares += item[i].y;
    const double mean = static_cast<double>(values) * (part / kValueUnits);
    const double variance = static_cast<double>(squares) * (part / kSquareUnits) - mean * mean;
    const float known =
        overflowed ? __int_as_float(0x7fffffff) : fmaxf(static_cast<float>(variance), 0.0f);
    const float scale = gamma * rsqrtf(known + eps);
    return {scale, fmaf(-static_cast<float>(mean), scale, beta)};
}

#endif

}  // namespace styleforge::sm90
