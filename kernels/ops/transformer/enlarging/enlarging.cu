// A convolution of a bilinearly enlarged picture, computed at the small size: the margin before it,
// and the interleaving of its four phases after it. Pictures are channels last. Reference:
// ops/enlarging_reference.py.
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kMargin = 4;  // extra pixels of the convolution's input on each side
constexpr int kBefore = 3;  // extra pixels of its result on each side

// The two pixels of a row or a column whose weighted sum is an output pixel.
struct Mixed {
    int first, second;
    float weight, other;
};

__device__ __forceinline__ Mixed mixed(int position, int size) {
    const int inside = position - kMargin;
    if (inside >= 0 && inside < size) return {inside, inside, 1.f, 0.f};
    const bool ends = inside >= size;
    const int edge = ends ? size + 2 * kMargin - 1 - position : position;
    const float weight = edge == 0 ? 0.625f : edge == 1 ? 1.125f : edge == 2 ? -0.375f : 1.f;
    return {ends ? size - 1 : 0, ends ? size - 2 : 1, weight, 1.f - weight};
}

template <typename T, int kCount>
__device__ __forceinline__ void add(float* sum, const T* from, float weight) {
    float values[kCount];
    load<kCount>(values, from);
#pragma unroll
    for (int i = 0; i < kCount; ++i) sum[i] += weight * values[i];
}

// Each thread computes kCount channels of a pixel of y: [N, h + 8, w + 8, c] from x: [N, h, w, c].
// Blocks along y are rows, along z samples.
template <typename T, int kCount>
__device__ __forceinline__ void pad(const T* x, T* y, int h, int w, int c) {
    const unsigned groups = c / kCount, thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int wide = w + 2 * kMargin, high = h + 2 * kMargin;
    const int position = thread / groups, channel = thread % groups * kCount;
    if (position >= wide) return;
    const Mixed column = mixed(position, w), row = mixed(blockIdx.y, h);
    const T* const sample = x + 1ll * blockIdx.z * h * w * c + channel;
    float sum[kCount] = {};
    // Pixels with zero weight are not read, so that infinity does not become NaN.
    const auto add_row = [&](int line, float weight) {
        const T* const from = sample + 1ll * line * w * c;
        add<T, kCount>(sum, from + 1ll * column.first * c, weight * column.weight);
        if (column.other != 0)
            add<T, kCount>(sum, from + 1ll * column.second * c, weight * column.other);
    };
    add_row(row.first, row.weight);
    if (row.other != 0) add_row(row.second, row.other);
    const long long pixel = (1ll * blockIdx.z * high + blockIdx.y) * wide + position;
    store<kCount>(y + pixel * c + channel, sum);
}

// Returns the result's row for a row of the enlarged picture; the outermost rows are separate.
__device__ __forceinline__ int source(int at, int size) {
    if (at == 0) return 0;
    return at == 2 * size - 1 ? size + 2 * kBefore - 1 : at / 2 + kBefore;
}

// Each thread computes kCount channels of a pixel of y: [N, 2h, 2w, c] from z: [N, h + 6, w + 6,
// 4c] and skip: [N, 2h, 2w, c], with any strides except the channels', or null. Blocks as above.
template <typename T, int kCount>
__device__ __forceinline__ void interleave(const T* z, const T* skip, T* y, int h, int w, int c,
                                           long long sample_stride, long long row_stride,
                                           long long column_stride) {
    const unsigned groups = c / kCount, thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = thread / groups, channel = thread % groups * kCount, row = blockIdx.y;
    const long long sample = blockIdx.z;
    if (column >= 2 * w) return;
    const long long line = sample * (h + 2 * kBefore) + source(row, h);
    const long long from = line * (w + 2 * kBefore) + source(column, w);
    const int phase = 2 * (row % 2) + column % 2;
    float sum[kCount] = {};
    add<T, kCount>(sum, z + (4 * from + phase) * c + channel, 1.f);
    if (skip != nullptr) {
        const long long at = sample * sample_stride + row * row_stride + column * column_stride;
        add<T, kCount>(sum, skip + at + channel, 1.f);
    }
    const long long pixel = (sample * 2 * h + row) * 2 * w + column;
    store<kCount>(y + pixel * c + channel, sum);
}

// Dispatches on the type, with 16 bytes per thread if addresses and strides allow it, else one
// element.
template <template <typename, int> class Run, typename... Arguments>
__device__ __forceinline__ void by_type(long long type, int vectors, Arguments... arguments) {
    if (type == kHalf && vectors)
        Run<__half, kVectorSize<__half>>::run(arguments...);
    else if (type == kHalf)
        Run<__half, 1>::run(arguments...);
    else if (type == kBFloat16 && vectors)
        Run<__nv_bfloat16, kVectorSize<__nv_bfloat16>>::run(arguments...);
    else if (type == kBFloat16)
        Run<__nv_bfloat16, 1>::run(arguments...);
    else if (vectors)
        Run<float, kVectorSize<float>>::run(arguments...);
    else
        Run<float, 1>::run(arguments...);
}

template <typename T, int kCount>
struct Pad {
    static __device__ __forceinline__ void run(const void* x, void* y, int h, int w, int c) {
        pad<T, kCount>(static_cast<const T*>(x), static_cast<T*>(y), h, w, c);
    }
};

template <typename T, int kCount>
struct Interleave {
    static __device__ __forceinline__ void run(const void* z, const void* skip, void* y, int h,
                                               int w, int c, long long sample_stride,
                                               long long row_stride, long long column_stride) {
        interleave<T, kCount>(static_cast<const T*>(z), static_cast<const T*>(skip),
                              static_cast<T*>(y), h, w, c, sample_stride, row_stride,
                              column_stride);
    }
};

}  // namespace styleforge

extern "C" __global__ void __launch_bounds__(256)
    styleforge_enlarging_pad(const void* x, void* y, long long type, int vectors, long long h,
                             long long w, long long c) {
    styleforge::by_type<styleforge::Pad>(type, vectors, x, y, static_cast<int>(h),
                                         static_cast<int>(w), static_cast<int>(c));
}

extern "C" __global__ void __launch_bounds__(256)
    styleforge_enlarging_interleave(const void* z, const void* skip, void* y, long long type,
                                    int vectors, long long h, long long w, long long c,
                                    long long sample_stride, long long row_stride,
                                    long long column_stride) {
    styleforge::by_type<styleforge::Interleave>(
        type, vectors, z, skip, y, static_cast<int>(h), static_cast<int>(w), static_cast<int>(c),
        sample_stride, row_stride, column_stride);
}
