// The product of queries and keys in FP32 on tensor cores, from sm_80 on.
//
// A number is the sum of two TF32 numbers, and three of the four products of two such sums are
// computed. The tensor cores sum over a depth of 16, small products first, because they truncate at
// every step. The sums are then added in FP32 (Ootomo and Yokota, 2022).
#pragma once

#include "include/common/tf32.cuh"

namespace styleforge::attention {

// A block computes kQueries x kKeys scores; each of its 4 x 2 warps computes 32 x 32 of them.
constexpr int kQueries = 128, kKeys = 64, kDepth = 64, kScoreThreads = 256;
constexpr int kVectors = kDepth / 4;  // of a row in shared memory

// Returns the index of vector `at` of a row. Two rows that are read at once are in different banks.
__device__ __forceinline__ int place(int row, int at) {
    return row * kVectors + (at ^ (row & 1) << 2);
}

// Loads the first kDepth numbers of kRows rows, padded with zeros.
template <int kRows>
__device__ __forceinline__ void load_rows(float4* to, const float* from, long long stride,
                                          long long rows_left, long long depth_left) {
    constexpr int kStep = kScoreThreads / kVectors;
    const int first = threadIdx.x / kVectors, at = threadIdx.x % kVectors;
    const float* source = from + first * stride + at * 4;
#pragma unroll
    for (int i = 0; i < kRows / kStep; ++i) {
        const int row = first + i * kStep;
        float4 held = {0, 0, 0, 0};
        if (row < rows_left && at * 4 < depth_left)
            held = *reinterpret_cast<const float4*>(source);
        to[place(row, at)] = held;
        source += kStep * stride;
    }
}

__device__ __forceinline__ void split(const float4& x, float (&high)[4], float (&low)[4]) {
    const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        high[i] = nearest_tf32(each[i]);
        low[i] = each[i] - high[i];
    }
}

// The fragments of 16 rows of queries over a depth of 16, as two of eight.
struct Fragments {
    float high[2][4], low[2][4];
};

// acc += the products of a warp's rows over kDepth. A thread reads four consecutive numbers of a
// row, whereas an instruction takes two that are four apart. This permutes the depth of both
// factors in the same way.
__device__ __forceinline__ void multiply_rows(float (&acc)[2][4][4], const float4* queries,
                                              const float4* keys) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll 1  // unrolling needs more registers than two blocks per multiprocessor allow
    for (int step = 0; step < kDepth / 16; ++step) {
        const int at = place(group, step * 4 + lane);  // a thread's rows are 8 apart
        Fragments of[2];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float high[4], low[4];
            split(queries[at + i * 8 * kVectors], high, low);
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                of[i / 2].high[e / 2][e % 2 * 2 + i % 2] = high[e];
                of[i / 2].low[e / 2][e % 2 * 2 + i % 2] = low[e];
            }
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float high[4], low[4], sums[2][4] = {};
            split(keys[at + j * 8 * kVectors], high, low);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    mma_m16n8k8_tf32(sums[i], of[i].high[part], low[part * 2], low[part * 2 + 1]);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    mma_m16n8k8_tf32(sums[i], of[i].low[part], high[part * 2], high[part * 2 + 1]);
#pragma unroll
            for (int part = 0; part < 2; ++part)
#pragma unroll
                for (int i = 0; i < 2; ++i)
                    mma_m16n8k8_tf32(sums[i], of[i].high[part], high[part * 2], high[part * 2 + 1]);
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int e = 0; e < 4; ++e) acc[i][j][e] += sums[i][e];
        }
    }
}

// Stores the scores of a warp; `queries` and `keys` count the valid ones.
__device__ __forceinline__ void store_scores(const float (&acc)[2][4][4], float* to,
                                             long long stride, long long queries, long long keys) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    const bool in_pairs = stride % 2 == 0;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = i * 16 + half * 8 + group;
            if (row >= queries) continue;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int at = j * 8 + lane * 2;
                float* const pair = to + row * stride + at;
                const float first = acc[i][j][half * 2], second = acc[i][j][half * 2 + 1];
                if (in_pairs && at < keys) {
                    *reinterpret_cast<float2*>(pair) = make_float2(first, second);
                } else {
                    if (at < keys) pair[0] = first;
                    if (at + 1 < keys) pair[1] = second;
                }
            }
        }
}

}  // namespace styleforge::attention
