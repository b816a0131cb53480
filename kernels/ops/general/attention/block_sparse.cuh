// Block-sparse attention in FP16 and BF16: blocks of queries see only some blocks of keys. A warp
// has 16 queries of one block, scans that block's mask, and reads the visible keys and values into
// registers; no scores or key lists are stored in memory. The softmax is online (Dao et al., 2022).
// BF16 requires sm_80.
//
// Weights have the layout of scores in scores_mma.cuh: of every 32 keys a thread has eight
// consecutive ones, four for each product of weights and values. It loads eight consecutive numbers
// of each of four values, one for each of eight products. Column c of product j is therefore number
// 8 c + j of a head of 64; a head of 128 has two times eight products.
#pragma once

#include "scores_mma.cuh"

namespace styleforge::attention {

constexpr int kSparseWarps = 4;  // per block

// Packs element `at` of two pieces into a pair of 16-bit numbers.
__device__ __forceinline__ uint32_t pair_of(const Piece& first, const Piece& second, int at) {
    return __byte_perm(first.word[at / 2], second.word[at / 2], at % 2 ? 0x7632 : 0x5410);
}

// The running results of a warp's 16 queries; scores are exponents of two.
template <int kDim>
struct Attended {
    float out[kDim / 8][4] = {};
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};  // over this thread's keys only
};

// Adds keys first .. first + 31 to the running results.
template <typename T, int kDim>
__device__ __forceinline__ void attend_group(Attended<kDim>& known,
                                             const Piece (&queries)[2][kDim / kStep],
                                             const T* k, const T* v, unsigned k_row,
                                             unsigned v_row, int first, int keys,
                                             float scale_log2) {
    constexpr int kPieces = kDim / 64;  // of a row of values, per thread
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4;
    float scores[4][4];
    multiply_group<T>(scores, queries, k, k_row, first, keys);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float largest = known.largest[r];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float& score = scores[i / 2][2 * r + i % 2];
            score *= scale_log2;
            largest = fmaxf(largest, score);
        }
#pragma unroll
        for (int step = 1; step < 4; step *= 2)
            largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, step));
        const float from = origin(largest);
        const float shrink = power_of_two(known.largest[r] - from);
        float sum = 0;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float& score = scores[i / 2][2 * r + i % 2];
            score = power_of_two(score - from);
            sum += score;
        }
        known.sum[r] = fmaf(known.sum[r], shrink, sum);
        known.largest[r] = largest;
#pragma unroll
        for (int j = 0; j < kDim / 8; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) known.out[j][2 * r + e] *= shrink;
    }
#pragma unroll
    for (int half = 0; half < 4; half += 2) {  // 16 keys, four per thread
        const uint32_t weights[4] = {Pair<T>::pack(scores[half][0], scores[half][1]),
                                     Pair<T>::pack(scores[half][2], scores[half][3]),
                                     Pair<T>::pack(scores[half + 1][0], scores[half + 1][1]),
                                     Pair<T>::pack(scores[half + 1][2], scores[half + 1][3])};
        const unsigned key = first + lane * 8 + half * 2;
#pragma unroll
        for (int piece = 0; piece < kPieces; ++piece) {
            Piece values[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                values[i] = piece_at(v + ((key + i) * v_row + (group * kPieces + piece) * 8));
#pragma unroll
            for (int j = 0; j < 8; ++j)
                mma_m16n8k16<T>(known.out[piece * 8 + j], weights,
                                pair_of(values[0], values[1], j), pair_of(values[2], values[3], j));
        }
    }
}

// Computes the results of 16 queries of one block, starting at `query`.
template <typename T, int kDim>
__device__ __forceinline__ void attend_blocks(const T* q, const T* k, const T* v, T* out,
                                              const bool* seen, long long of_column,
                                              unsigned q_row, unsigned k_row, unsigned v_row,
                                              int query, int queries, int keys, int columns,
                                              float scale_log2) {
    constexpr int kPieces = kDim / 64;
    const int group = threadIdx.x % 32 / 4, lane = threadIdx.x % 4, keys_of_block = keys / columns;
    Piece of_queries[2][kDim / kStep];
    load_queries(of_queries, q, q_row, query, queries);
    Attended<kDim> known;
    for (int from = 0; from < columns; from += 32) {
        const int column = from + threadIdx.x % 32;
        const unsigned bits = __ballot_sync(
            0xffffffffu, column < columns && seen[(column < columns ? column : 0) * of_column]);
        for (int bit = 0; bit < 32; ++bit) {
            if (!(bits >> bit & 1)) continue;
            const int begin = (from + bit) * keys_of_block;
            for (int first = begin; first < begin + keys_of_block; first += kGroup)
                attend_group<T, kDim>(known, of_queries, k, v, k_row, v_row, first, keys,
                                      scale_log2);
        }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float sum = known.sum[r];
#pragma unroll
        for (int step = 1; step < 4; step *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        const float inverse = sum == 0.f ? 0.f : 1.f / sum;
        const int row = query + r * 8 + group;
        if (row >= queries) continue;
#pragma unroll
        for (int e = 0; e < 2; ++e)
#pragma unroll
            for (int piece = 0; piece < kPieces; ++piece) {
                Piece made;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    made.word[i] =
                        Pair<T>::pack(known.out[piece * 8 + 2 * i][2 * r + e] * inverse,
                                      known.out[piece * 8 + 2 * i + 1][2 * r + e] * inverse);
                *reinterpret_cast<Piece*>(out + 1ll * row * kDim +
                                          ((lane * 2 + e) * kPieces + piece) * 8) = made;
            }
    }
}

// Body of the kernels styleforge_block_sparse_...
template <int kDim>
__device__ __forceinline__ void sparse_of_block(
    const void* q, const void* k, const void* v, void* out,
    const void* seen, long long type, long long queries,
    long long keys, long long heads, long long rows, long long columns,
    long long q_plane, long long q_head, long long q_row,
    long long k_plane, long long k_head, long long k_row,
    long long v_plane, long long v_head, long long v_row,
    long long seen_plane, long long seen_head, long long seen_row,
    long long seen_column, double scale) {
    const long long plane = blockIdx.y / static_cast<unsigned>(heads);
    const long long head = blockIdx.y % static_cast<unsigned>(heads);
    const int query = (blockIdx.x * kSparseWarps + threadIdx.x / 32) * 16;
    if (query >= queries) return;
    const long long row = query / (static_cast<int>(queries) / static_cast<int>(rows));
    const auto run = [&](auto element) {
        using T = decltype(element);
        attend_blocks<T, kDim>(
            static_cast<const T*>(q) + plane * q_plane + head * q_head,
            static_cast<const T*>(k) + plane * k_plane + head * k_head,
            static_cast<const T*>(v) + plane * v_plane + head * v_head,
            static_cast<T*>(out) + blockIdx.y * queries * kDim,
            static_cast<const bool*>(seen) + plane * seen_plane + head * seen_head +
                row * seen_row,
            seen_column, static_cast<unsigned>(q_row), static_cast<unsigned>(k_row),
            static_cast<unsigned>(v_row), query, static_cast<int>(queries),
            static_cast<int>(keys), static_cast<int>(columns),
            static_cast<float>(scale) * 1.4426950408889634f);
    };
    if (type == kHalf)
        run(__half{});
    else
        run(__nv_bfloat16{});
}

}  // namespace styleforge::attention
