// Instance norm, affine, residual and ReLU; memory is read once if a plane fits on chip.
//
// A block holds a plane of up to 32,768 elements in registers. A cluster of blocks (sm_90 and up)
// holds up to eight times that; its blocks exchange sums through distributed shared memory. Larger
// planes and channels-last pictures compute statistics in parts and read x a second time, mostly
// from the L2 cache. All sums are of differences from the mean.
#include <math.h>

#include "include/common/dtypes.cuh"
#include "include/common/pixel_statistics.cuh"
#include "include/common/pixel_writing.cuh"
#include "ops/style/operations.h"

namespace styleforge {

__device__ __forceinline__ uint32_t at_neighbor(const float* shared, int rank) {
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
#if __CUDA_ARCH__ >= 900
    asm volatile("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(address) : "r"(rank));
#endif
    return address;
}

__device__ __forceinline__ float load_remote(uint32_t address) {
    float v = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
#endif
    return v;
}

__device__ __forceinline__ void arrive_at_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Sums over a block, or over all blocks of a cluster; every thread gets the result.
template <int kThreads, bool kCluster, int kSums>
__device__ __forceinline__ void total(float (&v)[kSums], float* slots, float* of_block, int parts) {
    constexpr int kWarps = kThreads / 32;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int s = 0; s < kSums; ++s) {
        v[s] = warp_sum(v[s]);
        if (lane == 0) slots[s * kWarps + warp] = v[s];
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSums; ++s) v[s] = warp_sum(lane < kWarps ? slots[s * kWarps + lane] : 0);
    if (!kCluster) return;
    if (threadIdx.x == 0)
#pragma unroll
        for (int s = 0; s < kSums; ++s) of_block[s] = v[s];
    arrive_at_cluster();
    wait_for_cluster();
#pragma unroll
    for (int s = 0; s < kSums; ++s)
        v[s] = warp_sum(lane < parts ? load_remote(at_neighbor(of_block + s, lane)) : 0);
}

// One block, or a cluster of p.parts blocks, per plane [P]; a thread holds kElements of it.
template <typename T, int kThreads, int kElements, bool kVector, bool kCluster>
__global__ void __launch_bounds__(kThreads) whole_planes(const Planes p) {
    constexpr int kWidth = kVector ? kVectorSize<T> : 1, kTurns = kElements / kWidth;
    __shared__ float slots[3][kThreads / 32], of_block[3];
    const int parts = kCluster ? p.parts : 1;
    const long long plane = blockIdx.x / parts, part = blockIdx.x % parts;
    const long long begin = part * kThreads * kElements;
    const int count = static_cast<int>(min(p.pixels - begin, 1ll * kThreads * kElements));
    const T* x = static_cast<const T*>(p.x) + plane * p.pixels + begin;
    float v[kElements];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int at = (k * kThreads + threadIdx.x) * kWidth;
        if (at < count) {
            load<kWidth>(v + k * kWidth, x + at);
        } else {
#pragma unroll
            for (int i = 0; i < kWidth; ++i) v[k * kWidth + i] = 0;
        }
    }
    float sum[1] = {};
#pragma unroll
    for (int k = 0; k < kElements; ++k) sum[0] += v[k];
    total<kThreads, kCluster>(sum, slots[0], of_block, parts);
    const float center = sum[0] / static_cast<float>(p.pixels);
    float sums[2] = {};  // around the center: the rounding error of the mean, and the squares
#pragma unroll
    for (int k = 0; k < kTurns; ++k)
        if ((k * kThreads + threadIdx.x) * kWidth < count)
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float d = v[k * kWidth + i] - center;
                sums[0] += d, sums[1] = fmaf(d, d, sums[1]);
            }
    total<kThreads, kCluster>(sums, slots[1], of_block + 1, parts);
    if (kCluster) arrive_at_cluster();  // no block may exit while others read its sums
    const int channel = static_cast<int>(plane % p.channels);
    const Affine affine =
        affine_of(moments_from_sums(static_cast<float>(p.pixels), center, sums[0], sums[1]),
                  p.affine, channel);
    const float floor = p.relu ? 0.f : -INFINITY;
    const long long from = plane * p.pixels + begin;
    const T* residual = static_cast<const T*>(p.residual);
    T* y = static_cast<T*>(p.y) + from;
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int at = (k * kThreads + threadIdx.x) * kWidth;
        if (at < count) {
            float out[kWidth], add[kWidth] = {};
            if (residual) load<kWidth>(add, residual + from + at);
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float value = normalize(v[k * kWidth + i], affine) + add[i];
                out[i] = value < floor ? floor : value;  // NaN passes through
            }
            store<kWidth>(y + at, out);
        }
    }
    if (kCluster) wait_for_cluster();
}

