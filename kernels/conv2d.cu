// A convolution as one matrix product whose left side is gathered as it is read: the border is
// mirrored (or repeated) inline, a norm and a ReLU can be applied on the way in, and statistics of
// the output are taken on the way out. Any channels, strides, layout, odd or even kernel.
//
// Rows of the product are pixels, columns output channels; the depth runs over channels in slices
// of kDepth, and inside a slice over the taps, so that neighbouring taps find x in the L1 cache.
// With fewer channels than a slice holds, the depth runs over taps and channels together.
#include <type_traits>

#include "include/elements.cuh"
#include "include/operations.h"
#include "include/plane_statistics.cuh"
#include "include/tensor_core.cuh"

namespace styleforge {

struct Convolution {
    StyleforgeConvolution p;
    int taps, steps, flat, vector, padded_out, tiles;
};

// 16 bytes to shared memory; from sm_80 on, without passing through registers.
__device__ __forceinline__ void fetch(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    copy_async(shared_address(to), from);
#else
    *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}

__device__ __forceinline__ float round_to_tf32(float v) {
#if __CUDA_ARCH__ >= 800
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
    return __uint_as_float(bits);
#else
    return v;
#endif
}

__device__ __forceinline__ int place(int i, int size, int border) {
    if (border == STYLEFORGE_REPLICATE) return max(0, min(size - 1, i));
    i = abs(i);
    return size - 1 - abs(size - 1 - i);
}

// Products of FP32 numbers on the ordinary units; kM x kN of them a thread.
template <typename T, int kRows_, int kColumns_, int kM, int kN>
struct PlainTile {
    using Element = T;
    using Stored = float;
    static constexpr bool kPairs = false;
    static constexpr int kRows = kRows_, kColumns = kColumns_, kDepth = 8, kAlign = 4;
    static constexpr int kThreads = (kRows / kM) * (kColumns / kN);
    static constexpr int kRowPitch = kRows, kColumnPitch = kColumns;
    // Few outputs mean many terms (2,592 for 9x9 of 32 channels): summed in two levels where the
    // registers allow, as one long sum errs four times as much.
    static constexpr bool kTwoLevels = kM * kN <= 16;
    static constexpr int kStepsOfSum = 16;
    float acc[kM][kN] = {};
    float sums[kTwoLevels ? kM : 1][kTwoLevels ? kN : 1] = {};

    static __device__ Stored stored(float v) { return v; }
    static __device__ int row(int i) {
        return i / 4 * (kRows / (kM / 4)) + threadIdx.x % (kRows / kM) * 4 + i % 4;
    }
    static __device__ int column(int j) {
        return j / 4 * (kColumns / (kN / 4)) + threadIdx.x / (kRows / kM) * 4 + j % 4;
    }
    __device__ void end_step(int step, bool last) {
        if constexpr (kTwoLevels) {
            if (!last && step % kStepsOfSum != kStepsOfSum - 1) return;
#pragma unroll
            for (int i = 0; i < kM; ++i)
#pragma unroll
                for (int j = 0; j < kN; ++j) {
                    sums[i][j] += acc[i][j];
                    acc[i][j] = last ? sums[i][j] : 0.f;
                }
        }
    }
    __device__ void multiply_slice(const float* rows, const float* columns) {
#pragma unroll
        for (int k = 0; k < kDepth; ++k) {
            float a[kM], b[kN];
#pragma unroll
            for (int i = 0; i < kM; i += 4) load<4>(a + i, rows + k * kRowPitch + row(i));
#pragma unroll
            for (int j = 0; j < kN; j += 4) load<4>(b + j, columns + k * kColumnPitch + column(j));
#pragma unroll
            for (int i = 0; i < kM; ++i)
#pragma unroll
                for (int j = 0; j < kN; ++j) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
        }
    }
    // Columns [first, first + count) of the accumulators to out[column - first][row].
    __device__ void put(float* out, int pitch, int first, int count) {
#pragma unroll
        for (int j = 0; j < kN; ++j) {
            const int at = column(j) - first;
            if (at >= 0 && at < count)
#pragma unroll
                for (int i = 0; i < kM; ++i) out[at * pitch + row(i)] = acc[i][j];
        }
    }
};

// Tensor cores: eight warps share the tile out, kWarpsM across its rows.
template <typename T, int kColumns_, int kWarpsM>
struct TensorTile {
    using Element = T;
    using Stored = T;
    static constexpr bool kPairs = sizeof(T) == 2;
    static constexpr int kRows = 128, kColumns = kColumns_, kDepth = kPairs ? 32 : 16, kAlign = 8;
    static constexpr int kThreads = 256, kWarpsN = 8 / kWarpsM;
    static constexpr int kTilesM = kRows / kWarpsM / 16, kTilesN = kColumns / kWarpsN / 8;
    // Eight more elements: rows of neighbouring depth fall on different banks.
    static constexpr int kRowPitch = kRows + 8, kColumnPitch = kColumns + 8;
    float acc[kTilesM][kTilesN][4] = {};

