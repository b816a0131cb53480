// What cross-entropy of rows of logits is called with, on a GPU and on the CPU.
// kernels/ops/losses/rows.py has its mirror.
#pragma once

typedef struct {
    const void* logits;       // row r begins at r / inner * outer_stride + r % inner * inner_stride
    const long long* labels;  // by row; one that is no class makes its row NaN
    const void* weight;       // by class, or null; as all that follows but the gradient it is FP32
    const void* grads;        // of row r at r * grad_step, or null for 1; are_wide tells its type
    const void* divisor;      // what all of them are divided by, or null
    void* losses;             // by row; written, as `lse`, unless that is known
    void* lse;                // by row, the logarithm of the sum of exponentials
    void* gradient;           // dense rows of the logits' type, or null; the logits' place may be it
    long long rows, classes, inner, outer_stride, inner_stride, grad_step, ignore_index;
    double smoothing;
    int type;   // of the logits: 0 for FP32, 1 for FP16, 2 for BF16, 3 for FP64, and all is FP64
    int known;  // whether `lse` is read
    int are_wide;  // whether `grads` are FP32, and not of the logits' type
} StyleforgeRows;

// What turns the losses of rows into that of all of them, on a GPU.
typedef struct {
    const void* losses;       // by row; FP32 or, with is_wide, FP64, as `weight` and `divisor`
    const long long* labels;  // by row
    const void* weight;       // by class, or null
    void* total;              // of `type`
    void* divisor;            // what the sum of losses is divided by
    long long rows, classes, ignore_index;
    int type, is_wide, is_mean;
} StyleforgeTotal;
