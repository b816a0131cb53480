// Splits FP32 numbers into two TF32 numbers each, so that a product of three times the depth equals
// an FP32 product.
#include "include/common/dtypes.cuh"
#include "include/common/tf32.cuh"

namespace styleforge {

template <int kCount>
__device__ __forceinline__ void split(const float* from, float* to, long long columns) {
    float high[kCount], low[kCount];
    load<kCount>(high, from);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
        const float x = high[k];
        high[k] = nearest_tf32(x);
        low[k] = nearest_tf32(x - high[k]);
    }
    store<kCount>(to, high);
    store<kCount>(to + columns, low);
    store<kCount>(to + 2 * columns, high);
}

}  // namespace styleforge

// out: [rows, 3 columns] from x: [rows, columns]: high parts, low parts, high parts.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_split_tf32(const float* x, float* out, long long rows, long long columns,
                          int vector) {
    using namespace styleforge;
    constexpr int kCount = kVectorSize<float>;
    const unsigned of_row = static_cast<unsigned>(vector ? columns / kCount : columns);
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    const long long row = index / of_row;
    if (row >= rows) return;
    const long long at = static_cast<long long>(index % of_row) * (vector ? kCount : 1);
    const float* const from = x + row * columns + at;
    float* const to = out + row * 3 * columns + at;
    if (vector)
        split<kCount>(from, to, columns);
    else
        split<1>(from, to, columns);
}
