// Launch parameters of the kernels in network_sm90.cu. kernels/network/abi.py mirrors them, and
// network_abi.cu describes them, so that a differing library fails to load.
#pragma once

#include "include/common/welford.cuh"
#include "layer_sums.cuh"

namespace styleforge::sm90 {

struct ConvParams {
    const void* x;         // [N, H, W, Cin] raw
    NormParams norm;       // of x
    const void* residual;  // [N, H, W, Cin] or null: added after the norm, without a ReLU
    void* activated;       // [N, H, W, Cin] or null: receives the activated input
    const void* weight;    // [warpgroup][pass][Cin / kBlockK][tap][part][64 rows][8]
    void* y;               // [N, H', W', Cout] raw
    StatisticsParams statistics;
    int height, width;          // of x
    int out_height, out_width;  // of the tiled tensor: y, or x if it is upsampled
    int tiles_long, tiles_short;
    int across;  // the long side of tiles runs along the width
};

// All layers of the residual blocks in one launch, two layers per residual block.
struct ResidualParams {
    const void* x;              // [N, H, W, 128] raw
    NormParams norm;            // of x
    const void* weight;         // [layers] as in ConvParams
    const float *gamma, *beta;  // [layers - 1][128], norms between the layers
    void *inside, *outside;     // [N, H, W, 128] raw, of even and of odd layers: the last layer's
                                // whole output, and the tile edges of the others
    void* activated;            // [N, H, W, 128], input of the last block
    StatisticsParams statistics;  // of the last layer
    LayerSums* sums;              // [N][2][layers - 1]; one half is zero before every launch
    unsigned* halves;             // [N], which half
    float eps;
    int layers, height, width;
    int tiles_long, tiles_short, across;  // as in ConvParams; one block per tile
};

struct EdgeConvParams {
    const void* x;                    // first: [N, H, W, 3]; last: [N, H', W', 32] raw
    NormParams norm;                  // last: of x
    const void* weight;               // [10 rows][part][64][8]
    const float* bias;                // last: [3]
    void* y;                          // first: [N, H', W', 32] raw; last: [N, H, W, 3]
    StatisticsParams statistics;      // first
    int* range;                       // [N, 3], see OutputRange
    int height, width;                // of the picture
    int padded_height, padded_width;  // H' and W': rounded up to multiples of 4
    int strips, rows;                 // strips side by side; rows per block, an even number
};

}  // namespace styleforge::sm90
