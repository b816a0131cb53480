// A pair of numbers that a block publishes in global memory for blocks that wait for it.
#pragma once

namespace styleforge {
namespace fusion {

// Both numbers are written at once, so that a waiting block reads either both or the previous
// content: all ones, a NaN that no computation produces. Hence no other write has to be ordered or
// waited for, whereas a flag would need a fence, a counter and an acquiring load.
// docs/reference/kernel_fusion/fusion.md has figures for both.
struct alignas(8) Partial {
    float first, second;

    static constexpr unsigned long long kEmpty = ~0ull;

    __device__ __forceinline__ void publish(Partial* to) const {
#ifdef __CUDA_ARCH__
        const unsigned long long bits =
            static_cast<unsigned long long>(__float_as_uint(second)) << 32 | __float_as_uint(first);
        asm volatile("st.relaxed.gpu.global.b64 [%0], %1;" ::"l"(to), "l"(bits) : "memory");
#else
        *to = *this;
#endif
    }
    // Waits for `count` pairs at a stride of `step`; entries of `found` beyond are 0.
    template <int kMost>
    static __device__ __forceinline__ void await(Partial (&found)[kMost], const Partial* from, int step,
                                                 int count) {
#ifdef __CUDA_ARCH__
        for (bool all = false; !all;) {
            unsigned long long bits[kMost];
#pragma unroll
            for (int i = 0; i < kMost; ++i) {
                bits[i] = 0;
                if (i < count)
                    asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];"
                                 : "=l"(bits[i])
                                 : "l"(from + i * step)
                                 : "memory");
            }
            all = true;
#pragma unroll
            for (int i = 0; i < kMost; ++i) {
                all = all && bits[i] != kEmpty;
                found[i].first = __uint_as_float(static_cast<unsigned>(bits[i]));
                found[i].second = __uint_as_float(static_cast<unsigned>(bits[i] >> 32));
            }
        }
#else
        for (int i = 0; i < kMost; ++i) found[i] = i < count ? from[i * step] : Partial{0, 0};
#endif
    }
};

}  // namespace fusion
}  // namespace styleforge
