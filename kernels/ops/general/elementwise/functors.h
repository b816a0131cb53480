// The elementwise operations, one functor each: the value of an element, and its gradients. The
// CUDA kernels and the CPU loops share them, each with its own math functions.
#pragma once

#ifdef __CUDACC__
#define STYLEFORGE_ELEMENT __device__ __forceinline__
#else
#include "include/cpu/inline.h"
#define STYLEFORGE_ELEMENT STYLEFORGE_INLINE
#endif

namespace styleforge {
namespace elementwise {

constexpr int kMostInputs = 3, kMostGradients = 2;

// Every functor has `kInputs`, the number of tensors that it reads; `kGradients`, the number of
// different gradients (added inputs share one); and `kDrops`, whether the framework passes the
// dropout factor as its second input. `backward` reads the inputs again; functors marked OfResult
// read the result as `in[0]` instead. `kAddsBias`: the second input is a bias, which usually runs
// along rows, so that only one tensor is read from memory. `M` has exp, tanh, inverse, ndtr and
// density for the number type A.
struct OfInputs {
    static constexpr bool kOfResult = false, kAddsBias = false;
};
struct OfResult {
    static constexpr bool kOfResult = true, kAddsBias = false;
};
struct OfBiased : OfInputs {
    static constexpr bool kAddsBias = true;
};

template <typename A>
STYLEFORGE_ELEMENT A relu(A v) {
    return v < A(0) ? A(0) : v;  // NaN passes through
}

// Returns `grad` where relu's result is positive, else 0. As in PyTorch, NaN passes it through.
template <typename A>
STYLEFORGE_ELEMENT A relu_gradient(A grad, A v) {
    return v <= A(0) ? A(0) : grad;
}

template <typename M, typename A>
STYLEFORGE_ELEMENT A sigmoid(A v) {
    return M::inverse(A(1) + M::exp(-v));
}

// 1 - tanh(v)^2 = 4 e / (1 + e)^2 with e = exp(-2 |v|), without cancellation.
template <typename M, typename A>
STYLEFORGE_ELEMENT A tanh_slope(A v) {
    const A e = M::exp(A(-2) * (v < A(0) ? -v : v)), share = M::inverse(A(1) + e);
    return A(4) * e * share * share;
}

// x Phi(x).
template <typename M, typename A>
STYLEFORGE_ELEMENT A gelu(A v) {
    return v * M::ndtr(v);
}

template <typename M, typename A>
STYLEFORGE_ELEMENT A gelu_slope(A v) {
    return v * M::density(v) + M::ndtr(v);
}

// The tanh approximation (Hendrycks and Gimpel, 2016).
template <typename M, typename A>
STYLEFORGE_ELEMENT A tanh_of_gelu(A v) {
    return M::tanh(A(0.79788456080286535588) * (v + A(0.044715) * v * v * v));
}

template <typename M, typename A>
STYLEFORGE_ELEMENT A gelu_tanh(A v) {
    return A(0.5) * v * (A(1) + tanh_of_gelu<M>(v));
}

template <typename M, typename A>
STYLEFORGE_ELEMENT A gelu_tanh_slope(A v) {
    const A t = tanh_of_gelu<M>(v);
    const A inner = A(0.79788456080286535588) * (A(1) + A(3 * 0.044715) * v * v);
    return A(0.5) * (A(1) + t) + A(0.5) * v * (A(1) - t * t) * inner;
}

// tanh(softplus(v)) = n / (n + 2) with n = e^v (e^v + 2). From v = 20 on it is 1 in FP32 and FP64.
template <typename M, typename A>
STYLEFORGE_ELEMENT A tanh_of_softplus(A v) {
    const A w = M::exp(v > A(20) ? A(20) : v), n = w * (w + A(2));
    return n * M::inverse(n + A(2));
}

struct AddRelu : OfResult {
    static constexpr int kInputs = 2, kGradients = 1;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return relu(in[0] + in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = relu_gradient(grad, in[0]);
    }
};

struct MultiplyRelu : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return relu(in[0] * in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const A inner = relu_gradient(grad, in[0] * in[1]);
        out[0] = inner * in[1];
        out[1] = inner * in[0];
    }
};

struct AddSigmoid : OfResult {
    static constexpr int kInputs = 2, kGradients = 1;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return sigmoid<M>(in[0] + in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * in[0] * (A(1) - in[0]);
    }
};

struct MulTanh : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return M::tanh(in[0] * in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const A inner = grad * tanh_slope<M>(in[0] * in[1]);
        out[0] = inner * in[1];
        out[1] = inner * in[0];
    }
};