    static __device__ Stored stored(float v) {
        if constexpr (kPairs) return narrow<T>(v);
        else return round_to_tf32(v);
    }
    static __device__ int first_row() { return threadIdx.x / 32 % kWarpsM * (kTilesM * 16); }
    static __device__ int first_column() { return threadIdx.x / 32 / kWarpsM * (kTilesN * 8); }

    __device__ void end_step(int, bool) {}
    __device__ void multiply_slice(const T* rows, const T* columns) {
        const int lane = threadIdx.x % 32;
        if constexpr (kPairs) {
            // Both sides lie with depth outermost, so the loads transpose.
            const T* a_from = rows + (lane / 16 * 8 + lane % 8) * kRowPitch + first_row() +
                              lane / 8 % 2 * 8;
            const T* b_from = columns + lane % 16 * kColumnPitch + first_column() + lane / 16 * 8;
#pragma unroll
            for (int k = 0; k < kDepth; k += 16) {
                uint32_t a[kTilesM][4], b[kTilesN / 2][4];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
                    load_transposed(a[i], a_from + k * kRowPitch + i * 16);
#pragma unroll
                for (int j = 0; j < kTilesN / 2; ++j)
                    load_transposed(b[j], b_from + k * kColumnPitch + j * 16);
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < kTilesN; ++j)
                        multiply<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
            }
        } else {
            const float* a_from = rows + lane % 4 * kRowPitch + first_row() + lane / 4;
            const float* b_from = columns + lane % 4 * kColumnPitch + first_column() + lane / 4;
#pragma unroll
            for (int k = 0; k < kDepth; k += 8) {
                float a[kTilesM][4], b[kTilesN][2];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int q = 0; q < 4; ++q)
                        a[i][q] = a_from[(k + q / 2 * 4) * kRowPitch + i * 16 + q % 2 * 8];
#pragma unroll
                for (int j = 0; j < kTilesN; ++j)
#pragma unroll
                    for (int q = 0; q < 2; ++q)
                        b[j][q] = b_from[(k + q * 4) * kColumnPitch + j * 8];
#pragma unroll
                for (int i = 0; i < kTilesM; ++i)
#pragma unroll
                    for (int j = 0; j < kTilesN; ++j) multiply_tf32(acc[i][j], a[i], b[j]);
            }
        }
    }
    __device__ void put(float* out, int pitch, int first, int count) {
        const int lane = threadIdx.x % 32;
#pragma unroll
        for (int j = 0; j < kTilesN; ++j)
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const int at = first_column() + j * 8 + lane % 4 * 2 + q % 2 - first;
                if (at >= 0 && at < count)
#pragma unroll
                    for (int i = 0; i < kTilesM; ++i)
                        out[at * pitch + first_row() + i * 16 + q / 2 * 8 + lane / 4] =
                            acc[i][j][q];
            }
    }

   private:
    static __device__ void load_transposed(uint32_t (&to)[4], const T* from) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(shared_address(from)));
    }
    static __device__ void multiply_tf32(float (&acc)[4], const float (&a)[4],
                                         const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
        const auto bits = [](float v) { return __float_as_uint(v); };
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, {%0,%1,%2,%3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(bits(a[0])), "r"(bits(a[1])), "r"(bits(a[2])), "r"(bits(a[3])), "r"(bits(b[0])),
              "r"(bits(b[1])));
#endif
    }
};

// What of the left side a thread gathers in one step: kItems pixels, or pairs of neighbouring
// ones, kEach of the slice's depth.
template <typename Tile>
struct Share {
    using T = typename Tile::Element;
    static constexpr int kPixels = Tile::kPairs ? 2 : 1, kSlots = Tile::kRows / kPixels;
    static constexpr int kItems = kSlots > Tile::kThreads ? kSlots / Tile::kThreads : 1;
    static constexpr int kGroups = Tile::kThreads > kSlots ? Tile::kThreads / kSlots : 1;
    static constexpr int kEach = Tile::kDepth / kGroups;
    static constexpr int kWidth = kPackOf<T> < kEach ? kPackOf<T> : kEach;
    int y[kItems][kPixels], x[kItems][kPixels];
    float v[kItems][kPixels][kEach];

