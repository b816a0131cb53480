// Layer norm of tokens, and in front of it what makes them: a norm over the picture whose statistics
// are given, scale, shift and a residual. A warp takes a token, which is read once; where groups of
// tokens are averaged as well, a block takes a group.
#include "include/common/dtypes.cuh"

namespace styleforge {

// Elements of a load, of any type: the parameters, in FP32, are then read without gaps as well.
constexpr int kCount = 4;
constexpr int kTokenThreads = 128, kWarps = kTokenThreads / 32;
constexpr unsigned kWholeWarp = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(kWholeWarp, value, step);
    return value;
}

// y = (x - mean) * inverse * weight + bias + residual, and its norm over the channels, without
// affine parameters. x, residual, y, normed: [rows, width]; mean, inverse: [samples, width], of
// which each is for `tokens` rows; weight, bias: [width]. What is null is left out.
template <typename T>
struct Tokens {
    const T *x, *residual;
    const float *mean, *inverse, *weight, *bias;
    T *y, *normed;
    long long tokens;
    int width;
    float part, eps;  // part: 1 / width
};

// Calls with the number of each vector of a token that the thread has, and its first channel.
template <int kVectors, typename Run>
__device__ __forceinline__ void for_vectors(int width, const Run& run) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at < width) run(i, at);
    }
}

// One token by a warp; its norm is left in `values` as well. Nothing is stored before everything is
// loaded: the compiler moves no load up over a store, and each would wait for the one before it.
// kEarly: the residual is among the first loads, which takes registers.
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
    if (row >= rows) return;  // a whole warp
    float values[kVectors][kCount];
    const long long sample = p.mean == nullptr ? 0 : row / p.tokens;
    normalize_token<T, kVectors, kVectors <= 4>(p, row, sample, values);
}

// The same, and the means of the norms of square groups: of sample blockIdx.y, the group
// blockIdx.x of a picture of `high` by `wide` tokens. means: [samples, groups, width]; sums: shared,
// where each warp adds up its tokens, since registers for that would halve the blocks at work.
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

// What the kernels below have in common: of tokens of up to kVectors * 128 channels.
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

// Of up to 512 channels, and of up to 1,024: more registers a thread would halve the blocks at work.
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
