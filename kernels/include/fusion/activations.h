// What follows a norm, a functor each: its value, and the gradient that it lets through. CUDA's
// kernels and the CPU's loops are made of the same ones, each with mathematics of its own.
#pragma once

#include "../elementwise/functors.h"

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

// Calls `use` with the activation of this number in kernels/ops/fusions/rows.py.
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
