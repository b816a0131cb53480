// Statistics of channels-last pictures, one block per chunk of pixels.
#pragma once

#include <math.h>

#include "plane_statistics.cuh"

namespace styleforge {

constexpr int kMostColumns = 32;  // of threads
constexpr int kAtOnce = 4;        // pixels that a thread loads before it uses the first

// A block's shared memory. All rows of threads use deviations from the same center, so that their
// sums can simply be added.
template <int kWidth>
struct PixelSums {
    float2 sums[kPixelThreads * kWidth];  // of deviations, of their squares
    float centers[kMostColumns * kWidth];
};

// Writes the statistics of chunk blockIdx.x of sample blockIdx.z, for the channels of blockIdx.y,
// to parts[n][chunk][c].
template <typename T, int kWidth>
__device__ __forceinline__ void measure_pixels(const T* x, PartialMoments* parts, const Cut& cut,
                                               PixelSums<kWidth>& shared) {
    const int column = threadIdx.x % cut.columns, row = threadIdx.x / cut.columns;
    const int channel = (blockIdx.y * cut.columns + column) * kWidth;
    const int width = cut.columns * kWidth;
    const int begin = blockIdx.x * cut.chunk;
    const int end = min(static_cast<int>(cut.pixels), begin + cut.chunk);
    const long long sample = blockIdx.z, channels = cut.channels;
    float sum[kWidth] = {}, squares[kWidth] = {};
    if (row < cut.rows && channel < cut.channels) {
        // The center is the median of three pixels, so that a single outlier cannot become the
        // center.
        const T* from = x + sample * cut.pixels * channels + channel;
        float center[kWidth], second[kWidth], third[kWidth];
        load<kWidth>(center, from + begin * channels);
        load<kWidth>(second, from + (begin + (end - begin) / 2) * channels);
        load<kWidth>(third, from + (end - 1) * channels);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            center[i] =
                fmaxf(fminf(center[i], second[i]), fminf(fmaxf(center[i], second[i]), third[i]));
            if (row == 0) shared.centers[column * kWidth + i] = center[i];
        }
        // Beyond the end, the last pixel is read again and ignored. The loads of kAtOnce pixels are
        // thus unconditional and all in flight at once.
        for (int first = begin + row; first < end; first += kAtOnce * cut.rows) {
            AlignedVector<T, kWidth> given[kAtOnce];
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k)
                given[k] = *reinterpret_cast<const AlignedVector<T, kWidth>*>(
                    from + min(first + k * cut.rows, end - 1) * channels);
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k) {
                float v[kWidth];
                load<kWidth>(v, given[k].element);
#pragma unroll
                for (int i = 0; i < kWidth; ++i) {
                    const float d = first + k * cut.rows < end ? v[i] - center[i] : 0.f;
                    sum[i] += d, squares[i] = fmaf(d, d, squares[i]);
                }
            }
        }
    }
    // The rows within a warp are summed first if the number of columns divides 32.
    const bool divides = 32 % cut.columns == 0;
    const int entries = divides ? kPixelThreads / 32 : cut.rows;
    if (divides)
        for (int step = cut.columns; step < 32; step *= 2)
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                sum[i] += __shfl_xor_sync(~0u, sum[i], step);
                squares[i] += __shfl_xor_sync(~0u, squares[i], step);
            }
    const int entry = divides ? threadIdx.x / 32 : row;
    if (divides ? threadIdx.x % 32 < cut.columns : row < cut.rows)
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            shared.sums[entry * width + column * kWidth + i] = {sum[i], squares[i]};
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += kPixelThreads) {
        const int at = blockIdx.y * width + c;
        if (at >= cut.channels) continue;
        float2 total = {};
        for (int e = 0; e < entries; ++e) {
            const float2 other = shared.sums[e * width + c];
            total.x += other.x, total.y += other.y;
        }
        parts[(sample * cut.chunks + blockIdx.x) * cut.channels + at] =
            moments_from_sums(static_cast<float>(end - begin), shared.centers[c], total.x, total.y);
    }
}

}  // namespace styleforge
