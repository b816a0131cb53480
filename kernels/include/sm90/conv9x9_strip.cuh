// The first and the last layer, for Hopper (sm_90a): 9x9, few channels on one side. Their 64 rows
// are 32 channels, or nine columns of the kernel times three colours, for two rows of pixels; ten
// rows of the kernel then serve both. Blocks sweep down a strip, so each row of x is loaded once.
#pragma once

#include "traits.cuh"
#include "../common/welford.cuh"

namespace styleforge {

struct Ends {
    const void* x;       // first: [N, H, W, 3]; last: [N, H', W', 32] raw
    Norm norm;           // last: of x
    const void* weight;  // [10 rows][part][64][8]
    const float* bias;   // last: [3]
    void* y;             // first: [N, H', W', 32] raw; last: [N, H, W, 3]
    Entries statistics;  // first
    int* range;          // [N, 3] see Span
    int height, width;   // of the picture
    int padded_height, padded_width;  // H' and W': rounded up to multiples of 4
    int strips, rows;    // strips side by side; rows of a block, an even number
};

constexpr int kSweepLoaders = 256, kKernelRows = 10;

template <typename M_, int kColumns_, int kRing_, bool kFirst>
struct Sweep {
    using M = M_;
    static constexpr int kColumns = kColumns_, kRing = kRing_;  // the ring holds pairs of rows
    static constexpr int kAllParts = 4 * M::kCopies, kPlane = (kColumns | 1) * 16;
    static constexpr int kRowBytes = kAllParts * kPlane;
    static constexpr int kSlotBytes = (2 * kRowBytes + 127) / 128 * 128;
    static constexpr int kWeightRow = kAllParts * 1024, kWeightBytes = kKernelRows * kWeightRow;
    static constexpr int kWidth = kFirst ? kColumns : kColumns - 8;  // of a strip
    static constexpr int kChunk = M::kWide ? 64 : 128;  // pixels staged at a time
    static constexpr int kStagingOfGroup = kChunk * M::kPitch;
    static constexpr int kStaging = kFirst ? 2 * kStagingOfGroup : 54 * kColumns * 4;
    static constexpr int kStagingSpace = (kStaging + 127) / 128 * 128;
    // First: a row of colours, and the same again one element on, so that words can be read.
    static constexpr int kColours = kColumns * 3 + 32, kSources = M::kCopies;
    static constexpr int kColourBytes = kFirst ? 2 * 2 * 2 * kSources * kColours * 2 : 0;
    static constexpr int kThreads = kConsumers + kSweepLoaders;
    static constexpr int kSharedBytes =
        kWeightBytes + kStagingSpace + kRing * kSlotBytes + kColourBytes;
    static_assert(kRing >= 6 && kSharedBytes + 1024 <= kMostShared);
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <typename W>
struct SweepRing {
    uint64_t full[W::kRing], empty[W::kRing], weights, staged;
};

template <typename W>
__device__ __forceinline__ void begin_sweep(SweepRing<W>& ring, const Ends& p, unsigned char* weights) {
    if (threadIdx.x == 0) {
        for (int i = 0; i < W::kRing; ++i)
            begin_barrier(&ring.full[i], kSweepLoaders / 32 * kArrivals),
                begin_barrier(&ring.empty[i], 8 * kArrivals);
        begin_barrier(&ring.weights, 1), begin_barrier(&ring.staged, 4 * kArrivals);
    }
    publish_to_tensor_cores();
    __syncthreads();
    let_next_layer_start();
    if (threadIdx.x == 0) {
        expect_bytes(&ring.weights, W::kWeightBytes);
        for (int i = 0; i < kKernelRows; ++i)
            copy_bulk(weights + i * W::kWeightRow,
                      static_cast<const unsigned char*>(p.weight) + i * W::kWeightRow,
                      W::kWeightRow, &ring.weights);
    }
}

// The products of every second pair of rows; `done(pair, acc)` takes them.
template <typename W, typename Done>
__device__ __forceinline__ void multiply_rows(unsigned char* slots, unsigned char* weights,
                                              SweepRing<W>& ring, int pairs, Done done) {
    const int group = threadIdx.x / 128;
    const uint32_t a_from = shared_address(weights), b_from = shared_address(slots);
    if (group == 1) arrive_as_warp(&ring.empty[0]);  // as if it had used it for the pair before
    wait_for(&ring.weights, 0);
    int seen = 0;
    for (int pair = group; pair < pairs; pair += 2) {
        for (; seen < pair + 5; ++seen)
            wait_for(&ring.full[seen % W::kRing], seen / W::kRing % 2);
        float acc[W::kColumns / 2] = {};
        begin_products();
#pragma unroll
        for (int row = 0; row < kKernelRows; ++row)
            multiply_step<typename W::M, W::kColumns, 2>(
                acc, a_from + row * W::kWeightRow, 1024,
                b_from + (pair + row / 2) % W::kRing * W::kSlotBytes + row % 2 * W::kRowBytes,
                W::kPlane, 128);
        commit_products();
        wait_for_products<0>();
        arrive_as_warp(&ring.empty[pair % W::kRing]);
        arrive_as_warp(&ring.empty[(pair + 1) % W::kRing]);
        done(pair, acc);
    }
}

__device__ __forceinline__ float as_float(uint8_t v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ __forceinline__ float as_float(float v) { return v; }

__device__ __forceinline__ void put(uint8_t* to, float v) {
    *to = static_cast<uint8_t>(fminf(fmaxf(v, 0.f), 255.f) + 0.5f);
}
__device__ __forceinline__ void put(__half* to, float v) { *to = __float2half(v); }
__device__ __forceinline__ void put(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }
__device__ __forceinline__ void put(float* to, float v) { *to = v; }

template <typename O>
__device__ __forceinline__ O rounded(float v);
template <>
__device__ __forceinline__ __half rounded<__half>(float v) { return __float2half(v); }
template <>
__device__ __forceinline__ __nv_bfloat16 rounded<__nv_bfloat16>(float v) {
    return __float2bfloat16(v);
}

// Rows of the frame, unfolded: a pixel's 32 values are the colours of its row of the kernel.
template <typename W, typename In>
__device__ __forceinline__ void unfold_rows(const Ends& p, unsigned char* slots,
                                            unsigned char* colours, SweepRing<W>& ring, int from_x,
                                            int from_y, int count) {
    using M = typename W::M;
    using O = typename M::O;
    constexpr int kTurns = (W::kColours + kSweepLoaders - 1) / kSweepLoaders;
    constexpr int kRowOfColours = 2 * W::kSources * W::kColours;  // elements
    const int thread = threadIdx.x - kConsumers;
    const In* x = static_cast<const In*>(p.x) +
                  static_cast<size_t>(blockIdx.z) * p.height * p.width * 3;
    int column[kTurns];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int e = thread + k * kSweepLoaders;
        // Mirrored twice: at the edge of the padded picture, then at that of the frame.
        column[k] = mirror(mirror(from_x - 4 + e / 3, p.padded_width), p.width) * 3 + e % 3;
    }
    In value[2][kTurns];
    const auto load = [&](int slot) {
#pragma unroll
        for (int row = 0; row < 2; ++row) {
            const int y = mirror(mirror(from_y - 4 + slot * 2 + row, p.padded_height), p.height);
#pragma unroll
            for (int k = 0; k < kTurns; ++k) value[row][k] = x[y * p.width * 3 + column[k]];
        }
    };
    load(0);
    Turn<W::kRing> turn;
    for (int slot = 0; slot < count; ++slot, turn.next()) {
        O* rows = reinterpret_cast<O*>(colours) + slot % 2 * 2 * kRowOfColours;
#pragma unroll
        for (int row = 0; row < 2; ++row)
#pragma unroll
            for (int k = 0; k < kTurns; ++k) {
                const int e = thread + k * kSweepLoaders;
                if (e >= W::kColours) continue;
                const float v = as_float(value[row][k]);
                const O high = rounded<O>(v);
                O* to = rows + row * kRowOfColours + e;
                to[0] = high;
                if (e) to[W::kColours - 1] = high;
                if constexpr (M::kSplit) {
                    const O low = rounded<O>(v - as_float(high));
                    to[2 * W::kColours] = low;
                    if (e) to[3 * W::kColours - 1] = low;
                }
            }
        if (slot + 1 < count) load(slot + 1);
        meet<kSweepLoaders>(4);
        wait_for(&ring.empty[turn.at], turn.parity ^ 1);
#pragma unroll 4
        for (int i = thread; i < 2 * W::kAllParts * W::kColumns; i += kSweepLoaders) {
            const int pixel = i % W::kColumns, part = i / W::kColumns % W::kAllParts;
            const int row = i / (W::kColumns * W::kAllParts);
            const int start = pixel * 3 + part % 4 * 8;
            const auto* from = reinterpret_cast<const uint32_t*>(
                rows + row * kRowOfColours + part / 4 * 2 * W::kColours +
                (start % 2 ? W::kColours + start - 1 : start));
            *reinterpret_cast<uint4*>(slots + turn.at * W::kSlotBytes + row * W::kRowBytes +
                                      part * W::kPlane + pixel * 16) = {from[0], from[1], from[2],
                                                                        from[3]};
        }
        publish_to_tensor_cores();
        __syncwarp();
        arrive_as_warp(&ring.full[turn.at]);
    }
}

// Rows of the last layer's input, normalised.
template <typename W>
__device__ __forceinline__ void normalise_rows(const Ends& p, unsigned char* slots,
                                               SweepRing<W>& ring, int from_x, int from_y,
                                               int count) {
    using M = typename W::M;
    using S = typename M::S;
    constexpr int kPixels = kSweepLoaders / 4;
    constexpr int kTurns = (2 * W::kColumns + kPixels - 1) / kPixels;
    __shared__ float2 affine[32];
    const int thread = threadIdx.x - kConsumers, part = thread % 4;
    const S* x = static_cast<const S*>(p.x) +
                 static_cast<size_t>(blockIdx.z) * p.padded_height * p.padded_width * 32 + part * 8;
    int column[kTurns];
#pragma unroll
    for (int k = 0; k < kTurns; ++k)
        column[k] = mirror(from_x - 4 + (thread / 4 + k * kPixels) % W::kColumns, p.padded_width);
    Eight<S> value[kTurns];
    const auto load = [&](int slot) {
        int row[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
            row[i] = mirror(from_y - 4 + slot * 2 + i, p.padded_height) * p.padded_width;
#pragma unroll
        for (int k = 0; k < kTurns; ++k) {
            const int q = thread / 4 + k * kPixels;
            if (q < 2 * W::kColumns)
                value[k].load(x + 32 * static_cast<size_t>(row[q >= W::kColumns] + column[k]));
        }
    };
    load(0);
    if (thread < 32) affine[thread] = merged_norm<32>(p.norm, blockIdx.z, thread);
    meet<kSweepLoaders>(4);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    Turn<W::kRing> turn;
    for (int slot = 0; slot < count; ++slot, turn.next()) {
        wait_for(&ring.empty[turn.at], turn.parity ^ 1);
        unsigned char* to = slots + turn.at * W::kSlotBytes + part * W::kPlane;
#pragma unroll
        for (int k = 0; k < kTurns; ++k) {
            const int q = thread / 4 + k * kPixels;
            if (q >= 2 * W::kColumns) continue;
            activate<M, false>(to + (q < W::kColumns ? q * 16 : W::kRowBytes + (q - W::kColumns) * 16),
                               4 * W::kPlane, value[k], value[k], own, nullptr, false);
        }
        if (slot + 1 < count) load(slot + 1);
        publish_to_tensor_cores();
        __syncwarp();
        arrive_as_warp(&ring.full[turn.at]);
    }
}

#endif

template <typename W, typename In>
__global__ void __launch_bounds__(W::kThreads, 1) sweep_first(const Ends p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    using M = typename W::M;
    using S = typename M::S;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared;
    unsigned char* staging = weights + W::kWeightBytes;
    unsigned char* slots = staging + W::kStagingSpace;
    unsigned char* colours = slots + W::kRing * W::kSlotBytes;
    __shared__ SweepRing<W> ring;
    begin_sweep<W>(ring, p, weights);
    const int sample = blockIdx.z;
    const int from_x = blockIdx.x % p.strips * W::kWidth, from_y = blockIdx.x / p.strips * p.rows;
    const int pairs = min(p.rows, p.padded_height - from_y) / 2;
    if (threadIdx.x >= kConsumers) {
        wait_for_previous_layer();
        if (blockIdx.x == 0 && threadIdx.x == kConsumers) Span::clear(p.range + sample * 3);
        unfold_rows<W, In>(p, slots, colours, ring, from_x, from_y, pairs + 4);
        return;
    }
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    const int valid = p.padded_width - from_x;
    unsigned char* own = staging + group * W::kStagingOfGroup;
    Spread spread;
    multiply_rows<W>(slots, weights, ring, pairs, [&](int pair, float(&acc)[W::kColumns / 2]) {
        spread.add_row<W::kColumns>(acc, valid);
        constexpr int kChunk = W::kChunk;
        constexpr int kPieces = 64 * sizeof(S) / 16;
        const int piece = threadIdx.x % kPieces, below = piece / (kPieces / 2);
        auto* y = static_cast<S*>(p.y) +
                  ((static_cast<size_t>(sample) * p.padded_height + from_y + pair * 2 + below) *
                       p.padded_width + from_x) * 32;
#pragma unroll 1
        for (int chunk = 0; chunk < W::kColumns / kChunk; ++chunk) {
            stage<M, W::kColumns, kChunk>(acc, own, chunk);
            meet<128>(2 + group);
#pragma unroll 4
            for (int q = threadIdx.x % 128 / kPieces; q < kChunk; q += 128 / kPieces) {
                const int column = chunk * kChunk + q;
                if (column < valid)
                    reinterpret_cast<uint4*>(y + column * 32)[piece % (kPieces / 2)] =
                        *reinterpret_cast<const uint4*>(own + q * M::kPitch + piece * 16);
            }
            meet<128>(2 + group);
        }
    });
    leave_statistics<32>(p.statistics, spread, sample, group * 64 + warp * 16 + lane / 4,
                         reinterpret_cast<float4*>(staging));
#endif
}

template <typename W, typename Out>
__global__ void __launch_bounds__(W::kThreads, 1) sweep_last(const Ends p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared;
    float* staging = reinterpret_cast<float*>(weights + W::kWeightBytes);
    unsigned char* slots = weights + W::kWeightBytes + W::kStagingSpace;
    __shared__ SweepRing<W> ring;
    begin_sweep<W>(ring, p, weights);
    const int sample = blockIdx.z;
    const int from_x = blockIdx.x % p.strips * W::kWidth, from_y = blockIdx.x / p.strips * p.rows;
    const int pairs = (min(p.rows, p.height - from_y) + 1) / 2;
    if (threadIdx.x >= kConsumers) {
        wait_for_previous_layer();
        normalise_rows<W>(p, slots, ring, from_x, from_y, pairs + 4);
        return;
    }
    const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    auto* y = static_cast<Out*>(p.y) + static_cast<size_t>(sample) * p.height * p.width * 3;
    Span span;
    float bias[3];
#pragma unroll
    for (int c = 0; c < 3; ++c) bias[c] = __ldg(p.bias + c);
    multiply_rows<W>(slots, weights, ring, pairs, [&](int pair, float(&acc)[W::kColumns / 2]) {
        // The warpgroups take turns with the staging area, pair by pair.
        if (pair > 0) wait_for(&ring.staged, (pair - 1) % 2);
        const int row = warp * 16 + lane / 4;
#pragma unroll
        for (int h = 0; h < 2; ++h)
            if (row + h * 8 < 54)
#pragma unroll
                for (int j = 0; j < W::kColumns / 8; ++j)
                    *reinterpret_cast<float2*>(staging + (row + h * 8) * W::kColumns + j * 8 +
                                               lane % 4 * 2) = {acc[j * 4 + h * 2],
                                                                acc[j * 4 + h * 2 + 1]};
        meet<128>(2 + group);
        for (int i = threadIdx.x % 128; i < 2 * W::kWidth; i += 128) {
            const int x = i % W::kWidth, below = i / W::kWidth, oy = from_y + pair * 2 + below;
            float sum[3] = {bias[0], bias[1], bias[2]};
#pragma unroll
            for (int tap = 0; tap < 9; ++tap)
#pragma unroll
                for (int c = 0; c < 3; ++c)
                    sum[c] += staging[(below * 27 + tap * 3 + c) * W::kColumns + x + tap];
            if (from_x + x >= p.width || oy >= p.height) continue;
            Out* to = y + (static_cast<size_t>(oy) * p.width + from_x + x) * 3;
#pragma unroll
            for (int c = 0; c < 3; ++c) span.add(sum[c]), put(to + c, sum[c]);
        }
        __syncwarp();
        arrive_as_warp(&ring.staged);
    });
    span.leave(p.range + sample * 3);
#endif
}

}  // namespace styleforge
