// What a convolution's kernels are called with; kernels/ops/cuda/structs.py mirrors it. Sources that
// include this file are the library `operations`.
#pragma once

enum { STYLEFORGE_REFLECT = 0, STYLEFORGE_REPLICATE = 1 };
enum { STYLEFORGE_PLAIN = 0, STYLEFORGE_TENSOR_CORES = 1 };

// A convolution with its border computed inline. With `phases` 4, the layer is "nearest x2, pad,
// convolve" by its four phases: kernel 2, pad 1, replicated, and y of twice the size.
typedef struct {
    const void* x;         // [N, Cin, H, W], any strides
    const void* packed;    // by pack_weight_kernel
    const void* bias;      // [Cout], or null
    const void* affine;    // [N, Cin] float4, or null: applied to x as it is read, then a ReLU
    void* y;               // [N, Cout, H', W'], any strides
    void* parts;           // [N, tiles, Cout] float4, or null: statistics of y before rounding
    long long x_strides[4], y_strides[4];  // in elements
    int samples, in_channels, out_channels;
    int height, width, out_height, out_width;  // of x; of y, of one phase where there are four
    int kernel, pad, stride_h, stride_w, border, phases;
    int type;  // of x, bias and y: a DataType of common/data_type.h
    int math;  // STYLEFORGE_PLAIN (FP32), or STYLEFORGE_TENSOR_CORES (TF32 for FP32)
    int multiprocessors;
} StyleforgeConvolution;