// Writes the statistics of kPartSize elements of a plane to parts[plane][part].
template <typename T, bool kVector>
__global__ void __launch_bounds__(kPartThreads)
    parts_of_planes(const T* x, PartialMoments* parts, long long pixels, int count_of_parts) {
    constexpr int kThreads = kPartThreads, kElements = kPartSize / kThreads;
    constexpr int kWidth = kVector ? kVectorSize<T> : 1, kTurns = kElements / kWidth;
    __shared__ float slots[3][kThreads / 32];
    const long long plane = blockIdx.x / count_of_parts, part = blockIdx.x % count_of_parts;
    const int count = static_cast<int>(min(pixels - part * kPartSize, 1ll * kPartSize));
    x += plane * pixels + part * kPartSize;
    float v[kElements];
    float sum[1] = {};
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int at = (k * kThreads + threadIdx.x) * kWidth;
        if (at < count) {
            load<kWidth>(v + k * kWidth, x + at);
        } else {
#pragma unroll
            for (int i = 0; i < kWidth; ++i) v[k * kWidth + i] = 0;
        }
    }
#pragma unroll
    for (int k = 0; k < kElements; ++k) sum[0] += v[k];
    total<kThreads, false>(sum, slots[0], nullptr, 1);
    const float center = sum[0] / static_cast<float>(count);
    float sums[2] = {};
#pragma unroll
    for (int k = 0; k < kTurns; ++k)
        if ((k * kThreads + threadIdx.x) * kWidth < count)
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float d = v[k * kWidth + i] - center;
                sums[0] += d, sums[1] = fmaf(d, d, sums[1]);
            }
    total<kThreads, false>(sums, slots[1], nullptr, 1);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = moments_from_sums(static_cast<float>(count), center, sums[0], sums[1]);
}

// Writes the statistics of a chunk of pixels to parts[n][chunk][c].
template <typename T, int kWidth>
__global__ void __launch_bounds__(kPixelThreads)
    parts_of_pixels(const T* x, PartialMoments* parts, const Cut cut) {
    __shared__ PixelSums<kWidth> shared;
    measure_pixels<T, kWidth>(x, parts, cut, shared);
}

// One block per kMergedPlanes planes: merges their parts into affine[n][c].
__global__ void __launch_bounds__(kMergeThreads)
    merge_planes(const PartialMomentsView parts, const AffineParameters a, Affine* affine,
                 int samples, int channels) {
    __shared__ MergeSums shared;
    const int at = blockIdx.x * kMergedPlanes + threadIdx.x % kMergedPlanes;
    const bool exists = at < samples * channels;
    const PartialMoments merged =
        merge_by_block(parts, at / channels, at % channels, exists, shared);
    if (exists && threadIdx.x < kMergedPlanes) affine[at] = affine_of(merged, a, at % channels);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kPixelThreads, 3)
    write_pixels(const Planes p, const Affine* affine, const Cut cut, const Margin margin) {
    const int channel = first_channel<kWidth>(cut);
    if (!is_at_work(cut, channel)) return;
    Affine own[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
        own[i] = affine[1ll * blockIdx.z * cut.channels + channel + i];
    write_chunk<T, kWidth>(p, own, cut, margin, channel);
}

// Writes kWriteSize elements of a plane; every block merges the plane's parts itself.
template <typename T, bool kVector>
__global__ void __launch_bounds__(kWriteThreads)
    write_planes(const Planes p, const PartialMomentsView parts, int blocks) {
    constexpr int kWidth = kVector ? kVectorSize<T> : 1;
    constexpr int kTurns = kWriteSize / kWriteThreads / kWidth;
    __shared__ Affine shared;
    const long long plane = blockIdx.x / blocks;
    const int channel = static_cast<int>(plane % p.channels);
    if (threadIdx.x < 32) {
        const PartialMoments merged = merge_partial_moments(parts, plane / p.channels, channel);
        if (threadIdx.x == 0) shared = affine_of(merged, p.affine, channel);
    }
    __syncthreads();
    const Affine affine = shared;
    const long long begin = blockIdx.x % blocks * 1ll * kWriteSize;
    const int count = static_cast<int>(min(p.pixels - begin, 1ll * kWriteSize));
    const long long from = plane * p.pixels + begin;
    const float floor = p.relu ? 0.f : -INFINITY;
    const T* x = static_cast<const T*>(p.x);
    const T* residual = static_cast<const T*>(p.residual);
#pragma unroll 4
    for (int k = 0; k < kTurns; ++k) {
        const int at = (k * kWriteThreads + threadIdx.x) * kWidth;
        if (at >= count) break;
        float v[kWidth], add[kWidth] = {};
        load<kWidth>(v, x + from + at);
        if (residual) load<kWidth>(add, residual + from + at);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            const float value = normalize(v[i], affine) + add[i];
            v[i] = value < floor ? floor : value;
        }
        store<kWidth>(static_cast<T*>(p.y) + from + at, v);
    }
}

}  // namespace styleforge
