// A 3x3 convolution of each channel by itself, of pictures padded by reflection. Pictures are
// channels last. What it computes is the reference in ops/transformer/depthwise.py.
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kTaps = 9;
constexpr int kRows = 4;  // pixels of a column that a thread makes, with weights that it keeps

__device__ __forceinline__ int reflected(int position, int size) {
    const int at = position < 0 ? -position : position;
    return at < size ? at : 2 * size - 2 - at;
}

// A thread makes kCount channels of kRows pixels of y: [N, h, w, c] of x, alike, and weight: [c, 9].
// Blocks along y are groups of rows, along z samples.
template <typename T, int kCount>
__device__ __forceinline__ void depthwise(const T* x, const T* weight, T* y, int h, int w, int c) {
    const unsigned groups = c / kCount, thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = thread / groups, channel = thread % groups * kCount;
    if (column >= w) return;
    float weights[kTaps * kCount];  // the taps of a channel lie together
#pragma unroll
    for (int i = 0; i < kTaps; ++i)
        load<kCount>(weights + i * kCount, weight + 1ll * channel * kTaps + i * kCount);
    const long long before = 1ll * blockIdx.z * h * w;
    const int first = blockIdx.y * kRows;
    float sums[kRows][kCount] = {};
    // Each pixel is read once, and added to all that it is a tap of; nothing is stored before, since
    // the compiler moves no load up over a store. Below the picture's margin its last row is read.
#pragma unroll
    for (int i = -1; i <= kRows; ++i) {
        const long long line = before + 1ll * reflected(min(first + i, h), h) * w;
#pragma unroll
        for (int j = 0; j < 3; ++j) {
            float values[kCount];
            load<kCount>(values, x + (line + reflected(column + j - 1, w)) * c + channel);
#pragma unroll
            for (int row = max(i - 1, 0); row <= min(i + 1, kRows - 1); ++row)
#pragma unroll
                for (int k = 0; k < kCount; ++k)
                    sums[row][k] += weights[k * kTaps + (i - row + 1) * 3 + j] * values[k];
        }
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row)
        if (first + row < h)
            store<kCount>(y + (before + 1ll * (first + row) * w + column) * c + channel, sums[row]);
}

// Calls with the type of the pointers, and 16 bytes of it a thread where addresses allow, else one.
template <typename T>
__device__ __forceinline__ void by_count(int vectors, const void* x, const void* weight, void* y,
                                         int h, int w, int c) {
    const auto* from = static_cast<const T*>(x);
    const auto* with = static_cast<const T*>(weight);
    if (vectors)
        depthwise<T, kVectorSize<T>>(from, with, static_cast<T*>(y), h, w, c);
    else
        depthwise<T, 1>(from, with, static_cast<T*>(y), h, w, c);
}

}  // namespace styleforge

extern "C" __global__ void __launch_bounds__(256)
    styleforge_depthwise(const void* x, const void* weight, void* y, long long type, int vectors,
                         long long h, long long w, long long c) {
    using namespace styleforge;
    if (type == kHalf)
        by_count<__half>(vectors, x, weight, y, h, w, c);
    else if (type == kBFloat16)
        by_count<__nv_bfloat16>(vectors, x, weight, y, h, w, c);
    else
        by_count<float>(vectors, x, weight, y, h, w, c);
}
