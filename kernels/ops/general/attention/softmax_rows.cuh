// Softmax of rows of scores and its gradient: one block per row, whose threads hold the row in
// registers.
#pragma once

#include <math.h>

#include "include/common/dtypes.cuh"

namespace styleforge {

// Vectors of kCount elements of a row per thread: four of 16 bytes, all in flight together, or 16
// elements if a mask also needs registers.
template <int kCount, bool kMasked>
constexpr int kHeld = kCount == 1 || kMasked ? 16 / kCount : 4;
constexpr int kWarpsOfRow = 16;  // maximum; a block is one row

enum MaskKind { kNoMask = 0, kVisible = 1, kAdded = 2 };

// Returns the maximum or the sum over the threads of a block, in a fixed order.
template <bool kLargest>
__device__ __forceinline__ float combined(float value, float* shared) {
    const auto join = [](float a, float b) { return kLargest ? fmaxf(a, b) : a + b; };
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value = join(value, __shfl_xor_sync(0xffffffffu, value, step));
    if (blockDim.x == 32) return value;
    __syncthreads();  // the previously combined values have been read
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[0];
    for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = join(value, shared[warp]);
    return value;
}

// A thread's part of a row: kVectors vectors of kCount elements, with the block's threads
// interleaved.
template <typename T, int kCount, int kVectors>
struct Part {
    using Vector = AlignedVector<T, kCount>;
    Vector vectors[kVectors] = {};  // zeros beyond the end of the row

    static __device__ __forceinline__ int place(int i) {
        return (i * blockDim.x + threadIdx.x) * kCount;
    }
    __device__ __forceinline__ Part(const T* row, int width) {
#pragma unroll
        for (int i = 0; i < kVectors; ++i)
            if (place(i) < width) vectors[i] = *reinterpret_cast<const Vector*>(row + place(i));
    }
    __device__ __forceinline__ float get(int i, int k) const {
        return to_float(vectors[i].element[k]);
    }
    // Calls `use(i, k)` for each element slot: element k of vector i.
    template <typename Use>
    static __device__ __forceinline__ void each(const Use& use) {
#pragma unroll
        for (int i = 0; i < kVectors; ++i)
#pragma unroll
            for (int k = 0; k < kCount; ++k) use(i, k);
    }
};

template <int kValue>
struct Count {
    static constexpr int value = kValue;
};

constexpr float kLog2E = 1.4426950408889634f;

// row = softmax(row * scale + mask) in place; zeros if the mask hides every key. Scores are
// exponents of two.
template <int kCount, bool kMasked, typename T>
__device__ __forceinline__ void softmax_row(T* row, const void* mask, long long kind,
                                            long long first, long long step, int width,
                                            float scale, float* shared) {
    constexpr int kVectors = kHeld<kCount, kMasked>;
    using Own = Part<T, kCount, kVectors>;
    float held[kVectors][kCount], largest = -INFINITY, sum = 0;
    {
        const Own given(row, width);
        const float scale_log2 = scale * kLog2E;
        Own::each([&](int i, int k) {
            held[i][k] = Own::place(i) < width ? given.get(i, k) * scale_log2 : -INFINITY;
        });
    }
    if constexpr (kMasked)
        Own::each([&](int i, int k) {
            if (Own::place(i) >= width) return;
            const long long of_mask = first + (Own::place(i) + k) * step;
            if (kind == kAdded)
                held[i][k] =
                    fmaf(to_float(static_cast<const T*>(mask)[of_mask]), kLog2E, held[i][k]);
            else if (!static_cast<const bool*>(mask)[of_mask])
                held[i][k] = -INFINITY;
        });
    Own::each([&](int i, int k) { largest = fmaxf(largest, held[i][k]); });
    largest = combined<true>(largest, shared);
    const float origin = largest == -INFINITY ? 0.f : largest;
    Own::each([&](int i, int k) { sum += held[i][k] = exp2f(held[i][k] - origin); });
    sum = combined<false>(sum, shared);
    const float inverse = sum == 0 ? 0.f : 1.f / sum;
    Own::each([&](int i, int k) { held[i][k] *= inverse; });
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
        if (Own::place(i) < width) store<kCount>(row + Own::place(i), held[i]);
}

// out = weights * (grad - the sum of grad * weights), for one row.
template <int kCount, typename T>
__device__ __forceinline__ void softmax_gradient_row(const T* grad, const T* weights, T* out,
                                                     int width, float* shared) {
    constexpr int kVectors = kHeld<kCount, false>;
    using Own = Part<T, kCount, kVectors>;
    const Own given(grad, width), held(weights, width);
    float sum = 0;
    Own::each([&](int i, int k) { sum += given.get(i, k) * held.get(i, k); });
    sum = combined<false>(sum, shared);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        if (Own::place(i) >= width) continue;
        float made[kCount];
#pragma unroll
        for (int k = 0; k < kCount; ++k) made[k] = held.get(i, k) * (given.get(i, k) - sum);
        store<kCount>(out + Own::place(i), made);
    }
}

// Processes row blockIdx.x of scores: [planes, heads, queries, width]; the strides belong to the
// mask.
template <typename T>
__device__ __forceinline__ void softmax_of_block(void* scores, const void* mask, long long kind,
                                                 long long width, long long queries,
                                                 long long heads, long long of_plane,
                                                 long long of_head, long long of_query,
                                                 long long of_key, double scale, int vector) {
    __shared__ float shared[kWarpsOfRow];
    const unsigned row = blockIdx.x, rows_of_head = static_cast<unsigned>(queries);
    const unsigned head = row / rows_of_head, heads_of_plane = static_cast<unsigned>(heads);
    const long long first = head / heads_of_plane * of_plane + head % heads_of_plane * of_head +
                            row % rows_of_head * of_query;
    T* const at = static_cast<T*>(scores) + row * width;
    const auto run = [&](auto count, auto masked) {
        softmax_row<decltype(count)::value, decltype(masked)::value>(
            at, mask, kind, first, of_key, static_cast<int>(width), static_cast<float>(scale),
            shared);
    };
    if (kind == kNoMask)
        vector ? run(Count<kVectorSize<T>>{}, Count<0>{}) : run(Count<1>{}, Count<0>{});
    else
        vector ? run(Count<kVectorSize<T>>{}, Count<1>{}) : run(Count<1>{}, Count<1>{});
}

// Processes row blockIdx.x of the gradient.
template <typename T>
__device__ __forceinline__ void softmax_gradient_of_block(const void* grad, const void* weights,
                                                          void* out, long long width, int vector) {
    __shared__ float shared[kWarpsOfRow];
    const T* const given = static_cast<const T*>(grad) + blockIdx.x * width;
    const T* const held = static_cast<const T*>(weights) + blockIdx.x * width;
    T* const to = static_cast<T*>(out) + blockIdx.x * width;
    if (vector)
        softmax_gradient_row<kVectorSize<T>>(given, held, to, static_cast<int>(width), shared);
    else
        softmax_gradient_row<1>(given, held, to, static_cast<int>(width), shared);
}

}  // namespace styleforge
