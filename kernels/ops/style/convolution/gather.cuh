// The A operand of the implicit GEMM: gathered from x, reflected or repeated at the border,
// normalized and activated, and written to shared memory.
#pragma once

#include "include/common/dtypes.cuh"
#include "include/common/plane_statistics.cuh"
#include "params.cuh"

namespace styleforge {

__device__ __forceinline__ int border_index(int i, int size, int border) {
    if (border == STYLEFORGE_REPLICATE) return max(0, min(size - 1, i));
    i = abs(i);
    return size - 1 - abs(size - 1 - i);
}

// A thread's share of the A operand in one step: kItems pixels, or pairs of neighboring pixels,
// with kEach elements of the slice's depth.
template <typename Tile>
struct GatherOperand {
    using T = typename Tile::Element;
    static constexpr int kPixels = Tile::kPairs ? 2 : 1, kSlots = Tile::kRows / kPixels;
    static constexpr int kItems = kSlots > Tile::kThreads ? kSlots / Tile::kThreads : 1;
    static constexpr int kGroups = Tile::kThreads > kSlots ? Tile::kThreads / kSlots : 1;
    static constexpr int kEach = Tile::kDepth / kGroups;
    static constexpr int kWidth = kVectorSize<T> < kEach ? kVectorSize<T> : kEach;
    int y[kItems][kPixels], x[kItems][kPixels];
    float v[kItems][kPixels][kEach];

    static __device__ int slot(int item) {
        return (item * Tile::kThreads + static_cast<int>(threadIdx.x)) % kSlots;
    }
    static __device__ int first_depth() {
        return kGroups > 1 ? static_cast<int>(threadIdx.x) / kSlots * kEach : 0;
    }

    __device__ void find(const StyleforgeConvolution& p, int first, int shift_y, int shift_x) {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                int at = first + slot(i) * kPixels + k;
                if (at >= p.out_height * p.out_width) at = 0;  // computed but not stored
                y[i][k] = at / p.out_width * p.stride_h - p.pad + shift_y;
                x[i][k] = at % p.out_width * p.stride_w - p.pad + shift_x;
            }
    }
    __device__ int offset(const StyleforgeConvolution& p, int i, int k, int tap) const {
        const int row = border_index(y[i][k] + tap / p.kernel, p.height, p.border);
        const int column = border_index(x[i][k] + tap % p.kernel, p.width, p.border);
        return row * static_cast<int>(p.x_strides[2]) + column * static_cast<int>(p.x_strides[3]);
    }

    __device__ void gather(const Convolution& c, const T* from, const Affine* affine, int step) {
        const StyleforgeConvolution& p = c.p;
        const int of_channel = static_cast<int>(p.x_strides[1]);
        if (c.flat) {
#pragma unroll
            for (int d = 0; d < kEach; ++d) {
                const int at = step * Tile::kDepth + first_depth() + d;
                const int tap = at / p.in_channels, channel = at % p.in_channels;
#pragma unroll
                for (int i = 0; i < kItems; ++i)
#pragma unroll
                    for (int k = 0; k < kPixels; ++k)
                        v[i][k][d] =
                            tap < c.taps
                                ? to_float(from[offset(p, i, k, tap) + channel * of_channel])
                                : 0.f;
                if (affine && tap < c.taps) normalize_depth(d, affine[channel]);
            }
            return;
        }
        const int tap = step % c.taps, first = step / c.taps * Tile::kDepth + first_depth();
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                const T* pixel = from + offset(p, i, k, tap) + first * of_channel;
                if (c.vector) {
#pragma unroll
                    for (int d = 0; d < kEach; d += kWidth) {
                        if (first + d < p.in_channels) {
                            load<kWidth>(v[i][k] + d, pixel + d);
                        } else {
#pragma unroll
                            for (int e = 0; e < kWidth; ++e) v[i][k][d + e] = 0;
                        }
                    }
                } else {
#pragma unroll
                    for (int d = 0; d < kEach; ++d)
                        v[i][k][d] =
                            first + d < p.in_channels ? to_float(pixel[d * of_channel]) : 0.f;
                }
            }
        if (affine)
#pragma unroll
            for (int d = 0; d < kEach; ++d)
                if (first + d < p.in_channels) normalize_depth(d, affine[first + d]);
    }
    __device__ void normalize_depth(int d, const Affine& affine) {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                const float value = normalize(v[i][k][d], affine);
                v[i][k][d] = value < 0.f ? 0.f : value;
            }
    }

    __device__ void store(typename Tile::Stored* rows) const {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int d = 0; d < kEach; ++d) {
                AlignedVector<typename Tile::Stored, kPixels> vector;
#pragma unroll
                for (int k = 0; k < kPixels; ++k) vector.element[k] = Tile::stored(v[i][k][d]);
                *reinterpret_cast<decltype(vector)*>(rows + (first_depth() + d) * Tile::kRowPitch +
                                                     slot(i) * kPixels) = vector;
            }
    }
};

}  // namespace styleforge
