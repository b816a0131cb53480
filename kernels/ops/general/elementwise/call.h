// Launch parameters of an elementwise pass, on a GPU and on the CPU.
// layout.py mirrors them.
#pragma once

typedef struct {
    const void* inputs[4];   // backward: the result's gradient first
    void* outputs[2];        // dense, in the order of `sizes`; a gradient may be null
    const long long* state;  // dropout's random seed and offset, or null
    long long count;         // elements
    long long sizes[8];      // of the dimensions, innermost first
    long long strides[4][8];  // of the inputs, in elements; 0 if broadcast
    double kept_scale;        // scale of the elements that dropout keeps
    unsigned dropped;         // 16-bit random numbers below this drop an element
    int dims;                 // of `sizes`, at least 1
    int function;             // number in STYLEFORGE_ELEMENTWISE
    int backward;             // whether to compute gradients
    int type;                 // of the tensors: 0 for FP32, 1 for FP16, 2 for BF16, 3 for FP64
    int wide;                 // whether indices and offsets need 64 bits
} StyleforgeElements;
