// What a pass of an elementwise operation is called with, on a GPU and on the CPU.
// kernels/ops/library/elements.py has its mirror.
#pragma once

typedef struct {
    const void* inputs[4];   // backward: the gradient of the result first
    void* outputs[2];        // dense, in the order that `sizes` walks; a gradient may be null
    const long long* state;  // seed and offset of the random numbers of dropout, or null
    long long count;         // elements
    long long sizes[8];      // of the dimensions, the innermost first
    long long strides[4][8];  // of the inputs along these, in elements; 0 where one is broadcast
    double kept_scale;        // of the elements that dropout keeps
    unsigned dropped;         // of 2^16 random numbers, how many drop an element
    int dims;                 // of `sizes`, at least 1
    int function;             // its number in STYLEFORGE_ELEMENTWISE
    int backward;             // whether gradients are computed
    int type;                 // of the tensors: 0 for FP32, 1 for FP16, 2 for BF16, 3 for FP64
    int wide;                 // whether indices and offsets take 64 bits
} StyleforgeElements;
