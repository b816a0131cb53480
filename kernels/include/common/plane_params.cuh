// Launch parameters of the kernels in instance_norm.cu, and the sizes that their launches depend
// on. This is the only definition: operations_abi.cu passes it to Python.
#pragma once

#include <cuda_runtime.h>

namespace styleforge {

constexpr int kMostParts = 8;  // blocks in a cluster; every GPU with clusters supports it
constexpr int kPlaneThreads = 1024, kPlaneElements = 32;
constexpr int kPartSize = 16384;  // elements of a plane per statistics part
constexpr int kPartThreads = 512;
constexpr int kWriteSize = 8192;  // elements of a plane per writing block
constexpr int kWriteThreads = 256;
constexpr int kPixelThreads = 256;  // for channels-last pictures
constexpr int kMergeThreads = 256;
constexpr int kMergedPlanes = 2;  // per block: its entries of a part fill a memory sector

// The moments of a part of a plane: (count, rounded mean, rounding error of the mean, M2). An empty
// part is all zeros.
using PartialMoments = float4;

// The `count` parts of plane (n, c), as strides over an array.
struct PartialMomentsView {
    const PartialMoments* parts;
    long long of_sample, of_channel, of_part;  // strides
    int count;
};

// norm(v) = (v - x) * y + z, with the affine parameters included.
using Affine = float4;

struct AffineParameters {
    const void* gamma;  // [C] or null
    const void* beta;   // [C] or null
    int type;           // of both
    float eps;
};

struct Planes {
    const void* x;
    const void* residual;
    void* y;
    AffineParameters affine;
    long long pixels;
    int channels, parts, relu;
};

// The partition of a channels-last picture [P, C]: adjacent threads process adjacent channels, and
// rows of threads process every cut.rows-th pixel.
struct Cut {
    long long pixels;
    int channels, columns, rows, chunk, chunks;  // columns and rows of threads; pixels per chunk
};

// The margin written around a normalized picture; none if pad is 0.
struct Margin {
    int height, width;  // of the picture
    int pad, border;    // pixels on each side; 0 reflects and 1 repeats, as in operations.h
};

}  // namespace styleforge
