// A depthwise 3x3 convolution of channels-last pictures, padded by reflection. Reference:
// ops/transformer/depthwise.py.
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kTaps = 9;
constexpr int kRows = 4;  // pixels of a column per thread, which holds the weights

__device__ __forceinline__ int reflected(int position, int size) {
    const int at = position < 0 ? -position : position;
    return at < size ? at : 2 * size - 2 - at;
}

// Each thread computes kCount channels of kRows pixels of y: [N, h, w, c], like x; weight: [c, 9].
// Blocks along y are groups of rows, along z samples.
template <typename T, int kCount>
__device__ __forceinline__ void depthwise(const T* x, const T* weight, T* y, int h, int w, int c) {
    const unsigned groups = c / kCount, thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = thread / groups, channel = thread % groups * kCount;
    if (column >= w) return;
    float weights[kTaps * kCount];  // the taps of a channel are contiguous
#pragma unroll
    for (int i = 0; i < kTaps; ++i)
        load<kCount>(weights + i * kCount, weight + 1ll * channel * kTaps + i * kCount);
    const long long before = 1ll * blockIdx.z * h * w;
    const int first = blockIdx.y * kRows;
    float sums[kRows][kCount] = {};
    // Each pixel is read once and added to every output that uses it. All loads precede the first
    // store, since the compiler moves no load above a store. Beyond the picture's margin, the last
    // row is read.
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

// Dispatches on the type, with 16 bytes per thread if the addresses allow it, else one element.
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
