// Layer norm of tokens, with the operations that produce them: a norm over the picture with given
// statistics, scale, shift and a residual. A warp processes one token, which is read once; if
// groups of tokens are also averaged, a block processes one group.
#include "include/common/dtypes.cuh"

namespace styleforge {

// Elements per load, for any type, so that the FP32 parameters are also read without gaps.
constexpr int kCount = 4;
constexpr int kTokenThreads = 128, kWarps = kTokenThreads / 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kWholeWarp, value, step);
    return value;
}

// y = (x - mean) * inverse * weight + bias + residual, and its norm over the channels, without
// affine parameters. x, residual, y, normed: [rows, width]; mean, inverse: [samples, width], each
// for `tokens` rows; weight, bias: [width]. Null operands are omitted.
template <typename T>
struct Tokens {
    const T *x, *residual;
    const float *mean, *inverse, *weight, *bias;
    T *y, *normed;
    long long tokens;
    int width;
    float part, eps;  // part: 1 / width
};

// Calls `run` with the number of each of the thread's vectors of a token, and its first channel.
template <int kVectors, typename Run>
__device__ __forceinline__ void for_vectors(int width, const Run& run) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at < width) run(i, at);
    }
}

// Normalizes one token with one warp; the norm is also left in `values`. All loads come before the
// first store: the compiler moves no load above a store, and each load would wait for the previous
// one. kEarly: the residual is among the first loads, which takes registers.
template <typename T, int kVectors, bool kEarly>
__device__ __forceinline__ void normalize_token(const Tokens<T>& p, long long row, long long sample,
                                                float (&values)[kVectors][kCount]) {
    const long long from = row * p.width;
    AlignedVector<T, kCount> added[kVectors];
    for_vectors<kVectors>(p.width,
                          [&](int i, int at) { load<kCount>(values[i], p.x + from + at); });
    if (kEarly && p.residual != nullptr)
        for_vectors<kVectors>(p.width, [&](int i, int at) {
            added[i] = *reinterpret_cast<const AlignedVector<T, kCount>*>(p.residual + from + at);
        });
    if (p.mean != nullptr)
        for_vectors<kVectors>(p.width, [&](int i, int at) {
            float mean[kCount], inverse[kCount];
            load<kCount>(mean, p.mean + sample * p.width + at);
            load<kCount>(inverse, p.inverse + sample * p.width + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) values[i][k] = (values[i][k] - mean[k]) * inverse[k];
        });
    if (p.weight != nullptr)
        for_vectors<kVectors>(p.width, [&](int i, int at) {
            float weight[kCount];
            load<kCount>(weight, p.weight + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) values[i][k] *= weight[k];
        });
    if (p.bias != nullptr)
        for_vectors<kVectors>(p.width, [&](int i, int at) {
            float bias[kCount];
            load<kCount>(bias, p.bias + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) values[i][k] += bias[k];
        });
    float sum = 0, squares = 0;
    for_vectors<kVectors>(p.width, [&](int i, int at) {
        float rest[kCount] = {};
        if (p.residual != nullptr)
            load<kCount>(rest, kEarly ? added[i].element : p.residual + from + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k) sum += values[i][k] += rest[k];
        store<kCount>(p.y + from + at, values[i]);
    });
    const float middle = warp_sum(sum) * p.part;
    for_vectors<kVectors>(p.width, [&](int i, int) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            values[i][k] -= middle;
            squares += values[i][k] * values[i][k];
        }
    });
    const float scale = rsqrtf(warp_sum(squares) * p.part + p.eps);
    for_vectors<kVectors>(p.width, [&](int i, int at) {
#pragma unroll
        for (int k = 0; k < kCount; ++k) values[i][k] *= scale;
        store<kCount>(p.normed + from + at, values[i]);
    });
}

template <typename T, int kVectors>
__device__ __forceinline__ void normalize_tokens(const Tokens<T>& p, long long rows) {
    const long long row = 1ll * blockIdx.x * kWarps + threadIdx.x / 32;
    if (row >= rows) return;  // uniform across the warp
    float values[kVectors][kCount];
    const long long sample = p.mean == nullptr ? 0 : row / p.tokens;
    normalize_token<T, kVectors, kVectors <= 4>(p, row, sample, values);
}

