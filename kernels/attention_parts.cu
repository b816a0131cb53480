// What surrounds the products of attention: the softmax of scores with scale and mask, its
// gradient, and rotary position embeddings; and in FP32 the product of queries and keys.
#include <math.h>

#include "include/attention/scores_product.cuh"
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kHeld = 16;        // elements of a row that a thread holds
constexpr int kWarpsOfRow = 16;  // at most: a block is one row

enum MaskKind { kNoMask = 0, kVisible = 1, kAdded = 2 };

// The largest value, or the sum, over the threads of a block, in a fixed order.
template <bool kLargest>
__device__ __forceinline__ float combined(float value, float* shared) {
    const auto join = [](float a, float b) { return kLargest ? fmaxf(a, b) : a + b; };
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = join(value, __shfl_xor_sync(0xffffffffu, value, step));
    if (blockDim.x == 32) return value;
    __syncthreads();  // what was combined before has been read
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = join(value, shared[warp]);
    return value;
}

// `use(i, at)` for each vector of a row that a thread holds: its number and its first element.
template <int kCount, typename Use>
__device__ __forceinline__ void each_vector(long long width, const Use& use) {
#pragma unroll
    for (int i = 0; i < kHeld / kCount; ++i) {
        const long long at = 1ll * (i * blockDim.x + threadIdx.x) * kCount;
        if (at < width) use(i, at);
    }
}

// row = softmax(row * scale + mask) in place; zeros where the mask hides every key.
template <int kCount, typename T>
__device__ __forceinline__ void softmax_row(T* row, const void* mask, long long kind,
                                            long long first, long long step, long long width,
                                            float scale, float* shared) {
    float held[kHeld / kCount][kCount], largest = -INFINITY, sum = 0;
    each_vector<kCount>(width, [&](int i, long long at) {
        load<kCount>(held[i], row + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            const long long of_mask = first + (at + k) * step;
            float score = held[i][k] * scale;
            if (kind == kAdded) score += to_float(static_cast<const T*>(mask)[of_mask]);
            if (kind == kVisible && !static_cast<const bool*>(mask)[of_mask]) score = -INFINITY;
            held[i][k] = score;
            largest = fmaxf(largest, score);
        }
    });
    largest = combined<true>(largest, shared);
    const float origin = largest == -INFINITY ? 0.f : largest;
    each_vector<kCount>(width, [&](int i, long long) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum += held[i][k] = expf(held[i][k] - origin);
    });
    sum = combined<false>(sum, shared);
    const float inverse = sum == 0 ? 0.f : 1.f / sum;
    each_vector<kCount>(width, [&](int i, long long at) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) held[i][k] *= inverse;
        store<kCount>(row + at, held[i]);
    });
}

// out = weights * (grad - the sum of grad * weights), of a row.
template <int kCount, typename T>
__device__ __forceinline__ void softmax_gradient_row(const T* grad, const T* weights, T* out,
                                                     long long width, float* shared) {
    float given[kHeld / kCount][kCount], held[kHeld / kCount][kCount], sum = 0;
    each_vector<kCount>(width, [&](int i, long long at) {
        load<kCount>(given[i], grad + at);
        load<kCount>(held[i], weights + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum += given[i][k] * held[i][k];
    });
    sum = combined<false>(sum, shared);
    each_vector<kCount>(width, [&](int i, long long at) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) held[i][k] *= given[i][k] - sum;
        store<kCount>(out + at, held[i]);
    });
}

// Turns kCount pairs of a row by their angles, which begin at `cosine` and `sine`, or back.
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

// `use(element, count)` of the type of this number, with the elements of 16 bytes or with one.
template <typename T>
struct Element {
    using Type = T;
};
template <int kCount>
struct Count {
    static constexpr int value = kCount;
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

// out: [planes, heads, queries, keys], contiguous; q and k of these strides, with a dense depth of a
// multiple of 4. Blocks: keys / kKeys, queries / kQueries, planes times heads. Empty before sm_80.
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
        if (left != depth) __syncthreads();  // what lies there has been read
        load_rows<kQueries>(of_queries, q, q_row, queries - query, left);
        load_rows<kKeys>(of_keys, k, k_row, keys - key, left);
        __syncthreads();
        multiply_rows(acc, of_queries + first_query * kVectors, of_keys + first_key * kVectors);
        q += kDepth, k += kDepth;
    }
    out += (blockIdx.z * queries + query + first_query) * keys + key + first_key;
    store_scores(acc, out, keys, queries - query - first_query, keys - key - first_key);
}

// A block for each row of scores: [planes, heads, queries, width]; strides are those of the mask.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax(void* scores, const void* mask, long long type, long long kind,
                       long long width, long long queries, long long heads, long long of_plane,
                       long long of_head, long long of_query, long long of_key, double scale,
                       int vector) {
    using namespace styleforge;
    __shared__ float shared[kWarpsOfRow];
    const unsigned row = blockIdx.x, rows_of_head = static_cast<unsigned>(queries);
    const unsigned head = row / rows_of_head, heads_of_plane = static_cast<unsigned>(heads);
    const long long first = head / heads_of_plane * of_plane + head % heads_of_plane * of_head +
                            row % rows_of_head * of_query;
    by_type(type, vector, [&](auto element, auto count) {
        using T = typename decltype(element)::Type;
        softmax_row<decltype(count)::value>(static_cast<T*>(scores) + row * width, mask, kind,
                                            first, of_key, width, static_cast<float>(scale),
                                            shared);
    });
}

// A block for each row.
extern "C" __global__ void __launch_bounds__(512)
    styleforge_softmax_gradient(const void* grad, const void* weights, void* out, long long type,
                                long long width, int vector) {
    using namespace styleforge;
    __shared__ float shared[kWarpsOfRow];
    const long long at = blockIdx.x * width;
    by_type(type, vector, [&](auto element, auto count) {
        using T = typename decltype(element)::Type;
        softmax_gradient_row<decltype(count)::value>(static_cast<const T*>(grad) + at,
                                                     static_cast<const T*>(weights) + at,
                                                     static_cast<T*>(out) + at, width, shared);
    });
}

// y: [samples, heads, length, 2 pairs], contiguous; x of these strides; cosine and sine: [length,
// pairs], of every sample its own where `of_tables` is not 0, in FP32 or, with `alike`, of x's type.
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
