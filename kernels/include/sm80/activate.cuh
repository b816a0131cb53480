// Norm, ReLU and residual of what a layer loads.
#pragma once

#include "../common/convert.cuh"

namespace styleforge::sm80 {

// Eight channels: norm and ReLU or residual in FP32, rounded once.
template <typename T, bool kAdd>
__device__ __forceinline__ uint4 normalize_activate(const uint4& raw, const float4 (&affine)[4],
                                                    const uint4& add) {
    uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
    const uint32_t more[4] = {add.x, add.y, add.z, add.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 v = Pair<T>::unpack(word[i]);
        v.x = fmaf(v.x, affine[i].x, affine[i].y);
        v.y = fmaf(v.y, affine[i].z, affine[i].w);
        if (kAdd) {
            const float2 r = Pair<T>::unpack(more[i]);
            word[i] = Pair<T>::pack(v.x + r.x, v.y + r.y);
        } else {
            word[i] = Pair<T>::pack_relu(v.x, v.y);
        }
    }
    return {word[0], word[1], word[2], word[3]};
}

}  // namespace styleforge::sm80