// The same, plus the means of the norms over square groups: group blockIdx.x of sample blockIdx.y,
// in a picture of `high` by `wide` tokens. means: [samples, groups, width]. sums: shared memory in
// which each warp adds up its tokens, since registers for that would halve the active blocks.
template <typename T, int kVectors>
__device__ __forceinline__ void normalize_groups(const Tokens<T>& p, T* means, float* sums,
                                                 int high, int wide, int stride) {
    constexpr int kOwn = kVectors * 32 * kCount;
    const int across = (wide + stride - 1) / stride, warp = threadIdx.x / 32;
    const int top = blockIdx.x / across * stride, left = blockIdx.x % across * stride;
    const int rows = min(stride, high - top), columns = min(stride, wide - left);
    const long long first = blockIdx.y * p.tokens + 1ll * top * wide + left;
    float* own = sums + warp * kOwn;
#pragma unroll 1
    for (int n = warp; n < rows * columns; n += kWarps) {
        float values[kVectors][kCount];
        const long long row = first + n / columns * wide + n % columns;
        normalize_token<T, kVectors, false>(p, row, blockIdx.y, values);
        for_vectors<kVectors>(p.width, [&](int i, int at) {
            float before[kCount] = {};
            if (n != warp) load<kCount>(before, own + at);
#pragma unroll
            for (int k = 0; k < kCount; ++k) before[k] += values[i][k];
            store<kCount>(own + at, before);
        });
    }
    __syncthreads();
    const long long to = (1ll * blockIdx.y * gridDim.x + blockIdx.x) * p.width;
    for (int at = threadIdx.x * kCount; at < p.width; at += kTokenThreads * kCount) {
        const float part = 1.f / (rows * columns);
        float mean[kCount] = {};
#pragma unroll
        for (int w = 0; w < kWarps; ++w)
            if (w < rows * columns) {
                float sum[kCount];
                load<kCount>(sum, sums + w * kOwn + at);
#pragma unroll
                for (int k = 0; k < kCount; ++k) mean[k] += sum[k];
            }
#pragma unroll
        for (int k = 0; k < kCount; ++k) mean[k] *= part;
        store<kCount>(means + to + at, mean);
    }
}

template <typename Run>
__device__ __forceinline__ void with_element(long long type, const Run& run) {
    if (type == kHalf)
        run(__half{});
    else if (type == kBFloat16)
        run(__nv_bfloat16{});
    else
        run(0.f);
}

// The common part of the kernels below, for tokens of up to kVectors * 128 channels.
template <int kVectors>
__device__ __forceinline__ void token_norm(const void* x, const void* residual, const float* mean,
                                           const float* inverse, const float* weight,
                                           const float* bias, void* y, void* normed, long long type,
                                           long long rows, long long tokens, long long width,
                                           double eps) {
    const float part = 1.f / static_cast<float>(width);
    with_element(type, [&](auto element) {
        using T = decltype(element);
        const Tokens<T> p{static_cast<const T*>(x), static_cast<const T*>(residual), mean, inverse,
                          weight, bias, static_cast<T*>(y), static_cast<T*>(normed), tokens,
                          static_cast<int>(width), part, static_cast<float>(eps)};
        normalize_tokens<T, kVectors>(p, rows);
    });
}

template <int kVectors>
__device__ __forceinline__ void pooled_token_norm(
    const void* x, const void* residual, const float* mean, const float* inverse,
    const float* weight, const float* bias, void* y, void* normed, void* means, long long type,
    int high, int wide, int stride, long long width, double eps) {
    __shared__ __align__(16) float sums[kWarps * kVectors * 32 * kCount];
    const float part = 1.f / static_cast<float>(width);
    with_element(type, [&](auto element) {
        using T = decltype(element);
        const Tokens<T> p{static_cast<const T*>(x), static_cast<const T*>(residual), mean, inverse,
                          weight, bias, static_cast<T*>(y), static_cast<T*>(normed),
                          1ll * high * wide, static_cast<int>(width), part,
                          static_cast<float>(eps)};
        normalize_groups<T, kVectors>(p, static_cast<T*>(means), sums, high, wide, stride);
    });
}

}  // namespace styleforge

// For up to 512 channels, and for up to 1,024: more registers per thread would halve the active
// blocks.
extern "C" __global__ void __launch_bounds__(128)
    styleforge_token_norm(const void* x, const void* residual, const float* mean,
                          const float* inverse, const float* weight, const float* bias, void* y,
                          void* normed, long long type, long long rows, long long tokens,
                          long long width, double eps) {
    styleforge::token_norm<4>(x, residual, mean, inverse, weight, bias, y, normed, type, rows,
                              tokens, width, eps);
}

extern "C" __global__ void __launch_bounds__(128)
    styleforge_wide_token_norm(const void* x, const void* residual, const float* mean,
                               const float* inverse, const float* weight, const float* bias,
                               void* y, void* normed, long long type, long long rows,
                               long long tokens, long long width, double eps) {
    styleforge::token_norm<8>(x, residual, mean, inverse, weight, bias, y, normed, type, rows,
                              tokens, width, eps);
}

extern "C" __global__ void __launch_bounds__(128, 8)
    styleforge_pooled_token_norm(const void* x, const void* residual, const float* mean,
                                 const float* inverse, const float* weight, const float* bias,
                                 void* y, void* normed, void* means, long long type,
                                 long long high, long long wide, long long stride, long long width,
                                 double eps) {
    styleforge::pooled_token_norm<4>(x, residual, mean, inverse, weight, bias, y, normed, means,
                                     type, static_cast<int>(high), static_cast<int>(wide),
                                     static_cast<int>(stride), width, eps);
}

extern "C" __global__ void __launch_bounds__(128, 4)
    styleforge_wide_pooled_token_norm(const void* x, const void* residual, const float* mean,
                                      const float* inverse, const float* weight, const float* bias,
                                      void* y, void* normed, void* means, long long type,
                                      long long high, long long wide, long long stride,
                                      long long width, double eps) {
    styleforge::pooled_token_norm<8>(x, residual, mean, inverse, weight, bias, y, normed, means,
                                     type, static_cast<int>(high), static_cast<int>(wide),
                                     static_cast<int>(stride), width, eps);
}
