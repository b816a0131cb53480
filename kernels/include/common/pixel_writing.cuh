// Normalizes channels-last pictures, one block per chunk of pixels, and writes a margin around
// them.
#pragma once

#include <math.h>

#include "border.cuh"
#include "pixel_statistics.cuh"

namespace styleforge {

// Maps pixel `at` of the picture with its margin to a pixel of the picture.
__device__ __forceinline__ int inside(int at, const Margin& margin) {
    if (margin.pad == 0) return at;
    const int wide = margin.width + 2 * margin.pad;
    int row = at / wide, column = at - row * wide - margin.pad;
    row -= margin.pad;
    if (margin.border == 0)
        return reflect_index(row, margin.height) * margin.width +
               reflect_index(column, margin.width);
    return clamp_index(row, margin.height) * margin.width + clamp_index(column, margin.width);
}

// Returns the first of a thread's kWidth channels; is_at_work returns whether it has any.
template <int kWidth>
__device__ __forceinline__ int first_channel(const Cut& cut) {
    return (blockIdx.y * cut.columns + threadIdx.x % cut.columns) * kWidth;
}

__device__ __forceinline__ bool is_at_work(const Cut& cut, int channel) {
    return threadIdx.x / cut.columns < cut.rows && channel < cut.channels;
}

// Writes y with its margin, using the affine of the thread's channels; `cut` describes the pixels
// of y. y may alias x, so the compiler moves no load above a store. The loads of kAtOnce pixels are
// therefore issued before the first of them is stored.
template <typename T, int kWidth>
__device__ __forceinline__ void write_chunk(const Planes& p, const Affine (&own)[kWidth],
                                            const Cut& cut, const Margin& margin, int channel) {
    using Vector = AlignedVector<T, kWidth>;
    const int begin = blockIdx.x * cut.chunk, pixels = static_cast<int>(cut.pixels);
    const int end = min(pixels, begin + cut.chunk);
    const long long sample = blockIdx.z, channels = cut.channels;
    const float floor = p.relu ? 0.f : -INFINITY;
    const long long before = sample * p.pixels * channels + channel;
    const T* x = static_cast<const T*>(p.x) + before;
    const T* residual = static_cast<const T*>(p.residual) + before;
    T* y = static_cast<T*>(p.y) + sample * cut.pixels * channels + channel;
    for (int first = begin + threadIdx.x / cut.columns; first < end; first += kAtOnce * cut.rows) {
        int from[kAtOnce];
        Vector values[kAtOnce], added[kAtOnce];
        // Beyond the end, the last pixel is read instead, so that the loads are unconditional; the
        // results are not stored.
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
            from[k] = inside(min(first + k * cut.rows, end - 1), margin);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k)
            values[k] = *reinterpret_cast<const Vector*>(x + from[k] * channels);
        if (p.residual)
#pragma unroll
            for (int k = 0; k < kAtOnce; ++k)
                added[k] = *reinterpret_cast<const Vector*>(residual + from[k] * channels);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
            const int q = first + k * cut.rows;
            float v[kWidth], add[kWidth] = {};
            load<kWidth>(v, values[k].element);
            if (p.residual) load<kWidth>(add, added[k].element);
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float value = normalize(v[i], own[i]) + add[i];
                v[i] = value < floor ? floor : value;
            }
            if (q < end) store<kWidth>(y + q * channels, v);
        }
    }
}

}  // namespace styleforge
