// Tiles of rows of 16-bit elements in shared memory, for mma.sync (sm_80): copied asynchronously,
// with the 16-byte pieces of a row swizzled by the row number, so that eight rows fall on different
// banks.
#pragma once

#include "include/common/convert.cuh"
#include "ptx.cuh"

namespace styleforge::attention {

// kRows rows of kDim elements.
template <typename T, int kDim, int kRows>
struct Tile {
    static constexpr int kPieces = kDim / 8;  // 16-byte pieces per row
    static constexpr int kBytes = kRows * kDim * 2;

    static __device__ __forceinline__ uint32_t offset(int row, int piece) {
        const int turn = kPieces >= 8 ? row % 8 : row / 2 % 4;
        return (row * kPieces + (piece ^ turn)) * 16;
    }

    // Starts copying rows first, first + 1, ...; rows from `rows` on become zeros.
    template <int kThreads>
    static __device__ __forceinline__ void copy(uint32_t to, const T* from, long long stride,
                                                int first, int rows) {
#pragma unroll
        for (int i = threadIdx.x; i < kRows * kPieces; i += kThreads) {
            const int row = i / kPieces, piece = i % kPieces;
            const bool inside = first + row < rows;
            cp_async_16B_or_zero(to + offset(row, piece),
                                 from + (inside ? first + row : 0) * stride + piece * 8, inside);
        }
    }

    // Loads rows row .. row + 15 and elements 16 step .. 16 step + 15 as the A operand of mma.
    static __device__ __forceinline__ void first_operand(uint32_t (&a)[4], uint32_t tile, int row,
                                                         int step) {
        const int lane = threadIdx.x % 32;
        ldmatrix_x4(a, tile + offset(row + lane % 16, step * 2 + lane / 16));
    }

    // Loads the same as two B operands whose columns are the rows: b[0], b[1] for the first eight.
    static __device__ __forceinline__ void rows_as_columns(uint32_t (&b)[4], uint32_t tile, int row,
                                                           int step) {
        const int lane = threadIdx.x % 32;
        ldmatrix_x4(b, tile + offset(row + lane / 16 * 8 + lane % 8, step * 2 + lane / 8 % 2));
    }

    // Loads B operands whose depth is rows row .. row + 15 and whose columns are elements 16 block
    // .. 16 block + 15.
    static __device__ __forceinline__ void rows_as_depth(uint32_t (&b)[4], uint32_t tile, int row,
                                                         int block) {
        const int lane = threadIdx.x % 32;
        ldmatrix_x4_trans(b, tile + offset(row + lane % 16, block * 2 + lane / 16));
    }
};

// acc[16 x kRows] = a b^T for each of kTiles sets of 16 rows of a, with operands in registers, and
// every row of b.
template <typename T, int kDim, int kRows, int kTiles>
__device__ __forceinline__ void multiply_rows(float (&acc)[kTiles][kRows / 8][4],
                                              const uint32_t (&a)[kTiles][kDim / 16][4],
                                              uint32_t b) {
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int j = 0; j < kRows / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) acc[t][j][i] = 0.f;
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step)
#pragma unroll
        for (int j = 0; j < kRows / 8; j += 2) {
            uint32_t operand[4];
            Tile<T, kDim, kRows>::rows_as_columns(operand, b, j * 8, step);
#pragma unroll
            for (int t = 0; t < kTiles; ++t) {
                mma_m16n8k16<T>(acc[t][j], a[t][step], operand[0], operand[1]);
                mma_m16n8k16<T>(acc[t][j + 1], a[t][step], operand[2], operand[3]);
            }
        }
}

// acc[16 x kDim] += a[16 x kRows] b for each of kTiles sets of 16 rows of a, in the accumulator
// layout of a product.
template <typename T, int kDim, int kRows, int kTiles>
__device__ __forceinline__ void accumulate_rows(float (&acc)[kTiles][kDim / 8][4],
                                                const float (&a)[kTiles][kRows / 8][4],
                                                uint32_t b) {
#pragma unroll
    for (int step = 0; step < kRows / 16; ++step) {
        uint32_t first[kTiles][4];
#pragma unroll
        for (int t = 0; t < kTiles; ++t)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float* const pair = a[t][2 * step + i / 2] + i % 2 * 2;
                first[t][i] = Pair<T>::pack(pair[0], pair[1]);
            }
#pragma unroll
        for (int block = 0; block < kDim / 16; ++block) {
            uint32_t operand[4];
            Tile<T, kDim, kRows>::rows_as_depth(operand, b, step * 16, block);
#pragma unroll
            for (int t = 0; t < kTiles; ++t) {
                mma_m16n8k16<T>(acc[t][2 * block], first[t], operand[0], operand[1]);
                mma_m16n8k16<T>(acc[t][2 * block + 1], first[t], operand[2], operand[3]);
            }
        }
    }
}

}  // namespace styleforge::attention
