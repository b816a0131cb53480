// What the kernels of network_sm80.cu are called with. kernels/network/abi.py mirrors these
// structs, and network_abi.cu describes them, so that loading a library that differs fails.
#pragma once

#include "../common/welford.cuh"

namespace styleforge::sm80 {

// How an output is cut into tiles, which the blocks of a launch take turn by turn.
struct Tiling {
    int height, width;  // of what is tiled: of y, or of x where that is enlarged
    int rows, columns;  // of tiles
};

struct ConvParams {
    const void* x;         // [N, H, W, Cin] raw
    NormParams norm;       // of x
    const void* residual;  // [N, H, W, Cin], or null: added after norm, with no ReLU then
    void* activated;       // [N, H, W, Cin], or null: where what was loaded is kept
    const void* weight;    // see kWeightOrder
    void* y;               // [N, H', W', Cout] raw
    StatisticsParams statistics;
    Tiling tiling;
    int height, width;  // of x
};

struct FirstLayerParams {
    const void* x;       // [N, H, W, 3], uint8 or as activations are stored
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
    void* y;             // [N, H, W, 3], uint8 (rounded, 0-255) or as stored
    Tiling tiling;       // of the picture
    int padded_h, padded_w;
    int* range;  // [N, 3] of the picture, see OutputRange
};

}  // namespace styleforge::sm80
