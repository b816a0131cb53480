// What attention's kernels are called with; kernels/ops/cuda/transformer_structs.py mirrors it.
// Sources that include this file are the library `transformer`.
#pragma once

// softmax(scale q k^T + mask) v for each sample and head, with rows of D contiguous elements.
typedef struct {
    const void* q;           // [N, H, Lq, D]
    const void* k;           // [N, H, Lk, D]
    const void* v;           // [N, H, Lk, D]
    const void* mask;        // [N, H, Lq, Lk] of their type, added to the scores, or null
    const long long* state;  // seed and offset of the random numbers of dropout, or null
    void* out;               // [N, H, Lq, D]
    float* lse;              // [N, H, Lq]: the logarithm of the sum of exponentials
    long long q_strides[3], k_strides[3], v_strides[3], out_strides[3];  // of N, H and L
    long long mask_strides[3];                                          // of N, H and Lq
    int samples, heads, queries, keys, columns;  // columns: D
    int causal;         // whether a query sees no key of a higher number
    float scale;        // of the scores
    unsigned dropped;   // of 2^16 random numbers, how many drop a weight
    float kept_scale;   // of the weights that are kept
} StyleforgeAttention;

// The gradients of the same, from what forward left.
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
    void* y;               // as x; may be x
    long long rows;
    int columns;
    int tanh;  // whether GELU is its approximation by tanh
} StyleforgeEpilogue;
