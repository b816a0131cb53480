// Instance norm, affine, residual and ReLU; memory is read once wherever a plane fits on chip.
//
// A plane up to 32,768 elements is held in the registers of one block, up to eight times that in
// those of a cluster of blocks (sm_90 and up), which share their sums through one another's shared
// memory. Larger planes, and channels last, take statistics in parts and read x a second time,
// mostly from the L2 cache. All sums are of differences from the mean.
#include <math.h>

#include "include/common/dtypes.cuh"
#include "include/operations.h"
#include "include/common/plane_statistics.cuh"

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

// Sums over a block, or over all blocks of a cluster; every thread gets them.
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

// A block, or a cluster of p.parts blocks, for each plane [P]; a thread holds kElements of it.
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
    float sums[2] = {};  // about the center: what its rounding left, and squares
#pragma unroll
    for (int k = 0; k < kTurns; ++k)
        if ((k * kThreads + threadIdx.x) * kWidth < count)
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float d = v[k * kWidth + i] - center;
                sums[0] += d, sums[1] = fmaf(d, d, sums[1]);
            }
    total<kThreads, kCluster>(sums, slots[1], of_block + 1, parts);
    if (kCluster) arrive_at_cluster();  // no block ends while its sums are being read
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
                out[i] = value < floor ? floor : value;  // keeps NaN
            }
            store<kWidth>(y + at, out);
        }
    }
    if (kCluster) wait_for_cluster();
}

// The statistics of kPartSize elements of a plane to parts[plane][part].
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

// The statistics of a chunk of pixels to parts[n][chunk][c].
template <typename T, int kWidth>
__global__ void __launch_bounds__(kPixelThreads)
    parts_of_pixels(const T* x, PartialMoments* parts, const Cut cut) {
    __shared__ PartialMoments shared[kPixelThreads * kWidth];
    const int column = threadIdx.x % cut.columns, row = threadIdx.x / cut.columns;
    const int channel = (blockIdx.y * cut.columns + column) * kWidth;
    const long long begin = 1ll * blockIdx.x * cut.chunk, sample = blockIdx.z;
    const long long end = min(cut.pixels, begin + cut.chunk);
    const bool mine = row < cut.rows && channel < cut.channels;
    float center[kWidth] = {}, sum[kWidth] = {}, squares[kWidth] = {};
    int count = 0;
    if (mine && begin + row < end) {
        // Deviations from the median of the first three pixels: a single outlier must not be the
        // center.
        const T* from = x + sample * cut.pixels * cut.channels + channel;
        float second[kWidth], third[kWidth];
        const long long most = end - 1, at = begin + row;
        load<kWidth>(center, from + at * cut.channels);
        load<kWidth>(second, from + min(at + cut.rows, most) * cut.channels);
        load<kWidth>(third, from + min(at + 2ll * cut.rows, most) * cut.channels);
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
            center[i] =
                fmaxf(fminf(center[i], second[i]), fminf(fmaxf(center[i], second[i]), third[i]));
#pragma unroll 4
        for (long long q = at; q < end; q += cut.rows) {
            float v[kWidth];
            load<kWidth>(v, from + q * cut.channels);
#pragma unroll
            for (int i = 0; i < kWidth; ++i) {
                const float d = v[i] - center[i];
                sum[i] += d, squares[i] = fmaf(d, d, squares[i]);
            }
            ++count;
        }
    }
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
        shared[threadIdx.x * kWidth + i] =
            count ? moments_from_sums(static_cast<float>(count), center[i], sum[i], squares[i])
                  : PartialMoments{};
    __syncthreads();
    const int width = cut.columns * kWidth;
    for (int c = threadIdx.x; c < width; c += kPixelThreads) {
        const int at = blockIdx.y * width + c;
        if (at >= cut.channels) continue;
        TwoPassMoments total;
        for (int r = 0; r < cut.rows; ++r) total.add_to_mean(shared[r * width + c]);
        total.finish_mean();
        for (int r = 0; r < cut.rows; ++r) total.add_to_squares(shared[r * width + c]);
        parts[(sample * cut.chunks + blockIdx.x) * cut.channels + at] = total.part();
    }
}