    static __device__ int slot(int item) {
        return (item * Tile::kThreads + static_cast<int>(threadIdx.x)) % kSlots;
    }
    static __device__ int first_depth() {
        return kGroups > 1 ? static_cast<int>(threadIdx.x) / kSlots * kEach : 0;
    }

    __device__ void find(const StyleforgeConvolution& p, int first, int shift_y, int shift_x) {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                int at = first + slot(i) * kPixels + k;
                if (at >= p.out_height * p.out_width) at = 0;  // computed, and left out at the end
                y[i][k] = at / p.out_width * p.stride_h - p.pad + shift_y;
                x[i][k] = at % p.out_width * p.stride_w - p.pad + shift_x;
            }
    }
    __device__ int offset(const StyleforgeConvolution& p, int i, int k, int tap) const {
        const int row = place(y[i][k] + tap / p.kernel, p.height, p.border);
        const int column = place(x[i][k] + tap % p.kernel, p.width, p.border);
        return row * static_cast<int>(p.x_strides[2]) + column * static_cast<int>(p.x_strides[3]);
    }

    __device__ void gather(const Convolution& c, const T* from, const Affine* affine, int step) {
        const StyleforgeConvolution& p = c.p;
        const int of_channel = static_cast<int>(p.x_strides[1]);
        if (c.flat) {
#pragma unroll
            for (int d = 0; d < kEach; ++d) {
                const int at = step * Tile::kDepth + first_depth() + d;
                const int tap = at / p.in_channels, channel = at % p.in_channels;
#pragma unroll
                for (int i = 0; i < kItems; ++i)
#pragma unroll
                    for (int k = 0; k < kPixels; ++k)
                        v[i][k][d] = tap < c.taps
                                         ? widen(from[offset(p, i, k, tap) + channel * of_channel])
                                         : 0.f;
                if (affine && tap < c.taps) normalize_depth(d, affine[channel]);
            }
            return;
        }
        const int tap = step % c.taps, first = step / c.taps * Tile::kDepth + first_depth();
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                const T* pixel = from + offset(p, i, k, tap) + first * of_channel;
                if (c.vector) {
#pragma unroll
                    for (int d = 0; d < kEach; d += kWidth) {
                        if (first + d < p.in_channels) {
                            load<kWidth>(v[i][k] + d, pixel + d);
                        } else {
#pragma unroll
                            for (int e = 0; e < kWidth; ++e) v[i][k][d + e] = 0;
                        }
                    }
                } else {
#pragma unroll
                    for (int d = 0; d < kEach; ++d)
                        v[i][k][d] =
                            first + d < p.in_channels ? widen(pixel[d * of_channel]) : 0.f;
                }
            }
        if (affine)
#pragma unroll
            for (int d = 0; d < kEach; ++d)
                if (first + d < p.in_channels) normalize_depth(d, affine[first + d]);
    }
    __device__ void normalize_depth(int d, const Affine& affine) {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int k = 0; k < kPixels; ++k) {
                const float value = normalize(v[i][k][d], affine);
                v[i][k][d] = value < 0.f ? 0.f : value;
            }
    }

    __device__ void keep(typename Tile::Stored* rows) const {
#pragma unroll
        for (int i = 0; i < kItems; ++i)
#pragma unroll
            for (int d = 0; d < kEach; ++d) {
                Pack<typename Tile::Stored, kPixels> pack;
#pragma unroll
                for (int k = 0; k < kPixels; ++k) pack.element[k] = Tile::stored(v[i][k][d]);
                *reinterpret_cast<decltype(pack)*>(rows + (first_depth() + d) * Tile::kRowPitch +
                                                   slot(i) * kPixels) = pack;
            }
    }
};

