// Layer norm of tokens, and in front of it what makes them: a norm over the picture whose statistics
// are given, scale, shift and a residual. One warp for each token, which is read once.
#include "include/common/dtypes.cuh"

namespace styleforge {

constexpr int kMostElements = 32;  // of a token that a thread holds
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
__device__ __forceinline__ void token_norm(const T* x, const T* residual, const float* mean,
                                           const float* inverse, const float* weight,
                                           const float* bias, T* y, T* normed, long long rows,
                                           long long tokens, int width, float eps) {
    constexpr int kCount = kVectorSize<T>, kVectors = kMostElements / kCount;
    const long long row = 1ll * blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;  // a whole warp
    const int lane = threadIdx.x % 32;
    const long long statistics = row / tokens * width;
    float values[kVectors][kCount];
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at >= width) break;
        load<kCount>(values[i], x + row * width + at);
        float added[kCount] = {};
        if (residual != nullptr) load<kCount>(added, residual + row * width + at);
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            float value = values[i][k];
            if (mean != nullptr)
                value = (value - mean[statistics + at + k]) * inverse[statistics + at + k];
            if (weight != nullptr) value *= weight[at + k];
            if (bias != nullptr) value += bias[at + k];
            values[i][k] = value + added[k];
            sum += values[i][k];
        }
        store<kCount>(y + row * width + at, values[i]);
    }
    const float middle = warp_sum(sum) / width;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        if ((i * 32 + lane) * kCount >= width) break;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            values[i][k] -= middle;
            squares += values[i][k] * values[i][k];
        }
    }
    const float scale = rsqrtf(warp_sum(squares) / width + eps);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
        const int at = (i * 32 + lane) * kCount;
        if (at >= width) break;
#pragma unroll
        for (int k = 0; k < kCount; ++k) values[i][k] *= scale;
        store<kCount>(normed + row * width + at, values[i]);
    }
}

}  // namespace styleforge

extern "C" __global__ void __launch_bounds__(128)
    styleforge_token_norm(const void* x, const void* residual, const float* mean,
                          const float* inverse, const float* weight, const float* bias, void* y,
                          void* normed, long long type, long long rows, long long tokens,
                          long long width, double eps) {
    using namespace styleforge;
    const auto run = [&](auto element) {
        using T = decltype(element);
        token_norm<T>(static_cast<const T*>(x), static_cast<const T*>(residual), mean, inverse,
                      weight, bias, static_cast<T*>(y), static_cast<T*>(normed), rows, tokens,
                      static_cast<int>(width), static_cast<float>(eps));
    };
    if (type == kHalf)
        run(__half{});
    else if (type == kBFloat16)
        run(__nv_bfloat16{});
    else
        run(0.f);
}
