// Processing of a frame of bytes around the network: it is scaled to the network's input; the
// result is enlarged, gets the frame's detail, and is mixed with the frame. Each thread computes a
// pixel. The arithmetic is in headers that a host C++ compiler also compiles. Smoothing is
// in smooth.cu.
#include "add.cuh"
#include "area.cuh"
#include "axes.cuh"
#include "block.cuh"
#include "comb.cuh"
#include "team.cuh"
#include "frames.h"
#include "include/common/pdl.cuh"

namespace styleforge {

__device__ __forceinline__ void store(uint8_t* pixels, long long at, Color c) {
    pixels[at * 3] = static_cast<uint8_t>(c.r);
    pixels[at * 3 + 1] = static_cast<uint8_t>(c.g);
    pixels[at * 3 + 2] = static_cast<uint8_t>(c.b);
}

}  // namespace styleforge

// The grid covers the output picture: columns along x, rows along y.

extern "C" __global__ void frame_resize(const styleforge::ResizeParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.small_width) return;
    const styleforge::Picture frame = {p.frame, p.height, p.width};
    styleforge::store(p.small, 1ll * row * p.small_width + column,
          styleforge::resized(frame, row, column, p.small_height, p.small_width));
}

extern "C" __global__ void frame_screen(const styleforge::ScreenParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.screen_width) return;
    p.screen[1ll * row * p.screen_width + column] = styleforge::screen_color(styleforge::resized(
        {p.picture, p.height, p.width}, row, column, p.screen_height, p.screen_width));
}

extern "C" __global__ void frame_slopes(const styleforge::SlopesParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    static_cast<styleforge::Slope*>(p.slopes)[1ll * row * p.width + column] =
        styleforge::slope({p.result, p.height, p.width}, {p.small, p.height, p.width}, row, column);
}

extern "C" __global__ void frame_finish(const styleforge::FinishParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    styleforge::store(p.picture, 1ll * row * p.width + column,
                      styleforge::finished(p, row, column));
}

// The three steps of texture. Each waits for the previous one, while its blocks already start.

extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    frame_texture_cells(const styleforge::TextureParams p) {
    using namespace styleforge;
    pdl_wait();
    pdl_launch_dependents();
    if (blockIdx.x == 0 && threadIdx.x == 0) static_cast<TextureState*>(p.state)->placed = 0;
    measure_areas(p, copy_blocks(p));
}

// The first kMotionBlocks blocks measure motion, which takes longest: as a cluster, or else the
// first of them. The others measure the flatness of tiles of cells, and the axes of tiles of the
// small copy if `c.mode` is not 0.
extern "C" __global__ void __launch_bounds__(styleforge::kTeam, 2)
    frame_texture_flat(const styleforge::TextureParams p, const styleforge::CombParams c) {
    using namespace styleforge;
    __shared__ union Work {
        MotionWork motion;
        FlatWork flat;
        AxesWork axes;
    } work;
    pdl_wait();
    pdl_launch_dependents();
    const int rank = static_cast<int>(threadIdx.x), block = static_cast<int>(blockIdx.x);
    if (block < kMotionBlocks) {
#if __CUDA_ARCH__ >= 900
        follow(Blocks<kMotionBlocks>{{rank}, cluster_rank()}, p, work.motion);
#else
        if (block == 0) follow(Blocks<1>{{rank}}, p, work.motion);
#endif
        return;
    }
    const int across = (p.columns + kTileColumns - 1) / kTileColumns;
    const int tiles = (p.rows + kTileRows - 1) / kTileRows * across, tile = block - kMotionBlocks;
    if (tile < tiles) {
        measure_flatness(Blocks<1>{{rank}}, p, tile / across * kTileRows,
                         tile % across * kTileColumns, work.flat);
        return;
    }
    const int wide = (p.small_width + kAxisColumns - 1) / kAxisColumns, other = tile - tiles;
    const int row = other / wide * kAxisRows, column = other % wide * kAxisColumns;
    if (c.mode != 0 && row < p.small_height) measure_axes(c, row, column, work.axes);
}

extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    frame_texture_add(const styleforge::TextureParams p) {
    using namespace styleforge;
    pdl_wait();
    pdl_launch_dependents();
    const int column = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) / kWarp * kWarp;
    if (column < p.width) add_texture(p, blockIdx.y * kAddRows, column);
}

extern "C" __global__ void __launch_bounds__(styleforge::kCombTeam)
    frame_texture_comb(const styleforge::TextureParams p, const styleforge::CombParams c) {
    using namespace styleforge;
    __shared__ CombWork work;
    pdl_wait();
    pdl_launch_dependents();
    const int across = (p.width + kCombPixels - 1) / kCombPixels;
    const int tile = static_cast<int>(blockIdx.x);
    comb_tile(p, c, tile / across * kCombPixels, tile % across * kCombPixels, work);
    keep_axes(c, 1ll * tile * kCombTeam + threadIdx.x, 1ll * gridDim.x * kCombTeam);
}

extern "C" __global__ void frame_texture_enlarge(const styleforge::EnlargeTextureParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    styleforge::store(p.textured, 1ll * row * p.width + column,
                      styleforge::textured(p, row, column));
}
