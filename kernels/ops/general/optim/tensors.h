// Launch parameters for many tensors, on a GPU and on the CPU, and the update of an element.
// tensors.py mirrors the structs.
#pragma once

#include <math.h>

#ifdef __CUDACC__
#define STYLEFORGE_UPDATE __device__ __forceinline__
#else
#define STYLEFORGE_UPDATE inline
#endif

constexpr int kMostTensors = 64, kMostLists = 4, kChunk = 4096;

// Every supported driver accepts kernel arguments of 4 KB.
typedef struct {
    void* at[kMostLists][kMostTensors];  // by list, addresses; one index, one layout
    const float* steps[kMostTensors];    // updates per tensor, including this one, or null
    long long counts[kMostTensors];      // elements
    unsigned first[kMostTensors];        // number of the tensor's first chunk of kChunk elements
    int types[kMostTensors];             // 0 for FP32, 1 for FP16, 2 for BF16, 3 for FP64
    int tensors;
} StyleforgeTensors;

// Parameters of an update; the other optimizer's are 0.
typedef struct {
    const float* grad_scale;  // divisor of the gradients, or null
    const float* found_inf;   // if not 0, nothing is updated; or null
    double lr, weight_decay;
    double beta1, beta2, log_beta1, log_beta2, eps;  // Adam
    double momentum, dampening;                      // SGD
    int maximize;
    int decoupled;  // Adam: whether weight decay is decoupled from the gradient
    int nesterov;   // SGD
} StyleforgeUpdate;

namespace styleforge {
namespace optim {

// An update is constructed per tensor and then applied to its elements; `values` has one element of
// each list. The bits of kWritten mark the lists that it changes. A is FP64 for FP64 tensors, else
// FP32. Each step follows PyTorch's loop over single tensors, so that infinities and NaN agree: a
// decay of 0 reads no parameter, since 0 times infinity is NaN, and an average moves towards the
// gradient like lerp.

// Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019). Lists: parameters, gradients,
// and the averages of gradients and of their squares.
template <typename A>
struct Adam {
    enum { kLists = 4, kWritten = 1 | 4 | 8 };
    A gain, kept, decay, beta1, rest1, beta2, rest2, rate, correction, eps;
    bool decays, stays;

    STYLEFORGE_UPDATE Adam(const StyleforgeUpdate& p, const float* step) {
        const A scale = p.grad_scale ? A(*p.grad_scale) : A(1), lr = A(p.lr), steps = A(*step);
        gain = (p.maximize ? A(-1) : A(1)) / scale;
        kept = p.decoupled ? A(1 - p.lr * p.weight_decay) : A(1);
        decay = A(p.weight_decay), decays = !p.decoupled && p.weight_decay != 0;
        beta1 = A(p.beta1), rest1 = A(1 - p.beta1), stays = p.beta1 > 0.5, beta2 = A(p.beta2), rest2 = A(1 - p.beta2);
        // beta^step - 1, without cancellation for small steps.
        rate = lr / expm1(A(p.log_beta1) * steps);
        correction = A(1) / sqrt(-expm1(A(p.log_beta2) * steps)), eps = A(p.eps);
    }

    STYLEFORGE_UPDATE void operator()(A (&v)[4]) const {
        const A scaled = v[1] * gain, grad = decays ? scaled + decay * v[0] : scaled;
        const A away = grad - v[2];
        v[2] = stays ? v[2] + rest1 * away : grad - beta1 * away;
        v[3] = beta2 * v[3] + rest2 * grad * grad;
        v[0] = kept * v[0] + rate * v[2] / (sqrt(v[3]) * correction + eps);
    }
};

// Lists: parameters, gradients and, with momentum, the momentum buffers.
template <typename A, bool kMomentum>
struct Sgd {
    enum { kLists = kMomentum ? 3 : 2, kWritten = kMomentum ? 1 | 4 : 1 };
    A gain, decay, lr, momentum, fresh;
    bool decays, nesterov;

    STYLEFORGE_UPDATE Sgd(const StyleforgeUpdate& p, const float*) {
        const A scale = p.grad_scale ? A(*p.grad_scale) : A(1);
        gain = (p.maximize ? A(-1) : A(1)) / scale, decay = A(p.weight_decay), lr = A(p.lr);
        decays = p.weight_decay != 0;
        momentum = A(p.momentum), fresh = A(1 - p.dampening), nesterov = p.nesterov != 0;
    }

    STYLEFORGE_UPDATE void operator()(A (&v)[kLists]) const {
        const A scaled = v[1] * gain;
        A grad = decays ? scaled + decay * v[0] : scaled;
        if constexpr (kMomentum) {
            v[2] = momentum * v[2] + fresh * grad;
            grad = nesterov ? grad + momentum * v[2] : v[2];
        }
        v[0] -= lr * grad;
    }
};

// Adds an element to part of a norm. `kind` 1 sums absolute values, 2 sums squares, and 0 takes the
// largest absolute value, or NaN.
template <typename A>
STYLEFORGE_UPDATE A joined(A part, A value, long long kind) {
    const A size = value < A(0) ? -value : value;
    if (kind == 2) return part + value * value;
    return kind == 1 ? part + size : size > part || size != size ? size : part;
}

}  // namespace optim
}  // namespace styleforge
