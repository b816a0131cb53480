// What the kernels of instance_norm.cu are called with, and the sizes that their launches depend
// on. Stated here once: operations_abi.cu tells Python.
#pragma once

#include <cuda_runtime.h>

namespace styleforge {

constexpr int kMostParts = 8;  // blocks in a cluster that every GPU with clusters can run
constexpr int kPlaneThreads = 1024, kPlaneElements = 32;
constexpr int kPartSize = 16384;  // elements of a plane whose statistics are taken together
constexpr int kPartThreads = 512;
constexpr int kWriteSize = 8192;  // elements of a plane that a block writes
constexpr int kWriteThreads = 256;
constexpr int kPixelThreads = 256;  // where channels come last
constexpr int kMergeThreads = 256;
constexpr int kMergedPlanes = 2;  // by a block: what it reads of a part is a sector of memory

// The moments of a part of a plane: (count, mean rounded, rounding error of the mean, M2). An empty
// part is all zeros.
using PartialMoments = float4;

// The `count` parts of plane (n, c), as strides over an array.
struct PartialMomentsView {
    const PartialMoments* parts;
    long long of_sample, of_channel, of_part;  // distances between neighbors
    int count;
};

// norm(x) = (x - x) * y + z, with the affine included.
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

// How a channels-last picture [P, C] is partitioned: adjacent threads take adjacent channels, rows
// of threads take every cut.rows-th pixel.
struct Cut {
    long long pixels;
    int channels, columns, rows, chunk, chunks;  // columns and rows of threads; pixels of a chunk
};

// What is written around a picture that is normalized; nothing where pad is 0.
struct Margin {
    int height, width;  // of the picture
    int pad, border;    // pixels on each side; 0 reflects and 1 repeats, as in operations.h
};

}  // namespace styleforge
