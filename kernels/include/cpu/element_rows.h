// Rows of elements through an elementwise operation and back, in FP32 on the CPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../elementwise/functors.h"
#include "vector_math.h"

namespace styleforge {
namespace elementwise {

constexpr int64_t kBlock = 512;               // elements at a time
constexpr int64_t kSerialElements = 1 << 14;  // below, waking a thread takes longer than its work

// `static`, so that a compiler makes them part of the loops that call them, for the count that these
// pass, and keeps what does not change from piece to piece in registers.
template <typename Op>
static void forward(const float* __restrict x, const float* __restrict y, const float* __restrict z,
             float* __restrict out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float in[kMostInputs] = {x[i], y[i], z[i]};
        out[i] = Op::template forward<VectorMath>(in);
    }
}

template <typename Op>
static void backward(const float* __restrict grad, const float* __restrict x, const float* __restrict y,
              const float* __restrict z, float* __restrict first, float* __restrict second,
              int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float in[kMostInputs] = {x[i], y[i], z[i]};
        float out[kMostGradients] = {0.f, 0.f};
        Op::template backward<VectorMath>(grad[i], in, out);
        first[i] = out[0];
        if constexpr (Op::kGradients > 1) second[i] = out[1];
    }
}

// Whether a comparison lets the gradient through: GCC makes it the mask of the load, which then
// begins late.
template <typename Op>
constexpr bool kMasked = std::is_same<Op, AddRelu>::value || std::is_same<Op, MultiplyRelu>::value;

}  // namespace elementwise
}  // namespace styleforge
