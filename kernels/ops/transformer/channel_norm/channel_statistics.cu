// Mean and variance of each channel of channels-last pictures, in two launches: chunks of pixels,
// then their merge in a fixed order; and the norm of such pictures from given moments. References:
// ops/transformer/statistics.py and channel_norm.py.
#include "include/common/pixel_statistics.cuh"
#include "include/common/pixel_writing.cuh"

namespace styleforge {

template <typename T, int kWidth>
__device__ __forceinline__ void measure(const void* x, float4* parts, const Cut& cut,
                                        void* shared) {
    measure_pixels<T, kWidth>(static_cast<const T*>(x), parts, cut,
                              *static_cast<PixelSums<kWidth>*>(shared));
}

}  // namespace styleforge

// x: [samples, pixels, channels]; parts: [samples, chunks, channels]. Blocks along x are chunks,
// along y groups of channels, along z samples; `columns` counts threads.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channel_parts(const void* x, float4* parts, long long type, int vectors,
                             long long pixels, long long channels, long long columns,
                             long long chunk) {
    using namespace styleforge;
    __shared__ PixelSums<kVectorSize<__half>> shared;  // the largest type
    Cut cut{pixels};
    cut.channels = static_cast<int>(channels), cut.columns = static_cast<int>(columns);
    cut.rows = kPixelThreads / cut.columns, cut.chunk = static_cast<int>(chunk);
    cut.chunks = gridDim.x;
    if (type == kHalf && vectors)
        measure<__half, kVectorSize<__half>>(x, parts, cut, &shared);
    else if (type == kHalf)
        measure<__half, 1>(x, parts, cut, &shared);
    else if (type == kBFloat16 && vectors)
        measure<__nv_bfloat16, kVectorSize<__nv_bfloat16>>(x, parts, cut, &shared);
    else if (type == kBFloat16)
        measure<__nv_bfloat16, 1>(x, parts, cut, &shared);
    else if (vectors)
        measure<float, kVectorSize<float>>(x, parts, cut, &shared);
    else
        measure<float, 1>(x, parts, cut, &shared);
}

// One block per kMergedPlanes channels. mean, spread: channel (n, c) at n * of_sample + c *
// of_channel. spread is the variance or, with `inverts`, the reciprocal deviation, with eps added
// to the variance.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channel_merge(const float4* parts, float* mean, float* spread, long long samples,
                             long long channels, long long chunks, long long of_sample,
                             long long of_channel, int inverts, double eps) {
    using namespace styleforge;
    __shared__ MergeSums shared;
    const int at = blockIdx.x * kMergedPlanes + threadIdx.x % kMergedPlanes;
    const bool exists = at < samples * channels;
    const int width = static_cast<int>(channels), sample = at / width, channel = at % width;
    const PartialMomentsView view{parts, chunks * channels, 1, channels, static_cast<int>(chunks)};
    const PartialMoments merged = merge_by_block(view, sample, channel, exists, shared);
    if (!exists || threadIdx.x >= kMergedPlanes) return;
    const long long to = sample * of_sample + channel * of_channel;
    const float variance = merged.w / merged.x;
    mean[to] = merged.y;
    spread[to] = inverts ? rsqrtf(variance + static_cast<float>(eps)) : variance;
}

namespace styleforge {

constexpr int kMostGroups = 12;

struct AffineOfBlock {
    float center[kPixelThreads], scale[kPixelThreads], shift[kPixelThreads];
};

// Returns the affine of a channel from the moments of `groups` parts: count, mean, sum of squared
// deviations, -. They are merged relative to the first part's mean, which stays the center.
__device__ __forceinline__ Affine affine_of_groups(const float4* from, int groups, int channels,
                                                   float gamma, float beta, float eps) {
    float4 item[kMostGroups];
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i)
        item[i] = i < groups ? from[1ll * i * channels] : float4{0, 0, 0, 0};
    const float center = item[0].y;
    float count = 0, rest = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) count += item[i].x;
    const float part = 1 / count;
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) rest += item[i].x * part * (item[i].y - center);
#pragma unroll
    for (int i = 0; i < kMostGroups; ++i) {
        const float off = item[i].y - center - rest;
        squares += item[i].z + item[i].x * off * off;
    }
    const float scale = gamma * rsqrtf(squares * part + eps);
    return {center, scale, fmaf(-rest, scale, beta), 0.f};
}

template <typename T, int kWidth>
__device__ __forceinline__ void normalize_pixels(const Planes& p, const float4* moments, int groups,
                                                 const Cut& cut, const Margin& margin,
                                                 AffineOfBlock& shared) {
    const int width = cut.columns * kWidth, first = blockIdx.y * width;
    for (int c = threadIdx.x; c < width && first + c < cut.channels; c += kPixelThreads) {
        const int at = first + c;
        const float4* from = moments + 1ll * blockIdx.z * groups * cut.channels + at;
        const Affine affine = affine_of_groups(
            from, groups, cut.channels, load_parameter(p.affine.gamma, p.affine.type, at, 1.f),
            load_parameter(p.affine.beta, p.affine.type, at, 0.f), p.affine.eps);
        shared.center[c] = affine.x, shared.scale[c] = affine.y, shared.shift[c] = affine.z;
    }
    __syncthreads();
    const int channel = first_channel<kWidth>(cut);
    if (!is_at_work(cut, channel)) return;
    Affine own[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) {
        const int c = channel - first + i;
        own[i] = {shared.center[c], shared.scale[c], shared.shift[c], 0.f};
    }
    write_chunk<T, kWidth>(p, own, cut, margin, channel);
}

}  // namespace styleforge

// relu(norm(x) + residual) with a reflected margin. x, residual: [samples, height, width,
// channels]; moments: [samples, groups, channels]; weight, bias: [channels]. Blocks as above, over
// the output.
extern "C" __global__ void __launch_bounds__(256, 3)
    styleforge_channel_norm(const void* x, const void* residual, const float4* moments,
                            const float* weight, const float* bias, void* y, long long type,
                            int vectors, int relu, long long height, long long width,
                            long long channels, long long pad, long long groups, long long columns,
                            long long chunk, double eps) {
    using namespace styleforge;
    __shared__ AffineOfBlock shared;
    const Margin margin{static_cast<int>(height), static_cast<int>(width), static_cast<int>(pad), 0};
    Cut cut{(height + 2 * pad) * (width + 2 * pad)};
    cut.channels = static_cast<int>(channels), cut.columns = static_cast<int>(columns);
    cut.rows = kPixelThreads / cut.columns, cut.chunk = static_cast<int>(chunk);
    const AffineParameters affine{weight, bias, kFloat, static_cast<float>(eps)};
    const Planes p{x, residual, y, affine, height * width, cut.channels, 1, relu};
    const int count = static_cast<int>(groups);
    if (type == kHalf && vectors)
        normalize_pixels<__half, kVectorSize<__half>>(p, moments, count, cut, margin, shared);
    else if (type == kHalf)
        normalize_pixels<__half, 1>(p, moments, count, cut, margin, shared);
    else if (type == kBFloat16 && vectors)
        normalize_pixels<__nv_bfloat16, kVectorSize<__nv_bfloat16>>(p, moments, count, cut, margin,
                                                                    shared);
    else if (type == kBFloat16)
        normalize_pixels<__nv_bfloat16, 1>(p, moments, count, cut, margin, shared);
    else if (vectors)
        normalize_pixels<float, kVectorSize<float>>(p, moments, count, cut, margin, shared);
    else
        normalize_pixels<float, 1>(p, moments, count, cut, margin, shared);
}
