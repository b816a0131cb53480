// Operations around the products of attention: softmax with scale and mask, its gradient, rotary
// embeddings; in FP32 the product of queries and keys; in 16 bits block-sparse attention; and
// gathering of blocks, with its gradient.
#include "block_copies.cuh"
#include "block_sparse.cuh"
#include "block_sums.cuh"
#include "scores_product.cuh"
#include "softmax_rows.cuh"

namespace styleforge {

// Rotates kCount pairs of a row by their angles, or back.
template <int kCount, typename Table, typename T>
__device__ __forceinline__ void turn(const T* x, const Table* cosine, const Table* sine, T* y,
                                     unsigned pair, unsigned pairs, bool interleaved, bool back) {
    const unsigned first = interleaved ? 2 * pair : pair;
    const unsigned second = interleaved ? first + kCount : first + pairs;
    float values[2 * kCount], made[2 * kCount], c[kCount], s[kCount];
    load<kCount>(values, x + first);
    load<kCount>(values + kCount, x + second);
    constexpr int kPart = kCount < kVectorSize<Table> ? kCount : kVectorSize<Table>;
#pragma unroll
    for (int k = 0; k < kCount; k += kPart) {
        load<kPart>(c + k, cosine + k);
        load<kPart>(s + k, sine + k);
    }
    const auto pairwise = [&](int k, int a, int b) {
        const float angle = back ? -s[k] : s[k];
        made[a] = values[a] * c[k] - values[b] * angle;
        made[b] = values[b] * c[k] + values[a] * angle;
    };
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
        if (interleaved)
            pairwise(k, 2 * k, 2 * k + 1);
        else
            pairwise(k, k, k + kCount);
    }
    store<kCount>(y + first, made);
    store<kCount>(y + second, made + kCount);
}

// Calls `use(element, count)` for this type, with the elements in 16 bytes or one.
template <typename T>
struct Element {
    using Type = T;
};
template <typename Use>
__device__ __forceinline__ void by_type(long long type, int vector, const Use& use) {
    const auto by_count = [&](auto element) {
        if (vector)
            use(element, Count<kVectorSize<typename decltype(element)::Type>>{});
        else
            use(element, Count<1>{});
    };
    if (type == kHalf)
        by_count(Element<__half>{});
    else if (type == kBFloat16)
        by_count(Element<__nv_bfloat16>{});
    else
        by_count(Element<float>{});
}

}  // namespace styleforge

// out: [planes, heads, queries, keys], contiguous; q and k strided, with a contiguous depth that is
// a multiple of 4. Blocks: keys / kKeys, queries / kQueries, planes times heads. Empty before
// sm_80.
extern "C" __global__ void __launch_bounds__(256, 2)
    styleforge_scores(const float* q, const float* k, float* out, long long queries, long long keys,
                      long long depth, long long heads, long long q_plane, long long q_head,
                      long long q_row, long long k_plane, long long k_head, long long k_row) {
    using namespace styleforge::attention;
    __shared__ float4 of_queries[kQueries * kVectors], of_keys[kKeys * kVectors];
    const long long plane = blockIdx.z / static_cast<unsigned>(heads);
    const long long head = blockIdx.z % static_cast<unsigned>(heads);
    const long long query = 1ll * blockIdx.y * kQueries, key = 1ll * blockIdx.x * kKeys;
    q += plane * q_plane + head * q_head + query * q_row;
    k += plane * k_plane + head * k_head + key * k_row;
    const int warp = threadIdx.x / 32, first_query = warp / 2 * 32, first_key = warp % 2 * 32;
    float acc[2][4][4] = {};
#pragma unroll 1
    for (long long left = depth; left > 0; left -= kDepth) {
        if (left != depth) __syncthreads();  // the previous contents have been read
        load_rows<kQueries>(of_queries, q, q_row, queries - query, left);
        load_rows<kKeys>(of_keys, k, k_row, keys - key, left);
        __syncthreads();
        multiply_rows(acc, of_queries + first_query * kVectors, of_keys + first_key * kVectors);
        q += kDepth, k += kDepth;
    }
    out += (blockIdx.z * queries + query + first_query) * keys + key + first_key;
    store_scores(acc, out, keys, queries - query - first_query, keys - key - first_key);
}