template <typename Tile>
__global__ void __launch_bounds__(Tile::kThreads) convolve(const Convolution c) {
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
        commit_copies();
    };

    Share<Tile> share;
    share.find(p, first_row, shift_y, shift_x);
    Tile tile;
    fetch_columns(0);
    share.gather(c, x, affine, 0);
    share.keep(rows);
    wait_for_copies<0>();
    __syncthreads();
    for (int step = 0; step < c.steps; ++step) {
        const bool more = step + 1 < c.steps;
        if (more) {
            fetch_columns(step + 1);
            share.gather(c, x, affine, step + 1);
        }
        tile.multiply_slice(rows + step % 2 * kRowsSize, columns + step % 2 * kColumnsSize);
        tile.end_step(step, !more);
        if (more) share.keep(rows + (step + 1) % 2 * kRowsSize);
        wait_for_copies<0>();
        __syncthreads();
    }

    const int pixels = p.out_height * p.out_width, count = min(Tile::kRows, pixels - first_row);
    const int grow = p.phases > 1 ? 2 : 1;
    for (int m = threadIdx.x; m < count; m += Tile::kThreads) {
        const int row = (first_row + m) / p.out_width * grow + shift_y;
        const int column = (first_row + m) % p.out_width * grow + shift_x;
        offsets[m] = row * static_cast<int>(p.y_strides[2]) +
                     column * static_cast<int>(p.y_strides[3]);
    }
    float* out = reinterpret_cast<float*>(shared);
    T* y = static_cast<T*>(p.y) + sample * p.y_strides[0];
    auto* parts = static_cast<Part*>(p.parts);
    if (parts)
        parts += (static_cast<size_t>(blockIdx.z) * c.tiles + blockIdx.x) * p.out_channels;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    constexpr int kWarps = Tile::kThreads / 32;
    for (int shown = 0; shown < Tile::kColumns; shown += kShown) {
        tile.put(out, kPitch, shown, kShown);
        __syncthreads();
        const int begin = first_column + shown;
        const int end = min(kShown, p.out_channels - begin);
        for (int o = warp; o < end; o += kWarps) {
            const float bias = parameter(p.bias, p.type, begin + o, 0.f);
            float* channel = out + o * kPitch;
            if (p.bias)
                for (int m = lane; m < count; m += 32) channel[m] += bias;
            if (!parts) continue;
            float sum = 0;
            for (int m = lane; m < count; m += 32) sum += channel[m];
            const float center = sum_of_warp(sum) / static_cast<float>(count);
            float rest = 0, squares = 0;
            for (int m = lane; m < count; m += 32) {
                const float d = channel[m] - center;
                rest += d, squares = fmaf(d, d, squares);
            }
            rest = sum_of_warp(rest), squares = sum_of_warp(squares);
            if (lane == 0)
                parts[begin + o] =
                    part_about(static_cast<float>(count), center, rest, squares);
        }
        __syncthreads();
        const int of_channel = static_cast<int>(p.y_strides[1]);
        if (of_channel == 1) {  // channels last: neighbouring threads, neighbouring channels
            for (int i = threadIdx.x; i < kShown * count; i += Tile::kThreads) {
                const int o = i % kShown, m = i / kShown;
                if (o < end) y[offsets[m] + begin + o] = narrow<T>(out[o * kPitch + m]);
            }
        } else {
            for (int o = warp; o < end; o += kWarps)
                for (int m = lane; m < count; m += 32)
                    y[static_cast<long long>(begin + o) * of_channel + offsets[m]] =
                        narrow<T>(out[o * kPitch + m]);
        }
        __syncthreads();
    }
}

// Tap (row, column) of 2x2 of phase (a, b): the sum of those of 3x3 that meet on its pixel, per
// axis 0 and 1+2 in phase 0, 0+1 and 2 in phase 1.
template <typename T>
__device__ float tap_of_phase(const T* weight, int tap, int phase) {
    const auto range = [](int at, int shift) {
        return at ? int2{1 + shift, 3} : int2{0, 1 + shift};
    };
    const int2 rows = range(tap / 2, phase / 2), columns = range(tap % 2, phase % 2);
    double sum = 0;
    for (int i = rows.x; i < rows.y; ++i)
        for (int j = columns.x; j < columns.y; ++j) sum += widen(weight[i * 3 + j]);
    return static_cast<float>(sum);
}

// [Cout, Cin, k, k] to [phases][steps * kDepth][padded Cout], in the order of the steps.
template <typename Tile>
__global__ void pack(const Convolution c, const typename Tile::Element* weight,
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
        const int channel = c.flat ? k % p.in_channels
                                   : step / c.taps * Tile::kDepth + k % Tile::kDepth;
        float v = 0;
        if (o < p.out_channels && channel < p.in_channels && tap < c.taps) {
            const size_t at = static_cast<size_t>(o) * p.in_channels + channel;
            v = p.phases > 1 ? tap_of_phase(weight + at * 9, tap, phase)
                             : widen(weight[at * c.taps + tap]);
        }
        to[i] = Tile::stored(v);
    }
}

