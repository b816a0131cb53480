// Smooths the results of a stream of frames, as in smooth.h; a thread computes a cell
// or a pixel. Compiled without contraction, so that every bit equals smoothing.cpp.
#include "include/common/exact.h"
#include "median.cuh"
#include "team.cuh"
#include "frames.h"

namespace styleforge {

// Counts one value per calling thread; threads of a warp with the same bin count together.
__device__ void count_bin(unsigned* counts, int bin) {
    const unsigned same = __match_any_sync(__activemask(), bin);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&counts[bin], __popc(same));
}

}  // namespace styleforge

// The grid covers the cells, except for the motion and the last step.
extern "C" __global__ void frame_cells(const styleforge::SmoothParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    __shared__ unsigned sums[kSums];
    if (threadIdx.x < kSums) sums[threadIdx.x] = 0;
    __syncthreads();
    GraySums mine = {};
    if (column < p.columns) mine = measure_cell(p, row, column);
    // Integer sums, which do not depend on the order.
    for (int i = 0; i < kSums; ++i) {
        for (int lanes = 16; lanes > 0; lanes /= 2)
            mine.values[i] += __shfl_down_sync(~0u, mine.values[i], lanes);
        if ((threadIdx.x & 31) == 0) atomicAdd(&sums[i], mine.values[i]);
    }
    __syncthreads();
    const unsigned side = p.state[kSide];
    if (threadIdx.x < kSums)
        atomicAdd(&p.sums[side * kSums + threadIdx.x],
                  static_cast<unsigned long long>(sums[threadIdx.x]));
    // Clear these for the kernels that follow, or for the next frame.
    const int thread = (row * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    const int all = gridDim.x * gridDim.y * blockDim.x;
    for (int bin = thread; bin < kCounts; bin += all) p.counts[bin] = 0;
    if (thread < kSums) p.sums[(1 - side) * kSums + thread] = 0;
    if (thread == 0) p.state[kTicket] = p.state[kSame] = 0;
}

// The grid covers both pictures, one below the other.
extern "C" __global__ void frame_halve(const styleforge::HalveParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.small_width) styleforge::halve_pixel(p, row, column);
}

// Each block estimates a tile.
extern "C" __global__ void __launch_bounds__(styleforge::kFlowTeam)
    frame_flow(const styleforge::FlowParams p) {
    using namespace styleforge;
    __shared__ FlowWork work;
    estimate_flow(Threads<kFlowTeam>{static_cast<int>(threadIdx.x)}, p, blockIdx.y * kFlowRows,
                  blockIdx.x * kFlowColumns, work);
}

extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    frame_median(const styleforge::MedianParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.width) styleforge::median_pixel(p, row, column);
}

extern "C" __global__ void frame_change(const styleforge::SmoothParams p) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.columns) styleforge::measure_change(p, row, column);
}

// The last block to count computes the median, which does not depend on which block that is.
extern "C" __global__ void __launch_bounds__(styleforge::kThreads)
    frame_noise(const styleforge::SmoothParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column < p.columns) count_bin(p.counts, noise_bin(measure_around(p, row, column)));
    __shared__ bool last;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&p.state[kTicket], 1u) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    const float median = median_of(p.counts, static_cast<unsigned>(p.rows * p.columns));
    if (threadIdx.x != 0) return;
    p.state[kMedian] = __float_as_uint(median);
    p.state[kSide] = 1 - p.state[kSide];
}

extern "C" __global__ void frame_same(const styleforge::SmoothParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    unsigned sum = 0;
    if (column < p.columns) {
        const float here = same(p, row, column, __uint_as_float(p.state[kMedian]));
        p.share[1ll * row * p.columns + column] = share_of(p, row, column, here);
        sum = static_cast<unsigned>(rintf(here * kStillOne));
    }
    // Integer sums, which do not depend on the order.
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if ((threadIdx.x & 31) == 0) atomicAdd(&p.state[kSame], sum);
}

extern "C" __global__ void frame_smooth(const styleforge::SmoothParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const Role role = role_of(p);
    if (column < p.width) smooth_pixel(p, role, row, column);
    if (column < p.columns && row < p.rows) accumulate_cell(p, role, row, column);
    if (column == 0 && row == 0) p.state[kMissed + p.state[kSide]] = role == kFlash;
}
