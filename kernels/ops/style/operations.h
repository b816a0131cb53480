// Launch parameters of the convolution kernels; structs.py mirrors them. Sources
// that include this file form the library `operations`.
#pragma once

enum { STYLEFORGE_REFLECT = 0, STYLEFORGE_REPLICATE = 1 };
enum { STYLEFORGE_PLAIN = 0, STYLEFORGE_TENSOR_CORES = 1 };

// A convolution that computes its border inline. With `phases` 4, the layer "nearest x2, pad,
// convolve" runs as four phases: kernel 2, pad 1, replicated, and y twice the size.
typedef struct {
    const void* x;         // [N, Cin, H, W], any strides
    const void* packed;    // as written by pack_weight_kernel
    const void* bias;      // [Cout], or null
    const void* affine;    // [N, Cin] float4, or null: applied to x on load, followed by a ReLU
    void* y;               // [N, Cout, H', W'], any strides
    void* parts;           // [N, tiles, Cout] float4, or null: statistics of y before rounding
    long long x_strides[4], y_strides[4];  // in elements
    int samples, in_channels, out_channels;
    int height, width, out_height, out_width;  // of x; of y, per phase if there are four
    int kernel, pad, stride_h, stride_w, border, phases;
    int type;  // of x, bias and y: a DataType of common/data_type.h
    int math;  // STYLEFORGE_PLAIN (FP32), or STYLEFORGE_TENSOR_CORES (TF32 for FP32)
    int multiprocessors;
} StyleforgeConvolution;
