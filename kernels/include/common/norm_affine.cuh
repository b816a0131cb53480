// The norm of a network layer's input, computed from the previous layer's statistics.
#pragma once

#include "welford.cuh"

namespace styleforge {

// Returns scale and bias of channel c < kChannels, norm(x) = x * scale + bias. All loads are in
// flight together. Computes the common mean first, then squared deviations from it.
template <int kChannels>
__device__ __forceinline__ float2 norm_affine(const NormParams& norm, int sample, int c) {
    const float4* from = norm.groups + static_cast<size_t>(sample) * norm.count * kChannels + c;
    float4 item[kMaxGroups];
#pragma unroll
    for (int i = 0; i < kMaxGroups; ++i)
        item[i] = i < norm.count ? __ldcg(from + i * kChannels) : float4{0, 0, 0, 0};
    const float gamma = __ldg(norm.gamma + c), beta = __ldg(norm.beta + c);
    float count = 0, sum = 0, m2 = 0;
#pragma unroll
    for (int i = 0; i < kMaxGroups; ++i) count += item[i].x;
    const float part = 1 / count;
#pragma unroll
    for (int i = 0; i < kMaxGroups; ++i) sum += item[i].x * part * item[i].y;
#pragma unroll
    for (int i = 0; i < kMaxGroups; ++i) {
        const float off = item[i].y - sum;
        m2 += item[i].z + item[i].x * off * off;
    }
    const float scale = gamma * rsqrtf(m2 * part + norm.eps);
    return {scale, fmaf(-sum, scale, beta)};
}

}  // namespace styleforge
