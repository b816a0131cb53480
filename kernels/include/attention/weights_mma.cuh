// The weights of attention in FP16 and BF16 without a score in memory: a product of queries and keys
// finds the largest score of every row and the sum of its exponentials, and a second one computes
// the scores again and writes weights. BF16 from sm_80 on; products are empty there before.
//
// A block has 16 queries or twice as many, in the registers of every warp, and each warp has every
// so many groups of 32 keys. An operand of mma has two times two numbers of a row that are eight
// apart; a thread loads eight that follow one another instead, of queries and of keys, which is
// another order of the depth for both. In the same way column c of product j is key
// 8 (c / 2) + 2 j + c % 2 of a group, so that a thread has eight weights that follow one another.
#pragma once

#include <math.h>
#include <stdint.h>

#include "../common/dtypes.cuh"
#ifdef __CUDACC__
#include "../common/ptx.cuh"
#endif

namespace styleforge::attention {

constexpr int kGroup = 32;      // keys that a warp takes at once
constexpr int kMostWarps = 16;  // of a block
constexpr int kStep = 32;       // of the depth, of which a thread loads a quarter

struct alignas(16) Piece {
    uint32_t word[4];
};

template <typename T>
__device__ __forceinline__ Piece piece_at(const T* from) {
    return *reinterpret_cast<const Piece*>(from);
}

// How many times kStep the depth is.
template <int kCount>
struct Steps {
    static constexpr int value = kCount;
};

// 2^v with 22 good bits.
__device__ __forceinline__ float power_of_two(float v) {
#ifdef __CUDA_ARCH__
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    return result;
#else
    return exp2f(v);
#endif
}

// What is known of the scores of a row, in powers of two.
struct Found {
    float largest = -INFINITY, sum = 0.f;

    // From where exponents count: 0 for a row of nothing.
    static __device__ __forceinline__ float origin(float largest) {
        return largest == -INFINITY ? 0.f : largest;
    }
    __device__ __forceinline__ void add(float other_largest, float other_sum) {
        const float both = fmaxf(largest, other_largest), from = origin(both);
        sum = sum * power_of_two(largest - from) + other_sum * power_of_two(other_largest - from);
        largest = both;
    }
};

// The queries from `query` on; of rows beyond the last one, that one.
template <typename T, int kTiles, int kSteps>
__device__ __forceinline__ void load_queries(Piece (&to)[kTiles][2][kSteps], const T* q,
                                             unsigned stride, int query, int queries) {
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const unsigned row = min(query + t * 16 + r * 8 + group, queries - 1);
#pragma unroll
            for (int s = 0; s < kSteps; ++s)
                to[t][r][s] = piece_at(q + (row * stride + lane * 8 + s * kStep));
        }
}

// acc = the scores of a warp's queries for the keys first .. first + 31; where there are fewer, the
// last key's again.
template <typename T, int kTiles, int kSteps>
__device__ __forceinline__ void multiply_group(float (&acc)[kTiles][4][4],
                                               const Piece (&queries)[kTiles][2][kSteps],
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
            for (int t = 0; t < kTiles; ++t)
#pragma unroll
                for (int i = 0; i < 4; ++i) acc[t][from + j][i] = 0.f;
#pragma unroll
            for (int s = 0; s < kSteps; ++s)
#pragma unroll
                for (int half = 0; half < 4; half += 2)
#pragma unroll
                    for (int t = 0; t < kTiles; ++t) {
                        const Piece &upper = queries[t][0][s], &lower = queries[t][1][s];
                        const uint32_t a[4] = {upper.word[half], lower.word[half],
                                               upper.word[half + 1], lower.word[half + 1]};
                        mma_m16n8k16<T>(acc[t][from + j], a, of_keys[j][s].word[half],
                                        of_keys[j][s].word[half + 1]);
                    }
        }
    }
}

