// Resizing: pixels as weighted means of pixels of a picture of another size.
#pragma once

#include <math.h>

#include "include/common/dtypes.cuh"

namespace styleforge {

// The pixels of a row or a column whose weighted mean is an output pixel, as in PyTorch's
// interpolate(antialias=True), or without antialiasing. Positions are exact, in half output pixels;
// sizes are below 2^15.
struct Taps {
    int first, count;
    float offset, inverse;

    Taps() = default;
    __device__ __forceinline__ Taps(int at, int in, int out, int antialias) {
        const unsigned unit = 2 * out, middle = (2 * at + 1) * in;
        const unsigned reach = antialias && in > out ? 2 * in : unit;
        first = middle + out > reach ? (middle + out - reach) / unit : 0;
        count = min(static_cast<int>((middle + out + reach) / unit), in) - first;
        offset = static_cast<float>(static_cast<int>(unit * first + out - middle)) / unit;
        inverse = static_cast<float>(unit) / reach;
    }
    __device__ __forceinline__ float weight(int tap) const {
        return fmaxf(1 - fabsf((tap + offset) * inverse), 0.f);
    }
};

// to[at] = the weighted sum of the bytes at `at` of the rows starting at `from`, for this thread's
// values of `at` below `bytes`. Returns the sum of the weights, if the thread has any.
template <int kCount>
__device__ __forceinline__ float rows_joined(float* to, const unsigned char* from,
                                             int stride, const Taps& down, int at, int bytes,
                                             int step) {
    float total = 0;
    for (; at < bytes; at += step) {
        float sums[kCount] = {};
        total = 0;
        const unsigned char* row = from + at;
#pragma unroll 4
        for (int tap = 0; tap < down.count; ++tap, row += stride) {
            const auto loaded = *reinterpret_cast<const AlignedVector<unsigned char, kCount>*>(row);
            const float weight = down.weight(tap);
            total += weight;
#pragma unroll
            for (int k = 0; k < kCount; ++k) sums[k] += weight * loaded.element[k];
        }
        store<kCount % 4 ? 1 : 4>(to + at, sums);
        if (kCount > 4) store<4>(to + at + 4, sums + kCount - 4);
    }
    return total;
}

}  // namespace styleforge
