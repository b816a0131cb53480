// Turns the type of tensors, which is known at run time, into one that a template takes.
#pragma once

#include <type_traits>

#include "dtypes.cuh"

namespace styleforge {

// `use(element, count)` for the type of this number, with as many elements as 16 bytes have, or 1.
template <typename Use>
__device__ __forceinline__ void with_type(long long type, int vector, const Use& use) {
    const auto by_width = [&](auto element) {
        using T = decltype(element);
        if (vector)
            use(element, std::integral_constant<int, kVectorSize<T>>{});
        else
            use(element, std::integral_constant<int, 1>{});
    };
    if (type == kHalf)
        by_width(__half{});
    else if (type == kBFloat16)
        by_width(__nv_bfloat16{});
    else
        by_width(0.f);
}

}  // namespace styleforge
