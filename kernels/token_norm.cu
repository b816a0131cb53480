// Layer norm of tokens, and in front of it what makes them: a norm over the picture whose statistics
// are given, scale, shift and a residual. A warp takes a token, which is read once; where groups of
// tokens are averaged as well, a block takes a group.
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kMostElements = 32;  // of a token that a thread holds
constexpr int kMostWidth = kMostElements * 32;
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
    float eps;
};

// One token by a warp; its norm is left in `values` as well. Vector i of lane l begins at channel
// (i * 32 + l) * kCount.
template <typename T, int kVectors, int kCount>
__device__ __forceinline__ void normalize_token(const Tokens<T>& p, long long row,
                                                float (&values)[kVectors][kCount]) {
    const int lane = threadIdx.x % 32;
    const long long statistics = row / p.tokens * p.width;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at >= p.width) break;
        load<kCount>(values[i], p.x + row * p.width + at);
        float added[kCount] = {};
        if (p.residual != nullptr) load<kCount>(added, p.residual + row * p.width + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            float value = values[i][k];
            if (p.mean != nullptr)
                value = (value - p.mean[statistics + at + k]) * p.inverse[statistics + at + k];
            if (p.weight != nullptr) value *= p.weight[at + k];
            if (p.bias != nullptr) value += p.bias[at + k];
            values[i][k] = value + added[k];
            sum += values[i][k];
        }
        store<kCount>(p.y + row * p.width + at, values[i]);
    }
    const float middle = warp_sum(sum) / p.width;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        if ((i * 32 + lane) * kCount >= p.width) break;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            values[i][k] -= middle;
            squares += values[i][k] * values[i][k];
        }
    }
    const float scale = rsqrtf(warp_sum(squares) / p.width + p.eps);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at >= p.width) break;
#pragma unroll
        for (int k = 0; k < kCount; ++k) values[i][k] *= scale;
        store<kCount>(p.normed + row * p.width + at, values[i]);
    }
}

template <typename T>
__device__ __forceinline__ void normalize_tokens(const Tokens<T>& p, long long rows) {
    constexpr int kCount = kVectorSize<T>;
    const long long row = 1ll * blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;  // a whole warp
    float values[kMostElements / kCount][kCount];
    normalize_token(p, row, values);
}

// The same, and the means of the norms of square groups: of sample blockIdx.y, the group
// blockIdx.x of a picture of `high` by `wide` tokens. means: [samples, groups, width]; sums: shared,
// where each warp adds up its tokens, since registers for that would halve the blocks at work.
template <typename T>
__device__ __forceinline__ void normalize_groups(const Tokens<T>& p, T* means, float* sums,
                                                 int high, int wide, int stride) {
    constexpr int kCount = kVectorSize<T>, kVectors = kMostElements / kCount;
    const int across = (wide + stride - 1) / stride, warp = threadIdx.x / 32;
    const int top = blockIdx.x / across * stride, left = blockIdx.x % across * stride;
    const int rows = min(stride, high - top), columns = min(stride, wide - left);
    const long long first = 1ll * blockIdx.y * p.tokens;
    float* own = sums + warp * kMostWidth;
    for (int n = warp; n < rows * columns; n += kWarps) {
        float values[kVectors][kCount];
        normalize_token(p, first + (top + n / columns) * wide + left + n % columns, values);
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
            const int at = (i * 32 + threadIdx.x % 32) * kCount;
            if (at >= p.width) break;
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                own[at + k] = n == warp ? values[i][k] : own[at + k] + values[i][k];
        }
    }
    __syncthreads();
    const long long to = (1ll * blockIdx.y * gridDim.x + blockIdx.x) * p.width;
    for (int at = threadIdx.x * kCount; at < p.width; at += kTokenThreads * kCount) {
        float mean[kCount];
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            float sum = 0;
#pragma unroll
            for (int w = 0; w < kWarps; ++w)
                if (w < rows * columns) sum += sums[w * kMostWidth + at + k];
            mean[k] = sum / (rows * columns);
        }
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

}  // namespace styleforge

extern "C" __global__ void __launch_bounds__(128)
    styleforge_token_norm(const void* x, const void* residual, const float* mean,
                          const float* inverse, const float* weight, const float* bias, void* y,
                          void* normed, long long type, long long rows, long long tokens,
                          long long width, double eps) {
    using namespace styleforge;
    with_element(type, [&](auto element) {
        using T = decltype(element);
        const Tokens<T> p{static_cast<const T*>(x), static_cast<const T*>(residual), mean, inverse,
                          weight, bias, static_cast<T*>(y), static_cast<T*>(normed), tokens,
                          static_cast<int>(width), static_cast<float>(eps)};
        normalize_tokens(p, rows);
    });
}

extern "C" __global__ void __launch_bounds__(128, 6)
    styleforge_pooled_token_norm(const void* x, const void* residual, const float* mean,
                                 const float* inverse, const float* weight, const float* bias,
                                 void* y, void* normed, void* means, long long type,
                                 long long high, long long wide, long long stride, long long width,
                                 double eps) {
    using namespace styleforge;
    __shared__ float sums[kWarps * kMostWidth];
    with_element(type, [&](auto element) {
        using T = decltype(element);
        const Tokens<T> p{static_cast<const T*>(x), static_cast<const T*>(residual), mean, inverse,
                          weight, bias, static_cast<T*>(y), static_cast<T*>(normed), high * wide,
                          static_cast<int>(width), static_cast<float>(eps)};
        normalize_groups(p, static_cast<T*>(means), sums, static_cast<int>(high),
                         static_cast<int>(wide), static_cast<int>(stride));
    });
}
