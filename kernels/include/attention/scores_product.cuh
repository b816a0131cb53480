// The product of queries and keys in FP32 on tensor cores, from sm_80 on.
//
// A number is the sum of two of TF32, and of the four products of two such sums three count. Those
// of 16 of the depth are summed by the tensor cores, small ones first, since these cut off at every
// step what the sum does not hold; sums are then added in FP32 (Ootomo and Yokota, 2022).
#pragma once

#include "../common/tf32.cuh"

namespace styleforge::attention {

// A block makes kQueries x kKeys scores, each of its 4 x 2 warps 32 x 32 of them.
constexpr int kQueries = 128, kKeys = 64, kDepth = 64, kScoreThreads = 256;
constexpr int kVectors = kDepth / 4;  // of a row in shared memory

// Where vector `at` of a row lies: two rows that are read at once are in different banks.
__device__ __forceinline__ int place(int row, int at) {
    return row * kVectors + (at ^ (row & 1) << 2);
}

// The first kDepth numbers of kRows rows; zeros where fewer are left.
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

// Four numbers as two times four.
__device__ __forceinline__ void split(const float4& x, float (&high)[4], float (&low)[4]) {
    const float each[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        high[i] = nearest_tf32(each[i]);
        low[i] = each[i] - high[i];
    }
}

// The fragments of 16 rows of queries over 16 of the depth: two of eight.
struct Fragments {
    float high[2][4], low[2][4];
};

// acc += the products of the rows of a warp, over kDepth. A thread reads four numbers of a row that
// follow one another, where an instruction has two that are four apart: the order of the depth is
// another one, of both factors.
__device__ __forceinline__ void multiply_rows(float (&acc)[2][4][4], const float4* queries,
                                              const float4* keys) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll 1  // more would need more registers than two blocks of a multiprocessor have
    for (int step = 0; step < kDepth / 16; ++step) {
        const int at = place(group, step * 4 + lane);  // the rows of a thread are 8 apart
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

// Writes the scores of a warp; `queries` and `keys` are how many there are from its first ones on.
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
