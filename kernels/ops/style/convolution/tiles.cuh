// Tiles of a matrix product with operands in shared memory, depth outermost: computed with FMA or
// on tensor cores.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef __CUDACC__  // operations_abi.cu, as plain C++, reads only the sizes
#include "include/common/dtypes.cuh"
#include "include/common/ptx.cuh"
#endif

namespace styleforge {

#ifdef __CUDACC__
__device__ __forceinline__ float round_to_tf32(float v) {
#if __CUDA_ARCH__ >= 800
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return __uint_as_float(bits);
#else
    return v;
#endif
}
#endif  // __CUDACC__

// FP32 with FMA; kM x kN results per thread.
template <typename T, int kRows_, int kColumns_, int kM, int kN>
struct FmaTile {
    using Element = T;
    using Stored = float;
    static constexpr bool kPairs = false;
    static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = 8, kAlign = 4;
    static constexpr int kThreads = (kRows / kM) * (kColumns / kN);
    static constexpr int kRowPitch = kRows, kColumnPitch = kColumns;
    // Few outputs mean many terms (2,592 for 9x9 with 32 channels). They are summed in two levels
    // if the registers allow it, since a single long sum has four times the error.
    static constexpr bool kTwoLevels = kM * kN <= 16;
    static constexpr int kStepsOfSum = 16;
#ifdef __CUDACC__
    float acc[kM][kN] = {};
    float sums[kTwoLevels ? kM : 1][kTwoLevels ? kN : 1] = {};

    static __device__ Stored stored(float v) { return v; }
    static __device__ int row(int i) {
        return i / 4 * (kRows / (kM / 4)) + threadIdx.x % (kRows / kM) * 4 + i % 4;
    }
    static __device__ int column(int j) {
        return j / 4 * (kColumns / (kN / 4)) + threadIdx.x / (kRows / kM) * 4 + j % 4;
    }
    __device__ void end_step(int step, bool last) {
        if constexpr (kTwoLevels) {
            if (!last && step % kStepsOfSum != kStepsOfSum - 1) return;
#pragma unroll
            for (int i = 0; i < kM; ++i)
#pragma unroll
                for (int j = 0; j < kN; ++j) {
                    sums[i][j] += acc[i][j];
                    acc[i][j] = last ? sums[i][j] : 0.f;
                }
        }
    }
    __device__ void multiply_slice(const float* rows, const float* columns) {
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            float a[kM], b[kN];
#pragma unroll
            for (int i = 0; i < kM; i += 4) load<4>(a + i, rows + k * kRowPitch + row(i));
#pragma unroll
            for (int j = 0; j < kN; j += 4) load<4>(b + j, columns + k * kColumnPitch + column(j));
#pragma unroll
            for (int i = 0; i < kM; ++i)
#pragma unroll
                for (int j = 0; j < kN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
    }
    // Stores columns [first, first + count) of the accumulators to out[column - first][row].
    __device__ void store_columns(float* out, int pitch, int first, int count) {
#pragma unroll
        for (int j = 0; j < kN; ++j) {
            const int at = column(j) - first;
            if (at >= 0 && at < count)
#pragma unroll
                for (int i = 0; i < kM; ++i) out[at * pitch + row(i)] = acc[i][j];
        }
    }
#endif  // __CUDACC__
};

// Tensor cores: eight warps share the tile, kWarpsM across its rows.
template <typename T, int kColumns_, int kWarpsM>
struct TensorCoreTile {
    using Element = T;
    using Stored = T;
    static constexpr bool kPairs = sizeof(T) == 2;
    static constexpr int kRows = 128, kColumns = kColumns_, kDepth = kPairs ? 32 : 16, kAlign = 8;
    static constexpr int kThreads = 256, kWarpsN = 8 / kWarpsM;
    static constexpr int kTilesM = kRows / kWarpsM / 16, kTilesN = kColumns / kWarpsN / 8;
    // Pad with eight elements: rows of neighboring depth fall on different banks.
    static constexpr int kRowPitch = kRows + 8, kColumnPitch = kColumns + 8;
#ifdef __CUDACC__
    float acc[kTilesM][kTilesN][4] = {};

    static __device__ Stored stored(float v) {
        if constexpr (kPairs)
            return from_float<T>(v);
        else
            return round_to_tf32(v);
    }
    static __device__ int first_row() { return threadIdx.x / 32 % kWarpsM * (kTilesM * 16); }
    static __device__ int first_column() { return threadIdx.x / 32 / kWarpsM * (kTilesN * 8); }

    __device__ void end_step(int, bool) {}
    __device__ void multiply_slice(const T* rows, const T* columns) {
        const int lane = threadIdx.x % 32;
        if constexpr (kPairs) {
            // Both operands are stored with depth outermost, so the loads transpose.
            const T* a_from =
                rows + (lane / 16 * 8 + lane % 8) * kRowPitch + first_row() + lane / 8 % 2 * 8;
            const T* b_from = columns + lane % 16 * kColumnPitch + first_column() + lane / 16 * 8;
#pragma unroll
            for (int k = 0; k < kDepth; k += 16) {
                uint32_t a[kTilesM][4], b[kTilesN / 2][4];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
                    load_transposed(a[i], a_from + k * kRowPitch + i * 16);
#pragma unroll
                for (int j = 0; j < kTilesN / 2; ++j)
                    load_transposed(b[j], b_from + k * kColumnPitch + j * 16);
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < kTilesN; ++j)
                        mma_m16n8k16<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2],
                                        b[j / 2][j % 2 * 2 + 1]);
            }
        } else {
            const float* a_from = rows + lane % 4 * kRowPitch + first_row() + lane / 4;
            const float* b_from = columns + lane % 4 * kColumnPitch + first_column() + lane / 4;
#pragma unroll
            for (int k = 0; k < kDepth; k += 8) {
                float a[kTilesM][4], b[kTilesN][2];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        a[i][q] = a_from[(k + q / 2 * 4) * kRowPitch + i * 16 + q % 2 * 8];
#pragma unroll
                for (int j = 0; j < kTilesN; ++j)
#pragma unroll
                    for (int q = 0; q < 2; ++q)
                        b[j][q] = b_from[(k + q * 4) * kColumnPitch + j * 8];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < kTilesN; ++j) multiply_tf32(acc[i][j], a[i], b[j]);
            }
        }
    }
    __device__ void store_columns(float* out, int pitch, int first, int count) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int j = 0; j < kTilesN; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const int at = first_column() + j * 8 + lane % 4 * 2 + q % 2 - first;
                if (at >= 0 && at < count)
#pragma unroll
                    for (int i = 0; i < kTilesM; ++i)
                        out[at * pitch + first_row() + i * 16 + q / 2 * 8 + lane / 4] =
                            acc[i][j][q];
            }
    }

   private:
    static __device__ void load_transposed(uint32_t (&to)[4], const T* from) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(smem_address(from)));
    }
    static __device__ void multiply_tf32(float (&acc)[4], const float (&a)[4],
                                         const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        const auto bits = [](float v) { return __float_as_uint(v); };
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(bits(a[0])), "r"(bits(a[1])), "r"(bits(a[2])), "r"(bits(a[3])), "r"(bits(b[0])),
              "r"(bits(b[1])));
#endif
    }
#endif  // __CUDACC__
};

}  // namespace styleforge