static int divide_up(long long a, long long b) { return static_cast<int>((a + b - 1) / b); }

template <typename Tile>
Convolution lay_out(const StyleforgeConvolution& p) {
    using T = typename Tile::Element;
    Convolution c = {};
    c.p = p, c.taps = p.kernel * p.kernel;
    // Where slices would mostly be padding, taps and channels run together.
    c.flat = p.in_channels * 2 <= Tile::kDepth || p.in_channels < 8;
    c.steps = c.flat ? divide_up(1ll * c.taps * p.in_channels, Tile::kDepth)
                     : divide_up(p.in_channels, Tile::kDepth) * c.taps;
    c.padded_out = divide_up(p.out_channels, Tile::kColumns) * Tile::kColumns;
    c.tiles = divide_up(1ll * p.out_height * p.out_width, Tile::kRows);
    const auto fits = [](long long bytes) { return bytes % 16 == 0; };
    const long long size = sizeof(T);
    c.vector = p.x_strides[1] == 1 && p.in_channels % 8 == 0 && fits(p.x_strides[0] * size) &&
               fits(p.x_strides[2] * size) && fits(p.x_strides[3] * size) &&
               reinterpret_cast<uintptr_t>(p.x) % 16 == 0;
    return c;
}

// Calls `use` with the tile that suits the shape.
template <typename T, typename Use>
long long with_tile(const StyleforgeConvolution& p, Use use) {
    if (p.out_channels <= 8) return use(PlainTile<T, 512, 4, 4, 4>());
    if (p.math == STYLEFORGE_PLAIN) {
        if (p.out_channels <= 32) return use(PlainTile<T, 256, 32, 8, 8>());
        return use(PlainTile<T, 128, 64, 8, 8>());
    }
    if (p.out_channels <= 32) return use(TensorTile<T, 32, 8>());
    const long long blocks = 1ll * divide_up(1ll * p.out_height * p.out_width, 128) * p.phases *
                             p.samples * divide_up(p.out_channels, 128);
    if (p.out_channels <= 64 || 2 * blocks <= p.multiprocessors)
        return use(TensorTile<T, 64, 4>());
    return use(TensorTile<T, 128, 4>());
}

template <typename Use>
long long with_type(const StyleforgeConvolution& p, Use use) {
    switch (p.type) {
        case kFloat: return with_tile<float>(p, use);
        case kHalf: return with_tile<__half>(p, use);
        case kBFloat16: return with_tile<__nv_bfloat16>(p, use);
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge

using namespace styleforge;

extern "C" {

long long styleforge_packed_bytes(const StyleforgeConvolution* p) {
    return with_type(*p, [&](auto tile) -> long long {
        using Tile = decltype(tile);
        const Convolution c = lay_out<Tile>(*p);
        return static_cast<long long>(p->phases) * c.steps * Tile::kDepth * c.padded_out *
               static_cast<long long>(sizeof(typename Tile::Stored));
    });
}

int styleforge_tiles(const StyleforgeConvolution* p) {
    return static_cast<int>(with_type(*p, [&](auto tile) -> long long {
        return lay_out<decltype(tile)>(*p).tiles * p->phases;
    }));
}

int styleforge_pack_weight(const StyleforgeConvolution* p, const void* weight, void* packed,
                           void* stream) {
    return static_cast<int>(with_type(*p, [&](auto tile) -> long long {
        using Tile = decltype(tile);
        const Convolution c = lay_out<Tile>(*p);
        const int blocks = divide_up(1ll * p->phases * c.steps * Tile::kDepth * c.padded_out, 256);
        pack<Tile><<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(
            c, static_cast<const typename Tile::Element*>(weight),
            static_cast<typename Tile::Stored*>(packed));
        return cudaGetLastError();
    }));
}

int styleforge_convolve(const StyleforgeConvolution* p, void* stream) {
    return static_cast<int>(with_type(*p, [&](auto tile) -> long long {
        using Tile = decltype(tile);
        const Convolution c = lay_out<Tile>(*p);
        const dim3 grid(c.tiles, divide_up(p->out_channels, Tile::kColumns),
                        p->samples * p->phases);
        convolve<Tile><<<grid, Tile::kThreads, 0, static_cast<cudaStream_t>(stream)>>>(c);
        return cudaGetLastError();
    }));
}

}  // extern "C"