// out: [planes, heads, queries, 64 or 128], contiguous; q, k and v strided, with a contiguous depth
// of the same size. `seen`: bools by block of queries and of keys, strided. 16 divides the queries
// of a block, 32 its keys. Blocks: queries / 64, planes times heads. BF16 is empty before sm_80.
extern "C" __global__ void __launch_bounds__(128, 3)
    styleforge_block_sparse_64(const void* q, const void* k, const void* v, void* out,
                               const void* seen, long long type, long long queries,
                               long long keys, long long heads, long long rows, long long columns,
                               long long q_plane, long long q_head, long long q_row,
                               long long k_plane, long long k_head, long long k_row,
                               long long v_plane, long long v_head, long long v_row,
                               long long seen_plane, long long seen_head, long long seen_row,
                               long long seen_column, double scale) {
    styleforge::attention::sparse_of_block<64>(
        q, k, v, out, seen, type, queries, keys, heads, rows, columns, q_plane, q_head, q_row,
        k_plane, k_head, k_row, v_plane, v_head, v_row, seen_plane, seen_head, seen_row,
        seen_column, scale);
}
extern "C" __global__ void __launch_bounds__(128)
    styleforge_block_sparse_128(const void* q, const void* k, const void* v, void* out,
                                const void* seen, long long type, long long queries,
                                long long keys, long long heads, long long rows, long long columns,
                                long long q_plane, long long q_head, long long q_row,
                                long long k_plane, long long k_head, long long k_row,
                                long long v_plane, long long v_head, long long v_row,
                                long long seen_plane, long long seen_head, long long seen_row,
                                long long seen_column, double scale) {
    styleforge::attention::sparse_of_block<128>(
        q, k, v, out, seen, type, queries, keys, heads, rows, columns, q_plane, q_head, q_row,
        k_plane, k_head, k_row, v_plane, v_head, v_row, seen_plane, seen_head, seen_row,
        seen_column, scale);
}

// out: one block of numbers per place; x: `blocks` blocks, each `width` times `unit` bytes. Warps:
// `parts` for every kCopyPlaces places, of kCopyVectors times 32 units each.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_gather_blocks(const void* x, const long long* places, const long long* order,
                             void* out, long long count, long long blocks, long long width,
                             long long parts, long long unit) {
    using namespace styleforge;
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned run = warp / static_cast<unsigned>(parts), part = warp - run * parts;
    if (1ll * run * kCopyPlaces >= count) return;
    const auto copy = [&](auto vector) {
        copy_to_places<decltype(vector)>(x, places, order, out, count, blocks, width, run, part);
    };
    if (unit == 16)
        copy(uint4{});
    else if (unit == 4)
        copy(0u);
    else
        copy(static_cast<unsigned short>(0));
}

// out: blocks of `width` numbers; x: one block per place; order and begins as in sum_places. Thread
// blocks: `parts` for every kSumWarps blocks, of kSumVectors times 32 numbers or 16-byte vectors.
extern "C" __global__ void __launch_bounds__(256, 4)
    styleforge_sum_blocks_float32(const void* x, const long long* order, const long long* begins,
                                  void* out, long long blocks, long long width, long long parts,
                                  int vector) {
    styleforge::sums_of_block<float>(x, order, begins, out, blocks, width, parts, vector);
}
extern "C" __global__ void __launch_bounds__(256, 3)
    styleforge_sum_blocks_float16(const void* x, const long long* order, const long long* begins,
                                  void* out, long long blocks, long long width, long long parts,
                                  int vector) {
    styleforge::sums_of_block<__half>(x, order, begins, out, blocks, width, parts, vector);
}
extern "C" __global__ void __launch_bounds__(256, 3)
    styleforge_sum_blocks_bfloat16(const void* x, const long long* order, const long long* begins,
                                  void* out, long long blocks, long long width, long long parts,
                                  int vector) {
    styleforge::sums_of_block<__nv_bfloat16>(x, order, begins, out, blocks, width, parts, vector);
}

