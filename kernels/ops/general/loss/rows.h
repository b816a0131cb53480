// Launch parameters of cross-entropy over rows of logits, on a GPU and on the CPU.
// rows.py mirrors them.
#pragma once

typedef struct {
    const void* logits;       // row r begins at r / inner * outer_stride + r % inner * inner_stride
    const long long* labels;  // by row; an invalid class makes its row NaN
    const void* weight;       // by class, or null; FP32 like all that follows except the gradient
    const void* grads;        // of row r at r * grad_step, or null for 1; type given by are_wide
    const void* divisor;      // divides all gradients; or null
    void* losses;             // by row; written, like `lse`, unless `lse` is known
    void* lse;                // by row, log-sum-exp
    void* gradient;           // dense rows of the logits' type, or null; may alias logits
    long long rows, classes, inner, outer_stride, inner_stride, grad_step, ignore_index;
    double smoothing;
    int type;   // of the logits: 0 for FP32, 1 for FP16, 2 for BF16, 3 for FP64 throughout
    int known;  // whether `lse` is an input
    int are_wide;  // whether `grads` are FP32 rather than the logits' type
} StyleforgeRows;

// The reduction of the rows' losses to a total, on a GPU.
typedef struct {
    const void* losses;       // by row; FP32, or FP64 with is_wide, like `weight` and `divisor`
    const long long* labels;  // by row
    const void* weight;       // by class, or null
    void* total;              // of `type`
    void* divisor;            // divisor of the sum of losses
    long long rows, classes, ignore_index;
    int type, is_wide, is_mean;
} StyleforgeTotal;
