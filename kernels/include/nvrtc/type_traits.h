// A substitute for <type_traits> for NVRTC, which has no C++ library; only what the kernels use.
#pragma once

namespace std {

template <typename T, T kValue>
struct integral_constant {
    static constexpr T value = kValue;
    constexpr operator T() const { return value; }
};
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;

template <typename A, typename B>
inline constexpr bool is_same_v = false;
template <typename A>
inline constexpr bool is_same_v<A, A> = true;

}  // namespace std
