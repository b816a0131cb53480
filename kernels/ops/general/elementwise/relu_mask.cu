// relu(x + y) with one bit per element whose gradient passes, and that gradient. The backward pass
// reads the bits instead of the result, a 16th or a 32nd of its size.
#include <stdint.h>

#include "include/common/dtypes.cuh"
#include "include/common/with_type.cuh"

namespace styleforge {

constexpr int kMaskThreads = 256, kMaskVectors = 2;  // per block; 16-byte vectors per thread

// Calls `use(i, at)` for each vector of a thread, with its number in the thread and its number
// among all vectors, which may lie beyond the end.
template <typename Use>
__device__ __forceinline__ void each_vector_of_thread(const Use& use) {
    const long long first = 1ll * blockIdx.x * kMaskThreads * kMaskVectors + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kMaskVectors; ++i) use(i, first + i * kMaskThreads);
}

template <typename T>
__device__ __forceinline__ void add_relu_masked(const T* x, const T* y, T* out, uint8_t* mask,
                                                long long vectors) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    Vector of_x[kMaskVectors] = {}, of_y[kMaskVectors] = {};
    each_vector_of_thread([&](int i, long long at) {
        if (at >= vectors) return;
        of_x[i] = reinterpret_cast<const Vector*>(x)[at];
        of_y[i] = reinterpret_cast<const Vector*>(y)[at];
    });
    each_vector_of_thread([&](int i, long long at) {
        unsigned bits = 0;
        float ones[kCount], others[kCount];
        widen(ones, of_x[i]);
        widen(others, of_y[i]);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            const float sum = ones[k] + others[k];
            const T result = from_float<T>(sum < 0.f ? 0.f : sum);  // NaN passes through
            of_x[i].element[k] = result;
            bits |= (to_float(result) <= 0.f ? 0u : 1u) << k;
        }
        // For FP32, two threads share a byte.
        if (kCount == 4) bits |= __shfl_xor_sync(0xffffffffu, bits, 1) << 4;
        if (at >= vectors) return;
        reinterpret_cast<Vector*>(out)[at] = of_x[i];
        if (kCount == 8 || at % 2 == 0) mask[at * kCount / 8] = static_cast<uint8_t>(bits);
    });
}

template <typename T>
__device__ __forceinline__ void relu_mask_gradient(const T* grad, const uint8_t* mask, T* out,
                                                   long long vectors) {
    constexpr int kCount = kVectorSize<T>;
    using Vector = AlignedVector<T, kCount>;
    Vector given[kMaskVectors] = {};
    unsigned bits[kMaskVectors] = {};
    each_vector_of_thread([&](int i, long long at) {
        if (at >= vectors) return;
        given[i] = reinterpret_cast<const Vector*>(grad)[at];
        bits[i] = mask[at * kCount / 8] >> at * kCount % 8;
    });
    each_vector_of_thread([&](int i, long long at) {
        if (at >= vectors) return;
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            if (!(bits[i] >> k & 1)) given[i].element[k] = from_float<T>(0.f);
        reinterpret_cast<Vector*>(out)[at] = given[i];
    });
}

}  // namespace styleforge

// x, y and out: `vectors` times 16 bytes; mask: one bit per element, the first in the lowest bit.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_add_relu_masked(const void* x, const void* y, void* out, void* mask,
                               long long type, long long vectors) {
    using namespace styleforge;
    by_type(type, [&](auto element) {
        using T = decltype(element);
        add_relu_masked(static_cast<const T*>(x), static_cast<const T*>(y), static_cast<T*>(out),
                        static_cast<uint8_t*>(mask), vectors);
    });
}

// out: grad where the mask of `styleforge_add_relu_masked` has a set bit, else 0.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_relu_mask_gradient(const void* grad, const void* mask, void* out, long long type,
                                  long long vectors) {
    using namespace styleforge;
    by_type(type, [&](auto element) {
        using T = decltype(element);
        relu_mask_gradient(static_cast<const T*>(grad), static_cast<const uint8_t*>(mask),
                           static_cast<T*>(out), vectors);
    });
}
