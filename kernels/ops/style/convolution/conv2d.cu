// Convolution as an implicit GEMM. It reflects (or repeats) the border while gathering x, can apply
// a norm and a ReLU to x, and can write statistics of the output. Any channels, strides, layout,
// odd or even kernel.
//
// Rows of the product are pixels, columns output channels. The depth runs over channels in slices
// of kDepth, and inside a slice over the taps, so that neighboring taps find x in the L1 cache.
// With fewer channels than a slice holds, the depth runs over taps and channels together.
#include "gather.cuh"
#include "tiles.cuh"
#include "include/common/dtypes.cuh"
#include "ops/style/operations.h"
#include "include/common/plane_statistics.cuh"
#include "include/common/ptx.cuh"

namespace styleforge {

// Copies 16 bytes to shared memory; from sm_80 on, bypassing registers.
__device__ __forceinline__ void fetch(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    cp_async_16B(smem_address(to), from);
#else
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads) conv2d_kernel(const Convolution c) {
    using T = typename Tile::Element;
    using Stored = typename Tile::Stored;
    constexpr int kRowsSize = Tile::kDepth * Tile::kRowPitch;
    constexpr int kColumnsSize = Tile::kDepth * Tile::kColumnPitch;
    constexpr int kShown = Tile::kColumns < 64 ? Tile::kColumns : 64, kPitch = Tile::kRows + 1;
    constexpr int kWork = 2 * (kRowsSize + kColumnsSize) * static_cast<int>(sizeof(Stored));
    constexpr int kOut = kShown * kPitch * 4, kBytes = kWork > kOut ? kWork : kOut;
    __shared__ __align__(16) unsigned char shared[kBytes];
    __shared__ int offsets[Tile::kRows];

    const StyleforgeConvolution& p = c.p;
    const int sample = blockIdx.z / p.phases, phase = blockIdx.z % p.phases;
    const int first_row = blockIdx.x * Tile::kRows, first_column = blockIdx.y * Tile::kColumns;
    const int shift_y = p.phases > 1 ? phase / 2 : 0, shift_x = p.phases > 1 ? phase % 2 : 0;
    const T* x = static_cast<const T*>(p.x) + sample * p.x_strides[0];
    const auto* affine = static_cast<const Affine*>(p.affine);
    if (affine) affine += sample * p.in_channels;

    Stored* rows = reinterpret_cast<Stored*>(shared);
    Stored* columns = rows + 2 * kRowsSize;
    const auto* packed = static_cast<const Stored*>(p.packed) +
                         (static_cast<size_t>(phase) * c.steps * Tile::kDepth) * c.padded_out +
                         first_column;
    const auto fetch_columns = [&](int step) {
        constexpr int kPerRow = Tile::kColumns * static_cast<int>(sizeof(Stored)) / 16;
        constexpr int kElements = 16 / static_cast<int>(sizeof(Stored));
        Stored* to = columns + step % 2 * kColumnsSize;
        for (int i = threadIdx.x; i < Tile::kDepth * kPerRow; i += Tile::kThreads) {
            const int depth = i / kPerRow, part = i % kPerRow * kElements;
            const size_t row = static_cast<size_t>(step) * Tile::kDepth + depth;
            fetch(to + depth * Tile::kColumnPitch + part, packed + row * c.padded_out + part);
        }
        cp_async_commit();
    };

    GatherOperand<Tile> operand;
    operand.find(p, first_row, shift_y, shift_x);
    Tile tile;
    fetch_columns(0);
    operand.gather(c, x, affine, 0);
    operand.store(rows);
    cp_async_wait<0>();
    __syncthreads();
    for (int step = 0; step < c.steps; ++step) {
        const bool more = step + 1 < c.steps;
        if (more) {
            fetch_columns(step + 1);
            operand.gather(c, x, affine, step + 1);
        }
        tile.multiply_slice(rows + step % 2 * kRowsSize, columns + step % 2 * kColumnsSize);
        tile.end_step(step, !more);
        if (more) operand.store(rows + (step + 1) % 2 * kRowsSize);
        cp_async_wait<0>();
        __syncthreads();
    }

    const int pixels = p.out_height * p.out_width, count = min(Tile::kRows, pixels - first_row);
    const int grow = p.phases > 1 ? 2 : 1;
    for (int m = threadIdx.x; m < count; m += Tile::kThreads) {
        const int row = (first_row + m) / p.out_width * grow + shift_y;
        const int column = (first_row + m) % p.out_width * grow + shift_x;
        offsets[m] =
            row * static_cast<int>(p.y_strides[2]) + column * static_cast<int>(p.y_strides[3]);
    }
    float* out = reinterpret_cast<float*>(shared);
    T* y = static_cast<T*>(p.y) + sample * p.y_strides[0];
    auto* parts = static_cast<PartialMoments*>(p.parts);
    if (parts) parts += (static_cast<size_t>(blockIdx.z) * c.tiles + blockIdx.x) * p.out_channels;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    constexpr int kWarps = Tile::kThreads / 32;
    for (int shown = 0; shown < Tile::kColumns; shown += kShown) {
        tile.store_columns(out, kPitch, shown, kShown);
        __syncthreads();
        const int begin = first_column + shown;
        const int end = min(kShown, p.out_channels - begin);
        for (int o = warp; o < end; o += kWarps) {
            const float bias = load_parameter(p.bias, p.type, begin + o, 0.f);
            float* channel = out + o * kPitch;
            if (p.bias)
                for (int m = lane; m < count; m += 32) channel[m] += bias;
            if (!parts) continue;
            float sum = 0;
            for (int m = lane; m < count; m += 32) sum += channel[m];
            const float center = warp_sum(sum) / static_cast<float>(count);
            float rest = 0, squares = 0;
            for (int m = lane; m < count; m += 32) {
                const float d = channel[m] - center;
                rest += d, squares = fmaf(d, d, squares);
            }
            rest = warp_sum(rest), squares = warp_sum(squares);
            if (lane == 0)
                parts[begin + o] =
                    moments_from_sums(static_cast<float>(count), center, rest, squares);
        }
        __syncthreads();
        const int of_channel = static_cast<int>(p.y_strides[1]);
        if (of_channel == 1) {  // channels last: neighboring threads, neighboring channels
            for (int i = threadIdx.x; i < kShown * count; i += Tile::kThreads) {
                const int o = i % kShown, m = i / kShown;
                if (o < end) y[offsets[m] + begin + o] = from_float<T>(out[o * kPitch + m]);
            }
        } else {
            for (int o = warp; o < end; o += kWarps)
                for (int m = lane; m < count; m += 32)
                    y[static_cast<long long>(begin + o) * of_channel + offsets[m]] =
                        from_float<T>(out[o * kPitch + m]);
        }
        __syncthreads();
    }
}

// Returns a tap of the 2x2 kernel of a phase of "nearest x2, 3x3": the sum of the 3x3 taps that
// read the same pixel. Per axis, 0 and 1+2 in phase 0, 0+1 and 2 in phase 1.
template <typename T>
__device__ float tap_of_phase(const T* weight, int tap, int phase) {
    const auto range = [](int at, int shift) {
        return at ? int2{1 + shift, 3} : int2{0, 1 + shift};
    };
    const int2 rows = range(tap / 2, phase / 2), columns = range(tap % 2, phase % 2);
    double sum = 0;
    for (int i = rows.x; i < rows.y; ++i)
        for (int j = columns.x; j < columns.y; ++j) sum += to_float(weight[i * 3 + j]);
    return static_cast<float>(sum);
}

// Packs [Cout, Cin, k, k] into [phases][steps * kDepth][padded Cout], in the order of the steps.
template <typename Tile>
__global__ void pack_weight_kernel(const Convolution c, const typename Tile::Element* weight,
                                   typename Tile::Stored* to) {
    const StyleforgeConvolution& p = c.p;
    const int depth = c.steps * Tile::kDepth;
    const long long size = static_cast<long long>(p.phases) * depth * c.padded_out;
    for (long long i = blockIdx.x * 1ll * blockDim.x + threadIdx.x; i < size;
         i += 1ll * gridDim.x * blockDim.x) {
        const int o = static_cast<int>(i % c.padded_out);
        const int k = static_cast<int>(i / c.padded_out % depth);
        const int phase = static_cast<int>(i / c.padded_out / depth), step = k / Tile::kDepth;
        const int tap = c.flat ? k / p.in_channels : step % c.taps;
        const int channel =
            c.flat ? k % p.in_channels : step / c.taps * Tile::kDepth + k % Tile::kDepth;
        float v = 0;
        if (o < p.out_channels && channel < p.in_channels && tap < c.taps) {
            const size_t at = static_cast<size_t>(o) * p.in_channels + channel;
            v = p.phases > 1 ? tap_of_phase(weight + at * 9, tap, phase)
                             : to_float(weight[at * c.taps + tap]);
        }
        to[i] = Tile::stored(v);
    }
}

}  // namespace styleforge
