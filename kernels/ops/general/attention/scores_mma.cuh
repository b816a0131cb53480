// The scores of 16 queries and 32 keys in FP16 and BF16 on tensor cores, without shared memory.
// BF16 requires sm_80; before that, its products are empty.
//
// An operand of mma has two pairs of numbers of a row, eight apart. A thread loads eight
// consecutive numbers instead, for both queries and keys, which permutes the depth of both in the
// same way. Likewise, column c of product j is key 8 (c / 2) + 2 j + c % 2 of a group, so that a
// thread has eight consecutive scores.
#pragma once

#include <math.h>
#include <stdint.h>

#include "include/common/dtypes.cuh"
#ifdef __CUDACC__
#include "include/common/ptx.cuh"
#endif

namespace styleforge::attention {

constexpr int kGroup = 32;  // keys that a warp processes at once
constexpr int kStep = 32;   // of the depth; a thread loads a quarter

struct alignas(16) Piece {
    uint32_t word[4];
};

template <typename T>
__device__ __forceinline__ Piece piece_at(const T* from) {
    return *reinterpret_cast<const Piece*>(from);
}

// 2^v, accurate to 22 bits.
__device__ __forceinline__ float power_of_two(float v) {
#ifdef __CUDA_ARCH__
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    return result;
#else
    return exp2f(v);
#endif
}

// Returns the reference point of the exponents for scores up to `largest`: 0 for an empty row.
__device__ __forceinline__ float origin(float largest) {
    return largest == -INFINITY ? 0.f : largest;
}

// Loads the queries from `query` on; rows beyond the end repeat the last one.
template <typename T, int kSteps>
__device__ __forceinline__ void load_queries(Piece (&to)[2][kSteps], const T* q, unsigned stride,
                                             int query, int queries) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const unsigned row = min(query + r * 8 + group, queries - 1);
#pragma unroll
        for (int s = 0; s < kSteps; ++s) to[r][s] = piece_at(q + (row * stride + lane * 8 + s * kStep));
    }
}

// acc = the scores of a warp's queries for keys first .. first + 31; keys beyond the end repeat the
// last one.
template <typename T, int kSteps>
__device__ __forceinline__ void multiply_group(float (&acc)[4][4], const Piece (&queries)[2][kSteps],
                                               const T* k, unsigned stride, int first, int keys) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    constexpr int kAhead = kSteps > 2 ? 2 : 4;  // products whose keys are loaded at once
#pragma unroll
    for (int from = 0; from < 4; from += kAhead) {
        Piece of_keys[kAhead][kSteps];
#pragma unroll
        for (int j = 0; j < kAhead; ++j) {
            const int at = first + group / 2 * 8 + 2 * (from + j) + group % 2;
            const unsigned key = min(at, keys - 1);
#pragma unroll
            for (int s = 0; s < kSteps; ++s)
                of_keys[j][s] = piece_at(k + (key * stride + lane * 8 + s * kStep));
        }
#pragma unroll
        for (int j = 0; j < kAhead; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) acc[from + j][i] = 0.f;
#pragma unroll
            for (int s = 0; s < kSteps; ++s)
#pragma unroll
                for (int half = 0; half < 4; half += 2) {
                    const Piece &upper = queries[0][s], &lower = queries[1][s];
                    const uint32_t a[4] = {upper.word[half], lower.word[half],
                                           upper.word[half + 1], lower.word[half + 1]};
                    mma_m16n8k16<T>(acc[from + j], a, of_keys[j][s].word[half],
                                    of_keys[j][s].word[half + 1]);
                }
        }
    }
}

}  // namespace styleforge::attention
