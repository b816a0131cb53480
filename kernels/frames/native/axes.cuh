// The directions of strokes, by tiles of the small copy, while other blocks measure motion.
#pragma once

#include "block.cuh"

namespace styleforge {

constexpr int kAxisParts = kTeam / (kAxisRows * kAxisColumns);  // threads per pixel

// A block's working memory. Rows have a column more than they need, so that the threads of a warp,
// which work on different rows, read different banks.
struct AxesWork {
    Axis lines[kAxisRows + 2 * kCarryReach][kAxisColumns + 2 * kCarryReach + 1];
    alignas(16) Blurred blurred[kAxisRows + 2 * kCarryReach][kAxisColumns + 1];
    float taps[kNarrowReach + 1 + kCarryReach + 1];
};

// Adds a line to both blurs of a run of kRun pixels, from `at` pixels before the first.
template <int kRun>
__device__ __forceinline__ void blur_line(Blurred (&sums)[kRun], const float* taps, int at,
                                          Axis line) {
#pragma unroll
    for (int k = 0; k < kRun; ++k) {
        const int away = at < k ? k - at : at - k;
        if (away <= kNarrowReach) add_axis(sums[k].narrow, taps[away], line);
        if (away <= kCarryReach) add_axis(sums[k].wide, taps[kNarrowReach + 1 + away], line);
    }
}

// Blurs the lines around a tile along the rows. A thread blurs a run of pixels, since adjacent
// pixels need nearly the same lines.
__device__ __forceinline__ void blur_rows(const CombParams& p, int first_row, int first_column,
                                          AxesWork& work) {
    constexpr int kRows = kAxisRows + 2 * kCarryReach, kColumns = kAxisColumns + 2 * kCarryReach;
    constexpr int kRun = 4;
    const int rank = static_cast<int>(threadIdx.x);
    for (int i = rank; i < kRows * kColumns; i += kTeam) {
        const int row = i / kColumns, column = i % kColumns;
        work.lines[row][column] =
            line_at(p, reflected_often(first_row + row - kCarryReach, p.small_height),
                    reflected_often(first_column + column - kCarryReach, p.small_width));
    }
    if (rank < kNarrowReach + 1 + kCarryReach + 1) work.taps[rank] = p.taps[rank];
    __syncthreads();
    for (int i = rank; i < kRows * kAxisColumns / kRun; i += kTeam) {
        const int row = i % kRows, first = i / kRows * kRun;
        Blurred sums[kRun] = {};
#pragma unroll
        for (int j = 0; j < kRun + 2 * kCarryReach; ++j)
            blur_line(sums, work.taps, j - kCarryReach, work.lines[row][first + j]);
#pragma unroll
        for (int k = 0; k < kRun; ++k) work.blurred[row][first + k] = sums[k];
    }
    __syncthreads();
}

// The tensor's axis at a pixel of the tile, for the first of the kAxisParts threads that call it.
__device__ __forceinline__ Axis blurred_axis(int row, int column, int part, const AxesWork& work) {
    Axis near = {0, 0}, far = {0, 0};
    for (int j = part; j <= 2 * kCarryReach; j += kAxisParts) {
        const Blurred at = work.blurred[row + j][column];
        const int away = j < kCarryReach ? kCarryReach - j : j - kCarryReach;
        if (away <= kNarrowReach) add_axis(near, work.taps[away], at.narrow);
        add_axis(far, work.taps[kNarrowReach + 1 + away], at.wide);
    }
#pragma unroll
    for (int step = kAxisParts / 2; step > 0; step /= 2) {
        near.x += __shfl_xor_sync(~0u, near.x, step), near.y += __shfl_xor_sync(~0u, near.y, step);
        far.x += __shfl_xor_sync(~0u, far.x, step), far.y += __shfl_xor_sync(~0u, far.y, step);
    }
    return joined(near, far);
}

// Computes the axes of the tile at `first_row` and `first_column`. Those that depend on the motion
// wait for an earlier block to measure it.
__device__ __forceinline__ void measure_axes(const CombParams& p, int first_row, int first_column,
                                             AxesWork& work) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const int at = static_cast<int>(threadIdx.x) / kAxisParts, part = threadIdx.x % kAxisParts;
    const int row = at / kAxisColumns, column = at % kAxisColumns;
    const int y = first_row + row, x = first_column + column;
    Axis axis = {0, 0};
    if (p.mode == kFollow) {
        blur_rows(p, first_row, first_column, work);
        axis = blurred_axis(row, column, part, work);
    }
    if (p.mode == kFollow || p.mode == kSwirl) wait_for_state(s);
    if (part != 0 || y >= p.small_height || x >= p.small_width) return;
    static_cast<Axis*>(p.axes)[1ll * y * p.small_width + x] =
        p.mode == kFollow ? averaged(p, s, y, x, axis) : axis_at(p, y, x);
}

}  // namespace styleforge
