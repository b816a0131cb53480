// The mean and the variance of each channel of pictures whose channels come last, in two launches:
// chunks of pixels, then the merge of these, in a fixed order. What they compute is the reference
// in ops/transformer/statistics.py.
#include "include/common/pixel_statistics.cuh"

namespace styleforge {

template <typename T, int kWidth>
__device__ __forceinline__ void measure(const void* x, float4* parts, const Cut& cut,
                                        void* shared) {
    measure_pixels<T, kWidth>(static_cast<const T*>(x), parts, cut,
                              *static_cast<PixelSums<kWidth>*>(shared));
}

}  // namespace styleforge

// x: [samples, pixels, channels]; parts: [samples, chunks, channels]. Blocks along x are chunks,
// along y groups of channels, along z samples; columns are of threads.
extern "C" __global__ void __launch_bounds__(256)
    styleforge_channel_parts(const void* x, float4* parts, long long type, int vectors,
                             long long pixels, long long channels, long long columns,
                             long long chunk) {
    using namespace styleforge;
    __shared__ PixelSums<kVectorSize<__half>> shared;  // the largest
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

// A block for kMergedPlanes channels. mean, spread: of channel (n, c) at n * of_sample +
// c * of_channel; spread is the variance or, where `inverts`, the reciprocal of the deviation, with
// eps added to the variance.
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