// A warp for each plane: its parts to affine[n][c].
__global__ void __launch_bounds__(kMergeThreads)
    merge_planes(const PartialMomentsView parts, const AffineParameters a, Affine* affine,
                 int samples, int channels) {
    const int at = (blockIdx.x * kMergeThreads + threadIdx.x) / 32;
    if (at >= samples * channels) return;
    const PartialMoments merged = merge_partial_moments(parts, at / channels, at % channels);
    if (threadIdx.x % 32 == 0) affine[at] = affine_of(merged, a, at % channels);
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kPixelThreads)
    write_pixels(const Planes p, const Affine* affine, const Cut cut) {
    const int column = threadIdx.x % cut.columns, row = threadIdx.x / cut.columns;
    const int channel = (blockIdx.y * cut.columns + column) * kWidth;
    if (row >= cut.rows || channel >= cut.channels) return;
    const long long begin = 1ll * blockIdx.x * cut.chunk, sample = blockIdx.z;
    const long long end = min(cut.pixels, begin + cut.chunk);
    Affine own[kWidth];
#pragma unroll
    for (int i = 0; i < kWidth; ++i) own[i] = affine[sample * cut.channels + channel + i];
    const float floor = p.relu ? 0.f : -INFINITY;
    const T* x = static_cast<const T*>(p.x);
    const T* residual = static_cast<const T*>(p.residual);
#pragma unroll 4
    for (long long q = begin + row; q < end; q += cut.rows) {
        const long long at = (sample * cut.pixels + q) * cut.channels + channel;
        float v[kWidth], add[kWidth] = {};
        load<kWidth>(v, x + at);
        if (residual) load<kWidth>(add, residual + at);
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
            const float value = normalize(v[i], own[i]) + add[i];
            v[i] = value < floor ? floor : value;
        }
        store<kWidth>(static_cast<T*>(p.y) + at, v);
    }
}

// kWriteSize elements of a plane; every block merges the plane's parts for itself.
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

#ifndef __CUDACC_RTC__  // NVRTC compiles kernels alone: what launches them runs on the host

namespace styleforge {

bool aligned(const StyleforgeNorm& p, int type_bytes) {
    const auto fits = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % 16 == 0; };
    const long long inner = p.channels_last ? p.channels : p.pixels;
    return p.vectorized && fits(p.x) && fits(p.y) && fits(p.residual) &&
           inner * type_bytes % 16 == 0;
}

static long long divide_up(long long a, long long b) { return (a + b - 1) / b; }

int type_bytes(const StyleforgeNorm& p) { return p.type == kFloat ? 4 : 2; }

// About eight blocks for each multiprocessor, but chunks long enough that starting is not all.
Cut cut_of(const StyleforgeNorm& p) {
    Cut cut = {};
    const int width = aligned(p, type_bytes(p)) ? 16 / type_bytes(p) : 1;
    const long long vectors = divide_up(p.channels, width);
    cut.pixels = p.pixels, cut.channels = static_cast<int>(p.channels);
    cut.columns = static_cast<int>(vectors < 32 ? vectors : 32);
    cut.rows = kPixelThreads / cut.columns;
    const long long across = divide_up(vectors, cut.columns) * p.samples;
    const long long wanted = divide_up(8ll * p.multiprocessors, across);
    const long long least = 4ll * cut.rows;
    const long long chunk = divide_up(p.pixels, wanted);
    cut.chunk = static_cast<int>(chunk > least ? chunk : least);
    cut.chunks = static_cast<int>(divide_up(p.pixels, cut.chunk));
    return cut;
}

bool fits_on_chip(const StyleforgeNorm& p) {
    const long long block = 1ll * kPlaneThreads * kPlaneElements;
    return !p.channels_last && p.pixels <= block * (p.clusters ? kMostParts : 1);
}