// One block per row of scores. One kernel per type, so that none needs the registers of another.
extern "C" __global__ void __launch_bounds__(512, 1)
    styleforge_softmax_float32(void* scores, const void* mask, long long kind, long long width,
                               long long queries, long long heads, long long of_plane,
                               long long of_head, long long of_query, long long of_key,
                               double scale, int vector) {
    styleforge::softmax_of_block<float>(scores, mask, kind, width, queries, heads, of_plane,
                                        of_head, of_query, of_key, scale, vector);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_float16(void* scores, const void* mask, long long kind, long long width,
                               long long queries, long long heads, long long of_plane,
                               long long of_head, long long of_query, long long of_key,
                               double scale, int vector) {
    styleforge::softmax_of_block<__half>(scores, mask, kind, width, queries, heads, of_plane,
                                         of_head, of_query, of_key, scale, vector);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_bfloat16(void* scores, const void* mask, long long kind, long long width,
                                long long queries, long long heads, long long of_plane,
                                long long of_head, long long of_query, long long of_key,
                                double scale, int vector) {
    styleforge::softmax_of_block<__nv_bfloat16>(scores, mask, kind, width, queries, heads, of_plane,
                                                of_head, of_query, of_key, scale, vector);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_gradient_float32(const void* grad, const void* weights, void* out,
                                        long long width, int vector) {
    styleforge::softmax_gradient_of_block<float>(grad, weights, out, width, vector);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_gradient_float16(const void* grad, const void* weights, void* out,
                                        long long width, int vector) {
    styleforge::softmax_gradient_of_block<__half>(grad, weights, out, width, vector);
}
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_gradient_bfloat16(const void* grad, const void* weights, void* out,
                                         long long width, int vector) {
    styleforge::softmax_gradient_of_block<__nv_bfloat16>(grad, weights, out, width, vector);
}

// y: [samples, heads, length, 2 pairs], contiguous; x strided; cosine and sine: [length, pairs],
// per sample if `of_tables` is not 0, in FP32 or, with `alike`, in x's type.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_rope(const void* x, const void* cosine, const void* sine, void* y, long long type,
                    long long pairs, long long length, long long heads, long long of_sample,
                    long long of_head, long long of_position, long long of_tables,
                    int interleaved, int back, int alike, long long groups, int vector) {
    using namespace styleforge;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= groups) return;
    by_type(type, vector, [&](auto element, auto count) {
        using T = typename decltype(element)::Type;
        constexpr int kCount = decltype(count)::value;
        const unsigned of_row = static_cast<unsigned>(pairs) / kCount;
        const unsigned row = thread / of_row, pair = thread % of_row * kCount;
        const unsigned position = row % static_cast<unsigned>(length);
        const unsigned plane = row / static_cast<unsigned>(length);
        const long long sample = plane / static_cast<unsigned>(heads);
        const long long head = plane % static_cast<unsigned>(heads);
        const T* const from = static_cast<const T*>(x) + sample * of_sample + head * of_head +
                              position * of_position;
        const long long table = sample * of_tables + position * pairs + pair;
        const auto by_tables = [&](auto of) {
            using Table = typename decltype(of)::Type;
            turn<kCount>(from, static_cast<const Table*>(cosine) + table,
                         static_cast<const Table*>(sine) + table,
                         static_cast<T*>(y) + 2ll * row * pairs, pair,
                         static_cast<unsigned>(pairs), interleaved != 0, back != 0);
        };
        if (alike)
            by_tables(Element<T>{});
        else
            by_tables(Element<float>{});
    });
}
