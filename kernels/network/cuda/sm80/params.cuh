// Launch parameters of the kernels in network_sm80.cu. kernels/network/abi.py mirrors them, and
// network_abi.cu describes them, so that a differing library fails to load.
#pragma once

#include "include/common/welford.cuh"

namespace styleforge::sm80 {

// The tiling of an output; the blocks of a launch loop over the tiles.
struct Tiling {
    int height, width;  // of the tiled tensor: y, or x if it is upsampled
    int rows, columns;  // of tiles
};

struct ConvParams {
    const void* x;         // [N, H, W, Cin] raw
    NormParams norm;       // of x
    const void* residual;  // [N, H, W, Cin] or null: added after the norm, without a ReLU
    void* activated;       // [N, H, W, Cin] or null: receives the activated input
    const void* weight;    // see kWeightOrder
    void* y;               // [N, H', W', Cout] raw
    StatisticsParams statistics;
    Tiling tiling;
    int height, width;  // of x
};

struct FirstLayerParams {
    const void* x;       // [N, H, W, 3], uint8 or the activations' storage type
    const void* weight;  // [kCopies][kWeightRows][kDepth], see kWeightOrder
    void* y;             // [N, H', W', Cout] raw
    StatisticsParams statistics;
    Tiling tiling;  // H' and W' are H and W rounded up to multiples of 4
    int height, width;
    int* range;  // [N, 3], cleared; see OutputRange
};

struct LastLayerParams {
    const void* x;       // [N, H', W', Cin] raw
    NormParams norm;     // of x
    const void* weight;  // [kCopies][kWeightRows][kDepth], see kWeightOrder
    const float* bias;   // [3]
    void* y;             // [N, H, W, 3], uint8 (rounded, 0-255) or the storage type
    Tiling tiling;       // of the picture
    int padded_h, padded_w;
    int* range;  // [N, 3] of the picture, see OutputRange
};

}  // namespace styleforge::sm80