AffineParameters parameters_of(const StyleforgeNorm& p) {
    return {p.gamma, p.beta, p.parameter_type, p.eps};
}

Planes planes_of(const StyleforgeNorm& p) {
    return {p.x, p.residual, p.y, parameters_of(p), p.pixels, static_cast<int>(p.channels),
            1,   p.relu};
}

template <typename T, int kThreads, int kElements, bool kVector>
int launch_whole(const StyleforgeNorm& p, cudaStream_t stream) {
    Planes planes = planes_of(p);
    planes.parts = static_cast<int>(divide_up(p.pixels, kThreads * kElements));
    const auto count = static_cast<unsigned>(p.samples * p.channels * planes.parts);
    if (planes.parts == 1) {
        whole_planes<T, kThreads, kElements, kVector, false>
            <<<count, kThreads, 0, stream>>>(planes);
        return cudaGetLastError();
    }
    cudaLaunchAttribute cluster = {};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = planes.parts, cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(count), config.blockDim = dim3(kThreads), config.stream = stream;
    config.attrs = &cluster, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, whole_planes<T, kThreads, kElements, kVector, true>, planes);
}

template <typename T, bool kVector>
int launch_planes(const StyleforgeNorm& p, cudaStream_t stream) {
    if (p.pixels <= 1024) return launch_whole<T, 128, 8, kVector>(p, stream);
    if (p.pixels <= 4096) return launch_whole<T, 512, 8, kVector>(p, stream);
    if (p.pixels <= 16384) return launch_whole<T, 1024, 16, kVector>(p, stream);
    if (fits_on_chip(p)) return launch_whole<T, kPlaneThreads, kPlaneElements, kVector>(p, stream);
    const auto parts = static_cast<int>(divide_up(p.pixels, kPartSize));
    const auto planes = static_cast<unsigned>(p.samples * p.channels);
    auto* scratch = static_cast<PartialMoments*>(p.scratch);
    parts_of_planes<T, kVector><<<planes * parts, kPartThreads, 0, stream>>>(
        static_cast<const T*>(p.x), scratch, p.pixels, parts);
    if (const int error = cudaGetLastError()) return error;
    const PartialMomentsView found = {scratch, p.channels * parts, parts, 1, parts};
    const auto blocks = static_cast<int>(divide_up(p.pixels, kWriteSize));
    write_planes<T, kVector>
        <<<planes * blocks, kWriteThreads, 0, stream>>>(planes_of(p), found, blocks);
    return cudaGetLastError();
}

int merge(const StyleforgeNorm& p, const PartialMomentsView& parts, void* affine,
          cudaStream_t stream) {
    const auto count = static_cast<int>(p.samples * p.channels);
    merge_planes<<<static_cast<unsigned>(divide_up(count, kMergeThreads / 32)), kMergeThreads, 0,
                   stream>>>(
        parts, parameters_of(p), static_cast<Affine*>(affine), static_cast<int>(p.samples),
        static_cast<int>(p.channels));
    return cudaGetLastError();
}

template <typename T, int kWidth>
int launch_write_pixels(const StyleforgeNorm& p, const Cut& cut, const void* affine,
                        cudaStream_t stream) {
    const dim3 grid(cut.chunks, static_cast<unsigned>(divide_up(p.channels, cut.columns * kWidth)),
                    static_cast<unsigned>(p.samples));
    write_pixels<T, kWidth>
        <<<grid, kPixelThreads, 0, stream>>>(planes_of(p), static_cast<const Affine*>(affine), cut);
    return cudaGetLastError();
}

