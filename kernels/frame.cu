// What happens to a frame around the network, on pictures of bytes: it is scaled to the network's
// input, and the result is enlarged, given the frame's detail and mixed with it. A thread makes a
// pixel; the arithmetic is in include/frame/, which a C++ compiler for the host takes as well.
#include "include/frame/finish.h"
#include "include/frame/smooth.h"

namespace styleforge {

// The frame as the network's input; mirrored in kernels/frames/structs.py.
struct ResizeParams {
    const uint8_t* frame;  // [height, width, 3]
    uint8_t* small;        // [small_height, small_width, 3]
    int height, width, small_height, small_width;
};

// The slopes of a small result over the frame's small copy.
struct SlopesParams {
    const uint8_t* result;  // [height, width, 3]
    const uint8_t* small;   // [height, width, 3]
    void* slopes;           // [height, width] of Slope
    int height, width;
};

__device__ __forceinline__ void store(uint8_t* pixels, long long at, Color c) {
    pixels[at * 3] = static_cast<uint8_t>(c.r);
    pixels[at * 3 + 1] = static_cast<uint8_t>(c.g);
    pixels[at * 3 + 2] = static_cast<uint8_t>(c.b);
}

constexpr int kStillThreads = 1024;  // of the one block of frame_still

// The value of rank `rank` of values that are not negative, by their bits, 8 at a time: the same
// for every thread, and from run to run.
__device__ float ranked(const float* values, int count, int rank) {
    __shared__ unsigned counts[256];
    __shared__ unsigned found[2];  // the bin, and the rank within it
    unsigned prefix = 0, known = 0;
    for (int shift = 24; shift >= 0; shift -= 8) {
        for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) counts[bin] = 0;
        __syncthreads();
        for (int at = threadIdx.x; at < count; at += blockDim.x) {
            const unsigned bits = __float_as_uint(values[at]);
            if ((bits & known) == prefix) atomicAdd(&counts[bits >> shift & 255], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned bin = 0, left = static_cast<unsigned>(rank);
            while (left >= counts[bin]) left -= counts[bin++];
            found[0] = bin, found[1] = left;
        }
        __syncthreads();
        prefix |= found[0] << shift, known |= 255u << shift;
        rank = static_cast<int>(found[1]);
        __syncthreads();
    }
    return __uint_as_float(prefix);
}

// The sum of a value of every thread, in a fixed order.
__device__ float sum_of_block(float value) {
    __shared__ float parts[kStillThreads];
    parts[threadIdx.x] = value;
    for (int half = kStillThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    __syncthreads();
    return parts[0];
}

}  // namespace styleforge

// The grid covers the picture that is made: columns along x, rows along y.

extern "C" __global__ void frame_resize(const styleforge::ResizeParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.small_width) return;
    const styleforge::Picture frame = {p.frame, p.height, p.width};
    styleforge::store(p.small, 1ll * row * p.small_width + column,
          styleforge::resized(frame, row, column, p.small_height, p.small_width));
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

// The three steps of smoothing. The grid of the first covers the cells.
extern "C" __global__ void frame_cells(const styleforge::SmoothParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.columns) styleforge::measure_cell(p, row, column);
}

// One block: what a cell is told depends on all of them.
extern "C" __global__ void __launch_bounds__(styleforge::kStillThreads)
    frame_still(const styleforge::SmoothParams p) {
    using namespace styleforge;
    const int count = p.rows * p.columns;
    const auto every = [&](auto use) {
        for (int cell = threadIdx.x; cell < count; cell += blockDim.x)
            use(cell / p.columns, cell % p.columns, cell);
        __syncthreads();
    };
    every([&](int row, int column, int cell) {
        p.other[cell] = window_mean(p.change, row, column, p.rows, p.columns);
    });
    const float lower = ranked(p.other, count, (count - 1) / 2);
    const float upper = count % 2 ? lower : ranked(p.other, count, count / 2);
    const float median = (lower + upper) / 2;
    every([&](int, int, int cell) { p.change[cell] = moved(p.other[cell], median); });
    every([&](int row, int column, int cell) {
        p.other[cell] = window_most(p.change, row, column, p.rows, p.columns);
    });
    float sum = 0;
    every([&](int row, int column, int cell) {
        p.change[cell] = 1 - window_mean(p.other, row, column, p.rows, p.columns);
        sum += p.change[cell];
    });
    const float still = sum_of_block(sum) / count;
    const bool begins = p.first || still < 1 - kSceneCutFraction;
    if (threadIdx.x == 0) *p.begins = begins;
    every([&](int, int, int cell) { follow(p, cell, p.change[cell], begins); });
}

extern "C" __global__ void frame_smooth(const styleforge::SmoothParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width) styleforge::smooth_pixel(p, row, column);
}
