// Stores accumulators through a staging area in shared memory, so that each thread stores 16
// contiguous bytes.
#pragma once

#include "include/common/ptx.cuh"
#include "operands.cuh"

namespace styleforge::sm90 {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Stores four 8x8 matrices of 16-bit elements, transposed. Lane l passes the address of row l % 8
// of matrix l / 8.
__device__ __forceinline__ void stmatrix_x4_trans(uint32_t to, uint32_t a, uint32_t b, uint32_t c,
                                                  uint32_t d) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                 "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

// Writes kChunk pixels of a warpgroup's accumulators, from chunk * kChunk on, to `staging`,
// [pixel][row].
template <typename M, int kBlockN, int kChunk>
__device__ __forceinline__ void stage_accumulators(const float (&acc)[kBlockN / 2],
                                                   unsigned char* staging, int chunk) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    constexpr int kOf = kChunk / 8;
#pragma unroll
    for (int c = 0; c < kBlockN / kChunk; ++c) {
        if (c != chunk) continue;
        if constexpr (M::kStoresFp32) {
            float* to = reinterpret_cast<float*>(staging) + warp * 16 + lane / 4 +
                        lane % 4 * 2 * (M::kPitch / 4);
#pragma unroll
            for (int j = 0; j < kOf; ++j)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    to[(j * 8 + k % 2) * (M::kPitch / 4) + k / 2 * 8] = acc[(c * kOf + j) * 4 + k];
        } else {
            const uint32_t to = smem_address(staging) + (lane / 16 * 8 + lane % 8) * M::kPitch +
                                warp * 32 + lane / 8 % 2 * 16;
#pragma unroll
            for (int j = 0; j < kOf; j += 2) {
                const float* v = acc + (c * kOf + j) * 4;
                using S = typename M::S;
                stmatrix_x4_trans(to + j * 8 * M::kPitch, pack_pair<S>(v[0], v[1]),
                                  pack_pair<S>(v[2], v[3]), pack_pair<S>(v[4], v[5]),
                                  pack_pair<S>(v[6], v[7]));
            }
        }
    }
}

#endif

}  // namespace styleforge::sm90
