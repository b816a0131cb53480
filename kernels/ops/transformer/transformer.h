// Launch parameters of the attention kernels; structs.py mirrors them.
// Sources that include this file form the library `transformer`.
#pragma once

// softmax(scale q k^T + mask) v for each sample and head, with rows of D contiguous elements.
typedef struct {
    const void* q;           // [N, H, Lq, D]
    const void* k;           // [N, H, Lk, D]
    const void* v;           // [N, H, Lk, D]
    const void* mask;        // [N, H, Lq, Lk] of the same type, added to the scores, or null
    const long long* state;  // dropout's random seed and offset, or null
    void* out;               // [N, H, Lq, D]
    float* lse;              // [N, H, Lq]: log-sum-exp
    long long q_strides[3], k_strides[3], v_strides[3], out_strides[3];  // of N, H and L
    long long mask_strides[3];                                          // of N, H and Lq
    int samples, heads, queries, keys, columns;  // columns: D
    int causal;         // whether queries do not see keys of higher numbers
    float scale;        // of the scores
    unsigned dropped;   // 16-bit random numbers below this drop a weight
    float kept_scale;   // scale of the kept weights
} StyleforgeAttention;

// The gradients of the same, from the results of the forward pass.
typedef struct {
    StyleforgeAttention forward;
    const void* grad_out;  // [N, H, Lq, D], strides of `out`
    float* delta;          // [N, H, Lq]: the sums of out * grad_out
    void* grad_q;          // [N, H, Lq, D], dense as [N, Lq, H, D]
    void* grad_k;          // [N, H, Lk, D], dense as [N, Lk, H, D]
    void* grad_v;          // as grad_k
} StyleforgeAttentionBackward;

// y = gelu(x + bias), or y = x + bias + residual, for rows of a product.
typedef struct {
    const void* x;         // [rows, columns]
    const void* bias;      // [columns], or null
    const void* residual;  // as x, or null
    void* y;               // as x; may alias x
    long long rows;
    int columns;
    int tanh;  // whether to use the tanh approximation of GELU
} StyleforgeEpilogue;
