// Sums over the places that blocks of numbers were gathered to: the gradient of gathering them.
#pragma once

#include "../common/dtypes.cuh"

namespace styleforge {

constexpr int kSumWarps = 8;  // of a block of threads, each of which has every so many places
constexpr int kSumAhead = 4;  // places whose numbers are on their way together

// out[block] = the sum of x[order[i]] for i from begins[block] to begins[block + 1], in FP32 and in an
// order that depends on nothing else. A block of threads has kCount numbers for each lane.
template <int kCount, typename T>
__device__ __forceinline__ void sum_places(const T* x, const long long* order,
                                           const long long* begins, T* out, unsigned block,
                                           unsigned at, long long width, float* shared) {
    using Vector = AlignedVector<T, kCount>;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const bool is_inside = at < width;
    const long long end = is_inside ? begins[block + 1] : 0;
    float sum[kCount] = {};
    for (long long i = is_inside ? begins[block] + warp : 0; i < end; i += kSumWarps * kSumAhead) {
        Vector held[kSumAhead] = {};
#pragma unroll
        for (int u = 0; u < kSumAhead; ++u)
            if (i + u * kSumWarps < end)
                held[u] = *reinterpret_cast<const Vector*>(x + order[i + u * kSumWarps] * width + at);
#pragma unroll
        for (int u = 0; u < kSumAhead; ++u)
#pragma unroll
            for (int k = 0; k < kCount; ++k) sum[k] += to_float(held[u].element[k]);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) shared[(warp * kCount + k) * 32 + lane] = sum[k];
    __syncthreads();
    if (warp != 0 || !is_inside) return;
    for (int of = 1; of < kSumWarps; ++of)
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum[k] += shared[(of * kCount + k) * 32 + lane];
    store<kCount>(out + block * width + at, sum);
}

}  // namespace styleforge