struct BiasGelu : OfBiased {
    static constexpr int kInputs = 2, kGradients = 1;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return gelu<M>(in[0] + in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * gelu_slope<M>(in[0] + in[1]);
    }
};

struct BiasGeluTanh : OfBiased {
    static constexpr int kInputs = 2, kGradients = 1;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return gelu_tanh<M>(in[0] + in[1]);
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * gelu_tanh_slope<M>(in[0] + in[1]);
    }
};

struct GeluDropout : OfInputs {
    static constexpr int kInputs = 1, kGradients = 1;
    static constexpr bool kDrops = true;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return gelu<M>(in[0]) * in[1];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * in[1] * gelu_slope<M>(in[0]);
    }
};

struct SwishMultiply : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return in[0] * sigmoid<M>(in[0]) * in[1];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const A s = sigmoid<M>(in[0]);
        out[0] = grad * in[1] * (s + in[0] * s * (A(1) - s));
        out[1] = grad * in[0] * s;
    }
};

struct GeluMultiply : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return gelu<M>(in[0]) * in[1];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const A below = M::ndtr(in[0]);  // once for both gradients
        out[0] = grad * in[1] * (below + in[0] * M::density(in[0]));
        out[1] = grad * in[0] * below;
    }
};

struct GeluTanhMultiply : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return gelu_tanh<M>(in[0]) * in[1];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * in[1] * gelu_tanh_slope<M>(in[0]);
        out[1] = grad * gelu_tanh<M>(in[0]);
    }
};

struct MishScale : OfInputs {
    static constexpr int kInputs = 2, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return in[0] * tanh_of_softplus<M>(in[0]) * in[1];
    }
    // With w = e^v, n = w (w + 2), i = 1 / (n + 2) and t = n i, the slope of v t is
    // t + v (1 - t^2) w / (1 + w) = t + 4 v w (w + 1) i^2 = t + v 4 i (t - w i).
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const bool flat = in[0] > A(20);  // the slope is 1 beyond 20
        const A w = M::exp(flat ? A(20) : in[0]), n = w * (w + A(2));
        const A inverse = M::inverse(n + A(2)), t = n * inverse;
        // Multiply by v last: 4 v may overflow where w is 0.
        const A bend = flat ? A(0) : A(4) * inverse * (t - w * inverse);
        out[0] = grad * in[1] * (t + in[0] * bend);
        out[1] = grad * in[0] * t;
    }
};

// The inputs are x, bias and alpha.
struct PreluBias : OfBiased {
    static constexpr int kInputs = 3, kGradients = 2;
    static constexpr bool kDrops = false;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        const A v = in[0] + in[1];
        return v > A(0) ? v : v * in[2];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        const A v = in[0] + in[1];
        out[0] = v > A(0) ? grad : grad * in[2];
        out[1] = v > A(0) ? A(0) : grad * v;
    }
};

struct AttentionDropout : OfInputs {
    static constexpr int kInputs = 1, kGradients = 1;
    static constexpr bool kDrops = true;
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT A forward(const A (&in)[kMostInputs]) {
        return in[0] * in[1];
    }
    template <typename M, typename A>
    static STYLEFORGE_ELEMENT void backward(A grad, const A (&in)[kMostInputs],
                                            A (&out)[kMostGradients]) {
        out[0] = grad * in[1];
    }
};

}  // namespace elementwise
}  // namespace styleforge

// Every functor by its name in Python, in the order of functions.py.
#define STYLEFORGE_ELEMENTWISE(use) \
    use(add_relu, AddRelu)          \
    use(multiply_relu, MultiplyRelu) \
    use(add_sigmoid, AddSigmoid)    \
    use(mul_tanh, MulTanh)          \
    use(bias_gelu, BiasGelu)        \
    use(bias_gelu_tanh, BiasGeluTanh) \
    use(gelu_dropout, GeluDropout)  \
    use(swish_multiply, SwishMultiply) \
    use(mish_scale, MishScale)      \
    use(prelu_bias, PreluBias)      \
    use(attention_dropout, AttentionDropout) \
    use(gelu_multiply, GeluMultiply) \
    use(gelu_tanh_multiply, GeluTanhMultiply)
