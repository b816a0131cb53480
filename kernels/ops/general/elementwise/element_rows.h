// Applies an elementwise operation, forward and backward, to rows of elements in FP32 on the CPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "functors.h"
#include "include/cpu/gelu_slope.h"
#include "tanh_slope.h"
#include "include/cpu/vector_math.h"

namespace styleforge {
namespace elementwise {

constexpr int64_t kBlock = 512;               // elements per step
constexpr int64_t kSerialElements = 1 << 14;  // below this, waking a thread costs more

// Rows are FP32, or BF16 converted on the fly. Y is a separate type, since the factors of dropout
// are FP32. The functions are `static`, so that a compiler inlines them into the calling loops,
// specialized for their count, and keeps loop invariants in registers.
template <typename Op, typename T, typename Y>
static void forward_each(const T* __restrict x, const Y* __restrict y, const T* __restrict z,
                    T* __restrict out, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const float in[kMostInputs] = {static_cast<float>(x[i]), static_cast<float>(y[i]),
                                       static_cast<float>(z[i])};
        out[i] = T(Op::template forward<VectorMath>(in));
    }
}

template <typename Op, typename T, typename Y, typename Out>
static void backward_each(const T* __restrict grad, const T* __restrict x, const Y* __restrict y,
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

// Two numbers of a row from index `i`: the BF16 numbers of a word, or factors of dropout.
struct Two {
    float of[2];
};
STYLEFORGE_INLINE Two two_at(const BFloat16* row, int64_t i) {
    const BFloat16Pair pair = pair_at(row + i);
    return {{pair.first(), pair.second()}};
}
STYLEFORGE_INLINE Two two_at(const float* row, int64_t i) { return {{row[i], row[i + 1]}}; }

template <typename Op, typename T, typename Y>
static void forward(const T* __restrict x, const Y* __restrict y, const T* __restrict z,
                    T* __restrict out, int64_t count) {
    int64_t done = 0;
    if constexpr (std::is_same<T, BFloat16>::value) {
        for (; done + 2 <= count; done += 2) {
            const Two a = two_at(x, done), b = two_at(y, done), c = two_at(z, done);
            float made[2];
            for (int k = 0; k < 2; ++k) {
                const float in[kMostInputs] = {a.of[k], b.of[k], c.of[k]};
                made[k] = Op::template forward<VectorMath>(in);
            }
            put_pair(out + done, {made[0], made[1]});
        }
    }
    forward_each<Op>(x + done, y + done, z + done, out + done, count - done);
}

template <typename Op, typename T, typename Y, typename Out>
static void backward(const T* __restrict grad, const T* __restrict x, const Y* __restrict y,
                     const T* __restrict z, Out* __restrict first, Out* __restrict second,
                     int64_t count) {
    int64_t done = 0;
    if constexpr (std::is_same<T, BFloat16>::value && std::is_same<Out, BFloat16>::value) {
        for (; done + 2 <= count; done += 2) {
            const Two g = two_at(grad, done), a = two_at(x, done), b = two_at(y, done),
                      c = two_at(z, done);
            float made[2][kMostGradients] = {};
            for (int k = 0; k < 2; ++k) {
                const float in[kMostInputs] = {a.of[k], b.of[k], c.of[k]};
                Op::template backward<VectorMath>(g.of[k], in, made[k]);
            }
            put_pair(first + done, {made[0][0], made[1][0]});
            if constexpr (Op::kGradients > 1) put_pair(second + done, {made[0][1], made[1][1]});
        }
    }
    backward_each<Op>(grad + done, x + done, y + done, z + done, first + done, second + done,
                      count - done);
}

// Whether a comparison gates the gradient. GCC would use it as the mask of the load, which then
// starts late.
template <typename Op>
constexpr bool kMasked = std::is_same<Op, AddRelu>::value || std::is_same<Op, MultiplyRelu>::value;

}  // namespace elementwise
}  // namespace styleforge