// The weights of 16 kTiles queries from `query` on, for all keys. The depth is kSteps times 32, keys
// are a multiple of 8, and rows begin at multiples of 16 bytes.
template <typename T, int kTiles, int kSteps>
__device__ __forceinline__ void weights_of(const T* q, const T* k, T* out, unsigned q_row,
                                           unsigned k_row, int query, int queries, int keys,
                                           float scale_log2,
                                           float2 (*shared)[16 * kTiles]) {
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    Piece of_queries[kTiles][2][kSteps];
    load_queries(of_queries, q, q_row, query, queries);
    Found found[kTiles][2];
#pragma unroll 1
    for (int first = warp * kGroup; first < keys; first += warps * kGroup) {
        float acc[kTiles][4][4];
        multiply_group<T>(acc, of_queries, k, k_row, first, keys);
        if (first + lane * 8 < keys) {
#pragma unroll
            for (int t = 0; t < kTiles; ++t)
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    float largest = -INFINITY, sum = 0;
#pragma unroll
                    for (int i = 0; i < 8; ++i) {
                        float& score = acc[t][i / 2][2 * r + i % 2];
                        score *= scale_log2;
                        largest = fmaxf(largest, score);
                    }
                    largest = fmaxf(found[t][r].largest, largest);
                    const float from = Found::origin(largest);
#pragma unroll
                    for (int i = 0; i < 8; ++i)
                        sum += power_of_two(acc[t][i / 2][2 * r + i % 2] - from);
                    found[t][r].sum =
                        fmaf(found[t][r].sum, power_of_two(found[t][r].largest - from), sum);
                    found[t][r].largest = largest;
                }
        }
    }
    // Over the threads of a row, then over warps, both in a fixed order.
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
#pragma unroll
            for (int step = 1; step < 4; step *= 2) {
                const float largest = __shfl_xor_sync(0xffffffffu, found[t][r].largest, step);
                const float sum = __shfl_xor_sync(0xffffffffu, found[t][r].sum, step);
                found[t][r].add(largest, sum);
            }
            if (lane == 0)
                shared[warp][t * 16 + r * 8 + group] =
                    make_float2(found[t][r].largest, found[t][r].sum);
        }
    __syncthreads();
    float shift[kTiles][2];  // of the exponents
#pragma unroll
    for (int t = 0; t < kTiles; ++t)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            Found of_row;
            for (int w = 0; w < warps; ++w) {
                const float2 each = shared[w][t * 16 + r * 8 + group];
                of_row.add(each.x, each.y);
            }
            shift[t][r] = of_row.sum == 0.f ? INFINITY : of_row.largest + log2f(of_row.sum);
        }
#pragma unroll 1
    for (int first = warp * kGroup; first < keys; first += warps * kGroup) {
        float acc[kTiles][4][4];
        multiply_group<T>(acc, of_queries, k, k_row, first, keys);
        if (first + lane * 8 < keys) {
#pragma unroll
            for (int t = 0; t < kTiles; ++t)
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    const int row = query + t * 16 + r * 8 + group;
                    Piece made;
#pragma unroll
                    for (int j = 0; j < 4; ++j) {
                        const float* const pair = acc[t][j] + 2 * r;
                        made.word[j] = Pair<T>::pack(
                            power_of_two(fmaf(pair[0], scale_log2, -shift[t][r])),
                            power_of_two(fmaf(pair[1], scale_log2, -shift[t][r])));
                    }
                    if (row < queries)
                        *reinterpret_cast<Piece*>(out + 1ll * row * keys + first + lane * 8) = made;
                }
        }
    }
}

// As the kernels styleforge_weights_...
template <int kTiles>
__device__ __forceinline__ void weights_of_block(
    const void* q, const void* k, void* out, long long type, long long queries, long long keys,
    long long depth, long long heads, long long q_plane, long long q_head, long long q_row,
    long long k_plane, long long k_head, long long k_row, double scale) {
    __shared__ float2 shared[kMostWarps][16 * kTiles];
    const long long plane = blockIdx.y / static_cast<unsigned>(heads);
    const long long head = blockIdx.y % static_cast<unsigned>(heads);
    const auto run = [&](auto element, auto steps) {
        using T = decltype(element);
        weights_of<T, kTiles, decltype(steps)::value>(
            static_cast<const T*>(q) + plane * q_plane + head * q_head,
            static_cast<const T*>(k) + plane * k_plane + head * k_head,
            static_cast<T*>(out) + 1ll * blockIdx.y * queries * keys,
            static_cast<unsigned>(q_row), static_cast<unsigned>(k_row), 16 * kTiles * blockIdx.x,
            static_cast<int>(queries), static_cast<int>(keys),
            static_cast<float>(scale) * 1.4426950408889634f, shared);
    };
    const auto by_depth = [&](auto element) {
        if (depth == 32)
            run(element, Steps<1>{});
        else if (depth == 64)
            run(element, Steps<2>{});
        else if constexpr (kTiles == 1)  // queries of more would take too many registers
            run(element, Steps<4>{});
    };
    if (type == kHalf)
        by_depth(__half{});
    else
        by_depth(__nv_bfloat16{});
}

}  // namespace styleforge::attention
