// Rows of elements through an elementwise operation and back, in FP32 on the CPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../elementwise/functors.h"
#include "gelu_slope.h"
#include "vector_math.h"

namespace styleforge {
namespace elementwise {

constexpr int64_t kBlock = 512;               // elements at a time
constexpr int64_t kSerialElements = 1 << 14;  // below, waking a thread takes longer than its work

// Rows of FP32, or of BF16 that are converted on the way; Y, since the factors of dropout are FP32.
// `static`, so that a compiler makes them part of the loops that call them, for the count that these
// pass, and keeps what does not change from piece to piece in registers.
template <typename Op, typename T, typename Y>
static void forward(const T* __restrict x, const Y* __restrict y, const T* __restrict z,
                    T* __restrict out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float in[kMostInputs] = {static_cast<float>(x[i]), static_cast<float>(y[i]),
                                       static_cast<float>(z[i])};
        out[i] = T(Op::template forward<VectorMath>(in));
    }
}

template <typename Op, typename T, typename Y, typename Out>
static void backward(const T* __restrict grad, const T* __restrict x, const Y* __restrict y,
                     const T* __restrict z, Out* __restrict first, Out* __restrict second,
                     int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float in[kMostInputs] = {static_cast<float>(x[i]), static_cast<float>(y[i]),
                                       static_cast<float>(z[i])};
        float out[kMostGradients] = {0.f, 0.f};
        Op::template backward<VectorMath>(static_cast<float>(grad[i]), in, out);
        first[i] = Out(out[0]);
        if constexpr (Op::kGradients > 1) second[i] = Out(out[1]);
    }
}

// Whether a comparison lets the gradient through: GCC makes it the mask of the load, which then
// begins late.
template <typename Op>
constexpr bool kMasked = std::is_same<Op, AddRelu>::value || std::is_same<Op, MultiplyRelu>::value;

}  // namespace elementwise
}  // namespace styleforge
