// Dispatches the run-time type of tensors to a template argument.
#pragma once

#include <type_traits>

#include "dtypes.cuh"

namespace styleforge {

// Calls `use(element)` for the type with this number. FP64, which few kernels support, requires
// kWide.
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

// Calls `use(element, count)` for this type, with the elements in 16 bytes or 1.
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
