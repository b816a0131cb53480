// What the kernels of network_sm80.cu are called with. kernels/network/abi.py mirrors these
// structs, and network_abi.cu describes them, so that loading a library that differs fails.
#pragma once

#include "../common/welford.cuh"

namespace styleforge::sm80 {

// How an output is cut into tiles. Every channel of a tile belongs to one block.
struct Tiling {
    int height, width;   // of what is tiled
    int tile_h, tile_w;  // of a tile
    int rows, columns;   // of tiles
    int copies;          // phases, whose tiles cover the same area

    __host__ __device__ int tiles() const { return rows * columns * copies; }
#ifdef __CUDACC__  // network_abi.cu, as plain C++, has no `min`
    __device__ int count(int tile) const {
        const int t = tile % (rows * columns), y = t / columns, x = t % columns;
        return min(tile_h, height - y * tile_h) * min(tile_w, width - x * tile_w);
    }
#endif
};

// Where a layer leaves its statistics, for one sample after another.
struct StatisticsParams {
    float2* tiles;      // [N, tiles, C] mean and M2 of each tile
    float4* groups;     // [N, groups, C] count, mean and M2 of each group of tiles
    unsigned* tickets;  // [N, groups], zero before and after every launch
    int group;          // tiles in a group
};

struct ConvParams {
    const void* x;         // [N, H, W, Cin] raw
    NormParams norm;       // of x
    const void* residual;  // [N, H, W, Cin], or null: added after norm and ReLU
    void* activated;       // [N, H, W, Cin], or null: where what was loaded is kept
    const void* weight;    // [phases][taps][Cin / kBlockK][Cout][kBlockK]
    void* y;               // [N, H', W', Cout] raw
    StatisticsParams statistics;
    Tiling tiling;      // of the output, before phases are interleaved
    int height, width;  // of x
    int relu;
};

struct FirstLayerParams {
    const void* x;       // [N, H, W, 3], uint8 or T
    const void* weight;  // [kWeightRows][kDepth], see kWeightOrder
    void* y;             // [N, H', W', Cout] raw
    StatisticsParams statistics;
    Tiling tiling;  // H' and W' are H and W rounded up to multiples of 4
    int height, width;
    int* range;  // [N, 3], cleared; see OutputRange
};

struct LastLayerParams {
    const void* x;       // [N, H', W', Cin] raw
    NormParams norm;     // of x
    const void* weight;  // [kWeightRows][kDepth], see kWeightOrder
    const float* bias;   // [3]
    void* y;             // [N, H, W, 3], uint8 (rounded, 0-255) or T
    int height, width;   // H, W of the picture
    int padded_h, padded_w;
    int* range;  // [N, 3] of the picture, see OutputRange
};

}  // namespace styleforge::sm80
