// Processing of a frame of bytes around the network: it is scaled to the network's input; the
// result is enlarged, gets the frame's detail, and is mixed with the frame. Each thread computes a
// pixel. The arithmetic is in headers that a host C++ compiler also compiles. Smoothing is
// in smooth.cu.
#include "add.cuh"
#include "area.cuh"
#include "block.cuh"
#include "team.cuh"
#include "frames.h"

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

// The steps of texture. The grid of the first covers the cells and, below them, the copy for
// measuring motion.
extern "C" __global__ void frame_texture_cells(const styleforge::TextureParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const Picture picture = {p.picture, p.height, p.width};
    if (row < p.rows) {
        if (column < p.columns)
            keep_cell(p, row, column,
                      gray_area_by_words(picture, row, column, p.rows, p.columns));
    } else if (column < p.small_width) {
        keep_pixel(p, row - p.rows, column,
                   gray_area_by_words(picture, row - p.rows, column, p.small_height,
                                      p.small_width));
    }
}

// The first block measures motion, which takes longest; each other block measures a tile of cells.
extern "C" __global__ void __launch_bounds__(styleforge::kTeam)
    frame_texture_flat(const styleforge::TextureParams p) {
    using namespace styleforge;
    __shared__ union Work {
        MotionWork motion;
        FlatWork flat;
    } work;
    const Block team = {{static_cast<int>(threadIdx.x)}};
    if (blockIdx.x == 0) {
        follow(team, p, work.motion);
        return;
    }
    const int across = (p.columns + kTileColumns - 1) / kTileColumns, tile = blockIdx.x - 1;
    measure_flatness(team, p, tile / across * kTileRows, tile % across * kTileColumns, work.flat);
}

// The three steps of combing. The grid of the second covers the copy and, below it, the noise.
extern "C" __global__ void frame_texture_lines(const styleforge::CombParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.small_width) return;
    static_cast<styleforge::Blurred*>(p.lines)[1ll * row * p.small_width + column] =
        styleforge::blurred_lines(p, row, column);
}

extern "C" __global__ void frame_texture_axes(const styleforge::CombParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y, below = row - p.small_height;
    if (below < 0 && column < p.small_width)
        static_cast<styleforge::Axis*>(p.axes)[1ll * row * p.small_width + column] =
            styleforge::axis_at(p, row, column);
    else if (below >= 0 && column < styleforge::noise_columns(p))
        p.noise[1ll * below * styleforge::noise_columns(p) + column] =
            styleforge::summed_noise(p, below, column);
}

extern "C" __global__ void frame_texture_comb(const styleforge::CombParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const int width = styleforge::half_of(p.width);
    styleforge::keep_axes(p, 1ll * row * gridDim.x * blockDim.x + column,
                          1ll * gridDim.y * gridDim.x * blockDim.x);
    if (column < width) p.combed[1ll * row * width + column] = styleforge::combed_at(p, row, column);
}

extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    frame_texture_add(const styleforge::TextureParams p) {
    __shared__ int levels[styleforge::kAddPixels];
    styleforge::add_texture(p, blockIdx.y, blockIdx.x * styleforge::kAddPixels, levels);
}

extern "C" __global__ void frame_texture_enlarge(const styleforge::EnlargeTextureParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    styleforge::store(p.textured, 1ll * row * p.width + column,
                      styleforge::textured(p, row, column));
}
