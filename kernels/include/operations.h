// The C interface of the operations' launchers: plain values, addresses and a stream. Launchers
// return a cudaError_t as int, 0 for success. None of them allocates.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// y = relu(norm(x) * gamma + beta + residual), dense [N, C, P] or, channels last, [N, P, C].
typedef struct {
    const void* x;
    const void* residual;  // as x, or null
    const void* gamma;     // [C], or null
    const void* beta;      // [C], or null
    void* y;               // as x; may be x
    void* scratch;         // of styleforge_norm_scratch bytes, 16-byte aligned
    long long samples, channels, pixels;
    float eps;
    int relu;
    int channels_last;
    int type;            // of x, residual and y: a DataType of common/data_type.h
    int parameter_type;  // of gamma and beta
    int vectorized;      // 16 bytes at a time where shape and addresses allow
    int multiprocessors, clusters;  // of the GPU; whether it has thread block clusters
} StyleforgeNorm;

long long styleforge_norm_scratch(const StyleforgeNorm* p);
int styleforge_norm(const StyleforgeNorm* p, void* stream);

enum { STYLEFORGE_REFLECT = 0, STYLEFORGE_REPLICATE = 1 };
enum { STYLEFORGE_PLAIN = 0, STYLEFORGE_TENSOR_CORES = 1 };

// A convolution with its border computed inline. With `phases` 4, the layer is "nearest x2, pad,
// convolve" by its four phases: kernel 2, pad 1, replicated, and y of twice the size.
typedef struct {
    const void* x;         // [N, Cin, H, W], any strides
    const void* packed;    // of styleforge_pack_weight
    const void* bias;      // [Cout], or null
    const void* affine;    // [N, Cin] float4, or null: applied to x as it is read, then a ReLU
    void* y;               // [N, Cout, H', W'], any strides
    void* parts;           // [N, tiles, Cout] float4, or null: statistics of y before rounding
    long long x_strides[4], y_strides[4];  // in elements
    int samples, in_channels, out_channels;
    int height, width, out_height, out_width;  // of x; of y, of one phase where there are four
    int kernel, pad, stride_h, stride_w, border, phases;
    int type;  // of x, bias and y
    int math;  // STYLEFORGE_PLAIN (FP32), or STYLEFORGE_TENSOR_CORES (TF32 for FP32)
    int multiprocessors;
} StyleforgeConvolution;

// How many bytes a packed weight takes, and how many tiles leave statistics for each sample.
long long styleforge_packed_bytes(const StyleforgeConvolution* p);
int styleforge_tiles(const StyleforgeConvolution* p);
// `weight` is dense, of p->type: [Cout, Cin, k, k], or [Cout, Cin, 3, 3] for four phases, whose
// taps are added up where they meet on one pixel.
int styleforge_pack_weight(const StyleforgeConvolution* p, const void* weight, void* packed,
                           void* stream);
int styleforge_convolve(const StyleforgeConvolution* p, void* stream);

// The norm of a convolution's output from the statistics it left; `tiles` for each sample.
int styleforge_finish_norm(const StyleforgeNorm* p, const void* parts, int tiles, void* stream);
// Only the affine, [N, C] float4, for a convolution that applies it to its input.
int styleforge_merge_norm(const StyleforgeNorm* p, const void* parts, int tiles, void* affine,
                          void* stream);

// relu(norm(conv(x))), or norm(conv(x)): conv.parts is set, and norm.x and norm.y are conv.y.
typedef struct {
    StyleforgeConvolution conv;
    StyleforgeNorm norm;
} StyleforgeConvNormRelu;

int styleforge_conv_norm_relu(const StyleforgeConvNormRelu* p, void* stream);

// x + norm(conv(relu(norm(conv(x))))): two 3x3 convolutions of equally many channels.
typedef struct {
    StyleforgeConvolution first, second;  // x, y, packed and parts are set, and first.bias
    StyleforgeNorm first_norm, second_norm;  // second_norm.residual is x
    void* affine;  // [N, C] float4
} StyleforgeResidualBlock;

int styleforge_residual_block(const StyleforgeResidualBlock* p, void* stream);

#ifdef __cplusplus
}
#endif
