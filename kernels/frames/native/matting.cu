// Mattes by the difference to an empty scene, as in matting.h; a thread computes a tile or a pixel.
// Compiled without contraction, so that every bit equals smoothing.cpp.
#include "include/common/exact.h"
#include "frames.h"
#include "matting.h"

// The grid covers the tiles.
extern "C" __global__ void frame_matting_see(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.tile_columns) styleforge::see_tile(p, row, column);
}

extern "C" __global__ void frame_matting_compare(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.tile_columns) styleforge::compare_tile(p, row, column);
}

// The grid covers the frame.
extern "C" __global__ void frame_matting_unlike(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width)
        p.unlike[1ll * row * p.width + column] = styleforge::unlike_scene(p, row, column);
}

extern "C" __global__ void frame_matting_rough(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width)
        styleforge::steady_pixel(p, row, column, styleforge::rough_by_difference(p, row, column));
}

extern "C" __global__ void frame_matting_steady(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width)
        styleforge::steady_pixel(p, row, column, p.rough[1ll * row * p.width + column]);
}

extern "C" __global__ void frame_matting_fit(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width)
        static_cast<styleforge::MatteSlope*>(p.fitted)[1ll * row * p.width + column] =
            styleforge::fitted_at(p, row, column);
}

extern "C" __global__ void frame_matting_guide(const styleforge::MattingParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width)
        static_cast<styleforge::MatteSlope*>(p.slopes)[1ll * row * p.width + column] =
            styleforge::slope_at(p, row, column);
}

extern "C" __global__ void frame_matting_mix(const styleforge::MixParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    const styleforge::Color c = styleforge::mixed_pixel(p, row, column);
    uint8_t* to = p.mixed + (1ll * row * p.width + column) * 3;
    to[0] = static_cast<uint8_t>(c.r), to[1] = static_cast<uint8_t>(c.g);
    to[2] = static_cast<uint8_t>(c.b);
}
