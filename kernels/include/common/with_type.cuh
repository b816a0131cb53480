// Turns the type of tensors, which is known at run time, into one that a template takes.
#pragma once

#include <type_traits>

#include "dtypes.cuh"

namespace styleforge {

// `use(element)` for the type of this number; FP64, which few kernels compute in, only with kWide.
template <bool kWide = false, typename Use>
__device__ __forceinline__ void by_type(long long type, const Use& use) {
    if (type == kHalf)
        use(__half{});
    else if (type == kBFloat16)
        use(__nv_bfloat16{});
    else if (!kWide || type == kFloat)
        use(0.f);
    else if constexpr (kWide)
        use(0.);
}

// `use(element, count)` for the type of this number, with as many elements as 16 bytes have, or 1.
template <typename Use>
__device__ __forceinline__ void with_type(long long type, int vector, const Use& use) {
    by_type(type, [&](auto element) {
        using T = decltype(element);
        if (vector)
            use(element, std::integral_constant<int, kVectorSize<T>>{});
        else
            use(element, std::integral_constant<int, 1>{});
    });
}

}  // namespace styleforge
