// The activations that follow a norm, one functor each: the value, and the gradient that it passes
// through. The CUDA kernels and the CPU loops share them, each with its own math functions.
#pragma once

#include "ops/general/elementwise/functors.h"

namespace styleforge {
namespace fusion {

struct Identity {
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A value(A z) {
        return z;
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A gradient(A grad, A) {
        return grad;
    }
};

struct Relu {
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A value(A z) {
        return elementwise::relu(z);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A gradient(A grad, A z) {
        return elementwise::relu_gradient(grad, z);
    }
};

struct Gelu {
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A value(A z) {
        return elementwise::gelu<M>(z);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A gradient(A grad, A z) {
        return grad * elementwise::gelu_slope<M>(z);
    }
};

// Calls `use` with the activation numbered as in rows.py.
template <typename Use>
STYLEFORGE_ELEMENT void with_activation(long long number, const Use& use) {
    if (number == 1)
        use(Relu{});
    else if (number == 2)
        use(Gelu{});
    else
        use(Identity{});
}

}  // namespace fusion
}  // namespace styleforge