template <typename T, int kWidth>
int launch_pixels(const StyleforgeNorm& p, cudaStream_t stream) {
    const Cut cut = cut_of(p);
    auto* parts = static_cast<PartialMoments*>(p.scratch);
    PartialMoments* affine = parts + p.samples * cut.chunks * p.channels;
    const dim3 grid(cut.chunks, static_cast<unsigned>(divide_up(p.channels, cut.columns * kWidth)),
                    static_cast<unsigned>(p.samples));
    parts_of_pixels<T, kWidth>
        <<<grid, kPixelThreads, 0, stream>>>(static_cast<const T*>(p.x), parts, cut);
    if (const int error = cudaGetLastError()) return error;
    const PartialMomentsView found = {parts, cut.chunks * p.channels, 1, p.channels, cut.chunks};
    if (const int error = merge(p, found, affine, stream)) return error;
    return launch_write_pixels<T, kWidth>(p, cut, affine, stream);
}

template <typename T>
int launch_norm(const StyleforgeNorm& p, cudaStream_t stream) {
    const bool vector = aligned(p, sizeof(T));
    if (p.channels_last)
        return vector ? launch_pixels<T, kVectorSize<T>>(p, stream)
                      : launch_pixels<T, 1>(p, stream);
    return vector ? launch_planes<T, true>(p, stream) : launch_planes<T, false>(p, stream);
}

// From statistics in parts[n][tile][c], as a convolution leaves them.
template <typename T>
int launch_finish(const StyleforgeNorm& p, const PartialMomentsView& parts, cudaStream_t stream) {
    const bool vector = aligned(p, sizeof(T));
    if (p.channels_last) {
        if (const int error = merge(p, parts, p.scratch, stream)) return error;
        const Cut cut = cut_of(p);
        return vector ? launch_write_pixels<T, kVectorSize<T>>(p, cut, p.scratch, stream)
                      : launch_write_pixels<T, 1>(p, cut, p.scratch, stream);
    }
    const auto blocks = static_cast<int>(divide_up(p.pixels, kWriteSize));
    const auto grid = static_cast<unsigned>(p.samples * p.channels * blocks);
    if (vector)
        write_planes<T, true><<<grid, kWriteThreads, 0, stream>>>(planes_of(p), parts, blocks);
    else
        write_planes<T, false><<<grid, kWriteThreads, 0, stream>>>(planes_of(p), parts, blocks);
    return cudaGetLastError();
}

PartialMomentsView parts_of_tiles(const StyleforgeNorm& p, const void* parts, int tiles) {
    return {static_cast<const PartialMoments*>(parts), tiles * p.channels, 1, p.channels, tiles};
}

}  // namespace styleforge

using namespace styleforge;

extern "C" {

long long styleforge_norm_scratch(const StyleforgeNorm* p) {
    if (p->channels_last)
        return (p->samples * cut_of(*p).chunks + p->samples) * p->channels *
               static_cast<long long>(sizeof(PartialMoments));
    if (fits_on_chip(*p)) return 0;
    return p->samples * p->channels * divide_up(p->pixels, kPartSize) *
           static_cast<long long>(sizeof(PartialMoments));
}

int styleforge_norm(const StyleforgeNorm* p, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    if (p->samples * p->channels * p->pixels == 0) return 0;
    switch (p->type) {
        case kFloat: return launch_norm<float>(*p, s);
        case kHalf: return launch_norm<__half>(*p, s);
        case kBFloat16: return launch_norm<__nv_bfloat16>(*p, s);
    }
    return cudaErrorInvalidValue;
}

int styleforge_finish_norm(const StyleforgeNorm* p, const void* parts, int tiles, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    const PartialMomentsView found = parts_of_tiles(*p, parts, tiles);
    switch (p->type) {
        case kFloat: return launch_finish<float>(*p, found, s);
        case kHalf: return launch_finish<__half>(*p, found, s);
        case kBFloat16: return launch_finish<__nv_bfloat16>(*p, found, s);
    }
    return cudaErrorInvalidValue;
}

int styleforge_merge_norm(const StyleforgeNorm* p, const void* parts, int tiles, void* affine,
                          void* stream) {
    return merge(*p, parts_of_tiles(*p, parts, tiles), affine, static_cast<cudaStream_t>(stream));
}

}  // extern "C"

#endif  // __CUDACC_RTC__
