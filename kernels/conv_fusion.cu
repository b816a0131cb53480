// Convolutions that normalise and activate what they load, and leave the statistics of what they
// store: with instance norm in between, a layer crosses memory once.
//
// A layer's output is stored raw, before its norm. The layer above applies norm, ReLU and residual
// while it loads a tile with its border into shared memory, once per element rather than once per
// tap; the products are taken by the tensor cores from there. Activations are channels last.
#include <type_traits>

#include "include/statistics.cuh"
#include "include/tensor_core.cuh"

namespace styleforge {

// Mirror at the border, then stay inside: tiles may reach beyond the mirror image.
__device__ __forceinline__ int reflect(int i, int size) {
    i = abs(i);
    i = size - 1 - abs(size - 1 - i);
    return max(0, min(size - 1, i));
}

__device__ __forceinline__ int replicate(int i, int size) { return max(0, min(size - 1, i)); }

struct Conv {
    const void* x;         // [N, H, W, Cin] raw
    Norm norm;             // of x
    const void* residual;  // [N, H, W, Cin], or null: added after norm and ReLU
    void* activated;       // [N, H, W, Cin], or null: where what was loaded is kept
    const void* weight;    // [phases][taps][Cin / kSlice][Cout][kSlice]
    void* y;               // [N, H', W', Cout] raw
    Statistics statistics;
    Tiling tiling;         // of the output, before phases are interleaved
    int height, width;     // of x
    int relu;
};

// What a block of threads computes: kTileH x kTileW outputs of all kCout channels.
template <int kCin_, int kCout_, int kKernel_, int kStride_, bool kUpsample_, int kTileH_,
          int kTileW_, int kWarpsM_, int kWarpsN_, int kSlice_, int kStages_>
struct Shape {
    static constexpr int kCin = kCin_, kCout = kCout_, kKernel = kKernel_, kStride = kStride_;
    static constexpr bool kUpsample = kUpsample_;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
    static constexpr int kThreads = kWarpsM * kWarpsN * 32;
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kCout / kWarpsN;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kColumnsOfWarp / 8;
    static constexpr int kSlice = kSlice_, kStages = kStages_;
    static constexpr int kPatchH = (kTileH - 1) * kStride + kKernel;
    static constexpr int kPatchW = (kTileW - 1) * kStride + kKernel;
    // One access width of padding a pixel keeps eight neighbours in different banks.
    static constexpr int kPixelBytes = kCin * 2 + 16, kRowBytes = kSlice * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kStageBytes = kCout * kRowBytes;
    static constexpr int kAhead = kStages - 1;  // steps fetched ahead
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kWorkBytes = kPatchBytes + kStages * kStageBytes;
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static constexpr int kSteps = kKernel * kKernel * (kCin / kSlice);
    static_assert(kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0 && kSlice % 16 == 0);
    static_assert(kSlice % 32 == 0, "an even number of matrices, for taking turns");
    static_assert(kThreads % kCin == 0 && kThreads % kCout == 0);
};

// Where the rows and columns of a patch lie in x, mirrored or repeated at its border.
template <int kPatchH, int kPatchW, int kThreads, typename Place>
__device__ __forceinline__ void place_patch(int (&places)[kPatchH + kPatchW], Place place) {
    for (int i = threadIdx.x; i < kPatchH + kPatchW; i += kThreads)
        places[i] = i < kPatchH ? place(i, true) : place(i - kPatchH, false);
    __syncthreads();
}

// One 16-byte part: norm, ReLU and residual in FP32, rounded once.
template <typename T, bool kAdd>
__device__ __forceinline__ uint4 activate(const uint4& raw, const float2 (&affine)[8], float floor,
                                          const uint4& add) {
    uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
    const uint32_t more[4] = {add.x, add.y, add.z, add.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float2 v = Pair<T>::open(word[i]);
        v.x = fmaxf(fmaf(v.x, affine[2 * i].x, affine[2 * i].y), floor);
        v.y = fmaxf(fmaf(v.y, affine[2 * i + 1].x, affine[2 * i + 1].y), floor);
        if (kAdd) {
            const float2 r = Pair<T>::open(more[i]);
            v.x += r.x, v.y += r.y;
        }
        word[i] = Pair<T>::close(v.x, v.y);
    }
    return {word[0], word[1], word[2], word[3]};
}

// A patch of x into shared memory: raw first, all of it in flight at once, then norm, ReLU and
// residual in place, by the thread that copied it.
template <typename T, typename S, bool kAdd>
__device__ __forceinline__ void load_patch(const Conv& p, unsigned char* patch,
                                           float2 (&affine)[S::kCin],
                                           const int (&places)[S::kPatchH + S::kPatchW],
                                           int sample) {
    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kTurns = (kPatch + kPitch - 1) / kPitch;
    const int part = threadIdx.x % kParts, first = threadIdx.x / kParts;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width * kParts;
    const uint4* x = static_cast<const uint4*>(p.x) + plane + part;
    const uint4* residual = static_cast<const uint4*>(p.residual) + plane + part;
    unsigned char* to = patch + part * 16;
    uint4 add[kAdd ? kTurns : 1];
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            const int at = (places[q / S::kPatchW] * p.width +
                            places[S::kPatchH + q % S::kPatchW]) * kParts;
            copy_async(shared_address(to + q * S::kPixelBytes), x + at);
            if (kAdd) add[k] = __ldcg(residual + at);
        }
    }
    commit_copies();
    read_norm<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    const float floor = p.relu ? 0.f : -INFINITY;
    wait_for_copies<0>();
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        if (q < kPatch) {
            auto* value = reinterpret_cast<uint4*>(to + q * S::kPixelBytes);
            *value = activate<T, kAdd>(*value, own, floor, add[kAdd ? k : 0]);
        }
    }
    __syncthreads();
}

// The inside of a patch of a stride of 1 to memory: each pixel is inside just one.
template <typename S>
__device__ __forceinline__ void keep_patch(const Conv& p, const unsigned char* patch, int sample,
                                           int tile_y, int tile_x, int rows, int columns) {
    constexpr int kParts = S::kCin / 8;
    const size_t plane = static_cast<size_t>(sample) * p.height * p.width;
    const int part = threadIdx.x % kParts;
#pragma unroll 4
    for (int q = threadIdx.x / kParts; q < S::kPixels; q += S::kThreads / kParts) {
        const int i = q / S::kTileW, j = q % S::kTileW;
        if (i < rows && j < columns)
            static_cast<uint4*>(p.activated)[(plane + (tile_y + i) * p.width + tile_x + j) *
                                             kParts + part] =
                *reinterpret_cast<const uint4*>(
                    patch + ((i + 1) * S::kPatchW + j + 1) * S::kPixelBytes + part * 16);
    }
}

// The accumulators of a warp, kTilesM x kTilesN products of 16 x 8, hold the raw outputs: leave
// their statistics, and the outputs themselves in `out`, [kPixels][kCout] rounded.
template <typename T, typename S>
__device__ __forceinline__ void keep_tile(float (&acc)[S::kTilesM][S::kTilesN][4],
                                          unsigned char* out, const Statistics& statistics,
                                          const Tiling& tiling, int sample, int tile, int rows,
                                          int columns) {
    __shared__ float sums[S::kWarpsM][S::kCout];
    __shared__ float means[S::kCout];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    const auto pixel = [&](int i, int half) {
        return warp_m * S::kRowsOfWarp + i * 16 + half * 8 + lane / 4;
    };
    const auto inside = [&](int q) { return q / S::kTileW < rows && q % S::kTileW < columns; };
    const auto channel = [&](int j) { return warp_n * S::kColumnsOfWarp + j * 8 + lane % 4 * 2; };
    bool valid[S::kTilesM][2];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) valid[i][half] = inside(pixel(i, half));

    // Twice over the registers: the mean of the tile first, then squares about it.
    const auto reduce = [&](auto squared) {
        constexpr bool kSquared = decltype(squared)::value;
#pragma unroll
        for (int j = 0; j < S::kTilesN; ++j) {
            float a = 0, b = 0;
            const float mean_a = kSquared ? means[channel(j)] : 0;
            const float mean_b = kSquared ? means[channel(j) + 1] : 0;
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int half = 0; half < 2; ++half)
                    if (valid[i][half]) {
                        const float u = acc[i][j][2 * half] - mean_a;
                        const float v = acc[i][j][2 * half + 1] - mean_b;
                        a += kSquared ? u * u : u;
                        b += kSquared ? v * v : v;
                    }
#pragma unroll
            for (int step = 4; step < 32; step *= 2) {
                a += __shfl_xor_sync(~0u, a, step);
                b += __shfl_xor_sync(~0u, b, step);
            }
            if (lane < 4) sums[warp_m][channel(j)] = a, sums[warp_m][channel(j) + 1] = b;
        }
        __syncthreads();
    };
    const auto total = [&](int c) {
        float sum = 0;
#pragma unroll
        for (int m = 0; m < S::kWarpsM; ++m) sum += sums[m][c];
        return sum;
    };
    reduce(std::false_type{});
    const float count = static_cast<float>(rows * columns);
    for (int c = threadIdx.x; c < S::kCout; c += S::kThreads) means[c] = total(c) / count;
    __syncthreads();
    reduce(std::true_type{});
    float2* to = statistics.tiles +
                 (static_cast<size_t>(sample) * tiling.tiles() + tile) * S::kCout;
    for (int c = threadIdx.x; c < S::kCout; c += S::kThreads) to[c] = {means[c], total(c)};

#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                *reinterpret_cast<uint32_t*>(out + pixel(i, half) * (S::kCout * 2 + 16) +
                                             channel(j) * 2) =
                    Pair<T>::close(acc[i][j][2 * half], acc[i][j][2 * half + 1]);
    __syncthreads();
}

// `out` to memory, 16 bytes a thread; pixel (i, j) of the tile goes to `place(i, j)`.
template <typename S, typename Place>
__device__ __forceinline__ void store_tile(const unsigned char* out, void* y, int rows, int columns,
                                           Place place) {
    constexpr int kParts = S::kCout / 8;
    for (int q = threadIdx.x / kParts; q < S::kPixels; q += S::kThreads / kParts) {
        const int i = q / S::kTileW, j = q % S::kTileW, part = threadIdx.x % kParts;
        if (i < rows && j < columns)
            static_cast<uint4*>(y)[place(i, j) * kParts + part] =
                *reinterpret_cast<const uint4*>(out + q * (S::kCout * 2 + 16) + part * 16);
    }
}

template <typename T, typename S, bool kAdd>
__global__ void __launch_bounds__(S::kThreads) convolve(const Conv p) {
    extern __shared__ __align__(128) unsigned char shared[];
    __shared__ float2 affine[S::kCin];
    __shared__ int places[S::kPatchH + S::kPatchW];
    unsigned char* patch = shared;
    unsigned char* stages = shared + S::kPatchBytes;
    const int phase = blockIdx.y, sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);

    const auto* weight = static_cast<const unsigned char*>(p.weight) +
                         static_cast<size_t>(phase) * S::kSteps * S::kCout * S::kSlice * 2;
    const auto fetch = [&](int step) {
        constexpr int kChunks = S::kSlice / 8;
        if (step < S::kSteps) {
            const auto* from = weight + static_cast<size_t>(step) * S::kCout * S::kSlice * 2;
            const uint32_t to = shared_address(stages + step % S::kStages * S::kStageBytes);
            for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
                copy_async(to + i / kChunks * S::kRowBytes + i % kChunks * 16, from + i * 16);
        }
        commit_copies();
    };
#pragma unroll
    for (int step = 0; step < S::kAhead; ++step) fetch(step);

    const int shift_y = S::kUpsample ? phase / 2 : 0, shift_x = S::kUpsample ? phase % 2 : 0;
    place_patch<S::kPatchH, S::kPatchW, S::kThreads>(places, [&](int i, bool row) {
        const int at = (row ? tile_y : tile_x) * S::kStride - 1 + (row ? shift_y : shift_x) + i;
        const int size = row ? p.height : p.width;
        return S::kUpsample ? replicate(at, size) : reflect(at, size);
    });
    wait_for_previous_layer();
    load_patch<T, S, kAdd>(p, patch, affine, places, sample);
    let_next_layer_start();
    if (S::kStride == 1 && !S::kUpsample && p.activated)
        keep_patch<S>(p, patch, sample, tile_y, tile_x, rows, columns);

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % S::kWarpsM, warp_n = warp / S::kWarpsM;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    constexpr int kSlices = S::kCin / S::kSlice, kDeep = S::kSlice / 16;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp_m * S::kRowsOfWarp + i * 16 + lane % 16;
        const int at = q / S::kTileW * S::kStride * S::kPatchW + q % S::kTileW * S::kStride;
        a_from[i] = shared_address(patch) + at * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from = shared_address(stages) +
                            (warp_n * S::kColumnsOfWarp + lane / 16 * 8 + lane % 8) * S::kRowBytes +
                            lane / 8 % 2 * 16;
    uint32_t a[2][S::kTilesM][4], b[2][S::kTilesN / 2][4];
    const auto load = [&](int step, int k, int to) {
        const int tap = step / kSlices, slice = step % kSlices;
        const uint32_t a_step = ((tap / S::kKernel) * S::kPatchW + tap % S::kKernel) *
                                    S::kPixelBytes + slice * S::kSlice * 2 + k * 32;
        const uint32_t b_step = b_from + step % S::kStages * S::kStageBytes + k * 32;
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) load_matrices(a[to][i], a_from[i] + a_step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            load_matrices(b[to][j], b_step + j * 16 * S::kRowBytes);
    };
    load(0, 0, 0);
    for (int step = 0; step < S::kSteps; ++step) {
#pragma unroll
        for (int k = 0; k < kDeep; ++k) {
            // The next matrices are on their way while these are multiplied.
            if (k == kDeep - 1) {
                fetch(step + S::kAhead);
                wait_for_copies<S::kAhead - 1>();
                __syncthreads();
                if (step + 1 < S::kSteps) load(step + 1, 0, (k + 1) % 2);
            } else {
                load(step, k + 1, (k + 1) % 2);
            }
#pragma unroll
            for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
                for (int j = 0; j < S::kTilesN; ++j)
                    multiply<T>(acc[i][j], a[k % 2][i], b[k % 2][j / 2][j % 2 * 2],
                                b[k % 2][j / 2][j % 2 * 2 + 1]);
        }
    }
    wait_for_copies<0>();
    __syncthreads();

    const int tile = phase * p.tiling.rows * p.tiling.columns + blockIdx.x;
    keep_tile<T, S>(acc, shared, p.statistics, p.tiling, sample, tile, rows, columns);
    constexpr int kScale = S::kUpsample ? 2 : 1;
    const int high = p.tiling.height * kScale, wide = p.tiling.width * kScale;
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        const int oy = (tile_y + i) * kScale + shift_y, ox = (tile_x + j) * kScale + shift_x;
        return (static_cast<size_t>(sample) * high + oy) * wide + ox;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, tile);
}

// The first layer: 9x9 from the three colours of a frame, which is read as it is, with its
// reflection padding. Two taps lie side by side in 16 bytes, so that matrices of taps can be
// loaded; for pixels at odd columns they do in a second copy, one pixel on.
struct First {
    const void* x;       // [N, H, W, 3], uint8 or T
    const void* weight;  // [32][368]: row of the kernel, column padded to 10, colour padded to 4
    void* y;             // [N, H', W', 32] raw
    Statistics statistics;
    Tiling tiling;       // H' and W' are H and W rounded up to multiples of 4
    int height, width;
    int* range;          // [N, 3], cleared; see Span
};

struct FirstShape {
    static constexpr int kCout = 32, kTileH = 8, kTileW = 32, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = 8, kWarpsN = 1, kThreads = 256;
    static constexpr int kRowsOfWarp = 32, kColumnsOfWarp = 32, kTilesM = 2, kTilesN = 4;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kTileW + 10, kDepth = 368;
    static constexpr int kCopyBytes = kPatchH * kPatchW * 8, kSecond = kCopyBytes + 64;
    static constexpr int kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = (kSecond + kCopyBytes + 127) / 128 * 128;
    static constexpr int kWorkBytes = kPatchBytes + kCout * kRowBytes;
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static_assert(kCopyBytes % 128 == 0, "the second copy lies half a cycle of banks on");
};

__device__ __forceinline__ float as_float(uint8_t v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T, typename In>
__global__ void __launch_bounds__(FirstShape::kThreads) convolve_first(const First p) {
    using S = FirstShape;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z;
    const int tile_y = blockIdx.x / p.tiling.columns * S::kTileH;
    const int tile_x = blockIdx.x % p.tiling.columns * S::kTileW;
    const int rows = min(S::kTileH, p.tiling.height - tile_y);
    const int columns = min(S::kTileW, p.tiling.width - tile_x);
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < S::kCout * kChunks; i += S::kThreads)
        copy_async(shared_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                   static_cast<const uint4*>(p.weight) + i);
    commit_copies();
    wait_for_previous_layer();
    if (blockIdx.x == 0 && threadIdx.x == 0) Span::clear(p.range + sample * 3);

    const auto* x = static_cast<const In*>(p.x) + static_cast<size_t>(sample) * p.height * p.width * 3;
    for (int q = threadIdx.x; q < S::kPatchH * S::kPatchW; q += S::kThreads) {
        // Mirrored twice: at the edge of the padded picture, then at that of the frame.
        const int iy = reflect(reflect(tile_y - 4 + q / S::kPatchW, p.tiling.height), p.height);
        const int ix = reflect(reflect(tile_x - 4 + q % S::kPatchW, p.tiling.width), p.width);
        const In* from = x + (static_cast<size_t>(iy) * p.width + ix) * 3;
        const uint2 value = {Pair<T>::close(as_float(from[0]), as_float(from[1])),
                             Pair<T>::close(as_float(from[2]), 0)};
        *reinterpret_cast<uint2*>(shared + q * 8) = value;
        if (q % S::kPatchW) *reinterpret_cast<uint2*>(shared + S::kSecond + (q - 1) * 8) = value;
        else *reinterpret_cast<uint2*>(shared + S::kSecond + (q + S::kPatchW - 1) * 8) = uint2{0, 0};
    }
    wait_for_copies<0>();
    __syncthreads();
    let_next_layer_start();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = warp * S::kRowsOfWarp + i * 16 + lane % 16;
        const int row = q / S::kTileW, column = q % S::kTileW;
        a_from[i] = shared_address(shared) + (column % 2 ? S::kSecond : 0) +
                    (row * S::kPatchW + column / 2 * 2) * 8;
    }
    const uint32_t b_from = shared_address(weights) +
                            (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    float acc[S::kTilesM][S::kTilesN][4] = {};
    // Pair q of taps lies in row q / 5 of the kernel; the 46th is all zeros in the weights.
    const auto offset = [](int q) { return q < 45 ? (q / 5 * S::kPatchW + q % 5 * 2) * 8 : 0; };
#pragma unroll
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = lane / 16 ? offset(2 * k + 1) : offset(2 * k);
        uint32_t a[S::kTilesM][4], b[S::kTilesN / 2][4];
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) load_matrices(a[i], a_from[i] + step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            load_matrices(b[j], b_from + j * 16 * S::kRowBytes + k * 32);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                multiply<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
    keep_tile<T, S>(acc, shared, p.statistics, p.tiling, sample, blockIdx.x, rows, columns);
    store_tile<S>(shared, p.y, rows, columns, [&](int i, int j) {
        return (static_cast<size_t>(sample) * p.tiling.height + tile_y + i) * p.tiling.width +
               tile_x + j;
    });
    finish_statistics<S::kCout, S::kThreads>(p.statistics, p.tiling, sample, blockIdx.x);
}

// The last layer: 9x9 to three colours. Three columns would waste most of a tensor core's eight,
// so the nine columns of the kernel times three colours are computed for every pixel of a row,
// summed over the kernel's rows, and then added along the row with a shift each.
struct Last {
    const void* x;         // [N, H', W', 32] raw
    Norm norm;             // of x
    const void* weight;    // [32][288]: column of the kernel times 3 plus colour; row, channel
    const float* bias;     // [3]
    void* y;               // [N, H, W, 3], uint8 (rounded, 0-255) or T
    int height, width;     // H, W of the picture
    int padded_h, padded_w;
    int* range;            // [N, 3] of the picture, see Span
};

struct LastShape {
    static constexpr int kCin = 32, kTileH = 8, kTileW = 32, kWideW = kTileW + 8;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kWideW;
    static constexpr int kThreads = 320, kWarps = 10, kTilesM = 2, kTilesN = 4;
    static constexpr int kPixelBytes = kCin * 2 + 16, kDepth = 288, kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kSumPitch = 33;
    static constexpr int kSumBytes = kTileH * kWideW * kSumPitch * 4;
    static constexpr int kSharedBytes = kPatchBytes + 32 * kRowBytes;
    static_assert(kSumBytes <= kPatchBytes);
};

__device__ __forceinline__ void put(uint8_t* to, float v) {
    *to = static_cast<uint8_t>(fminf(fmaxf(v, 0.f), 255.f) + 0.5f);
}
__device__ __forceinline__ void put(__half* to, float v) { *to = __float2half(v); }
__device__ __forceinline__ void put(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }

template <typename T, typename Out>
__global__ void __launch_bounds__(LastShape::kThreads) convolve_last(const Last p) {
    using S = LastShape;
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* weights = shared + S::kPatchBytes;
    const int sample = blockIdx.z, tile_y = blockIdx.y * S::kTileH, tile_x = blockIdx.x * S::kTileW;
    constexpr int kChunks = S::kDepth / 8;
    for (int i = threadIdx.x; i < 32 * kChunks; i += S::kThreads)
        copy_async(shared_address(weights) + i / kChunks * S::kRowBytes + i % kChunks * 16,
                   static_cast<const uint4*>(p.weight) + i);
    commit_copies();

    constexpr int kParts = S::kCin / 8, kPitch = S::kThreads / kParts;
    constexpr int kPatch = S::kPatchH * S::kPatchW, kTurns = kPatch / kPitch;
    static_assert(kPatch % kPitch == 0);
    __shared__ int places[S::kPatchH + S::kPatchW];
    __shared__ float2 affine[S::kCin];
    place_patch<S::kPatchH, S::kPatchW, S::kThreads>(places, [&](int i, bool row) {
        return row ? reflect(tile_y - 4 + i, p.padded_h) : reflect(tile_x - 4 + i, p.padded_w);
    });
    wait_for_previous_layer();
    const int part = threadIdx.x % kParts, first = threadIdx.x / kParts;
    const auto* x = static_cast<const uint4*>(p.x) +
                    static_cast<size_t>(sample) * p.padded_h * p.padded_w * kParts + part;
    unsigned char* to = shared + part * 16;
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        const int q = first + k * kPitch;
        const int at = places[q / S::kPatchW] * p.padded_w + places[S::kPatchH + q % S::kPatchW];
        copy_async(shared_address(to + q * S::kPixelBytes), x + at * kParts);
    }
    commit_copies();
    read_norm<S::kCin, S::kThreads>(p.norm, sample, affine);
    float2 own[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) own[i] = affine[part * 8 + i];
    wait_for_copies<0>();
#pragma unroll
    for (int k = 0; k < kTurns; ++k) {
        auto* value = reinterpret_cast<uint4*>(to + (first + k * kPitch) * S::kPixelBytes);
        *value = activate<T, false>(*value, own, 0.f, uint4{});
    }
    __syncthreads();
    let_next_layer_start();

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a_from[S::kTilesM];
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i) {
        const int q = (warp * S::kTilesM + i) * 16 + lane % 16;
        a_from[i] = shared_address(shared) + q * S::kPixelBytes + lane / 16 * 16;
    }
    const uint32_t b_from = shared_address(weights) +
                            (lane / 16 * 8 + lane % 8) * S::kRowBytes + lane / 8 % 2 * 16;
    float acc[S::kTilesM][S::kTilesN][4] = {};
#pragma unroll 6
    for (int k = 0; k < S::kDepth / 16; ++k) {
        const uint32_t step = k / 2 * S::kPatchW * S::kPixelBytes + k % 2 * 32;
        uint32_t a[S::kTilesM][4], b[S::kTilesN / 2][4];
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i) load_matrices(a[i], a_from[i] + step);
#pragma unroll
        for (int j = 0; j < S::kTilesN / 2; ++j)
            load_matrices(b[j], b_from + j * 16 * S::kRowBytes + k * 32);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int j = 0; j < S::kTilesN; ++j)
                multiply<T>(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
    float* sums = reinterpret_cast<float*>(shared);
#pragma unroll
    for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
        for (int j = 0; j < S::kTilesN; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k)
                sums[((warp * S::kTilesM + i) * 16 + k / 2 * 8 + lane / 4) * S::kSumPitch + j * 8 +
                     lane % 4 * 2 + k % 2] = acc[i][j][k];
    __syncthreads();
    auto* y = static_cast<Out*>(p.y) + static_cast<size_t>(sample) * p.height * p.width * 3;
    Span span;
    for (int q = threadIdx.x; q < S::kTileH * S::kTileW * 3; q += S::kThreads) {
        const int i = q / (S::kTileW * 3), j = q / 3 % S::kTileW, colour = q % 3;
        if (tile_y + i >= p.height || tile_x + j >= p.width) continue;
        float sum = p.bias[colour];
#pragma unroll
        for (int tap = 0; tap < 9; ++tap)
            sum += sums[(i * S::kWideW + j + tap) * S::kSumPitch + tap * 3 + colour];
        span.add(sum);
        put(y + (static_cast<size_t>(tile_y + i) * p.width + tile_x + j) * 3 + colour, sum);
    }
    span.leave(p.range + sample * 3);
}

//                     Cin Cout  k  s  up     tile   warps  slice stages
using Down1 = Shape<32, 64, 3, 2, false, 8, 16, 4, 2, 32, 4>;
using Down2 = Shape<64, 128, 3, 2, false, 8, 16, 2, 4, 64, 3>;
using Same = Shape<128, 128, 3, 1, false, 8, 16, 2, 4, 64, 3>;
using SameWide = Shape<128, 128, 3, 1, false, 8, 16, 2, 2, 64, 3>;
// For GPUs with 99 KB of shared memory for a block.
using Down2Small = Shape<64, 128, 3, 2, false, 8, 8, 2, 4, 32, 4>;
using SameSmall = Shape<128, 128, 3, 1, false, 8, 16, 2, 4, 32, 4>;
static_assert(Down2Small::kSharedBytes < 94000 && SameSmall::kSharedBytes < 94000);
using Up1 = Shape<128, 64, 2, 1, true, 8, 16, 4, 2, 64, 3>;
using Up2 = Shape<64, 32, 2, 1, true, 8, 16, 4, 1, 64, 3>;

template <typename Arguments>
int launch(void (*kernel)(Arguments), dim3 grid, int threads, int shared, cudaStream_t stream,
           const Arguments& arguments) {
    cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess) return error;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid, config.blockDim = dim3(threads), config.dynamicSmemBytes = shared;
    config.stream = stream, config.attrs = &early, config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments);
}

template <typename T, typename S>
int launch_conv(Conv p, int samples, cudaStream_t stream) {
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    p.tiling.copies = S::kUpsample ? 4 : 1;
    const dim3 grid(p.tiling.rows * p.tiling.columns, p.tiling.copies, samples);
    if constexpr (S::kCin == 128)
        if (p.residual)
            return launch(convolve<T, S, true>, grid, S::kThreads, S::kSharedBytes, stream, p);
    return launch(convolve<T, S, false>, grid, S::kThreads, S::kSharedBytes, stream, p);
}

// 0: 32-64, stride 2; 1: 64-128, stride 2; 2 and 5: 128-128, for small and large pictures;
// 3: 128-64, enlarged; 4: 64-32, enlarged; 6 and 7: as 1 and 2, with less shared memory.
template <typename T>
int launch_kind(int kind, const Conv& p, int samples, cudaStream_t stream) {
    switch (kind) {
        case 0: return launch_conv<T, Down1>(p, samples, stream);
        case 1: return launch_conv<T, Down2>(p, samples, stream);
        case 2: return launch_conv<T, Same>(p, samples, stream);
        case 3: return launch_conv<T, Up1>(p, samples, stream);
        case 4: return launch_conv<T, Up2>(p, samples, stream);
        case 5: return launch_conv<T, SameWide>(p, samples, stream);
        case 6: return launch_conv<T, Down2Small>(p, samples, stream);
        case 7: return launch_conv<T, SameSmall>(p, samples, stream);
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge

using namespace styleforge;

// The launchers, called through their C names. `dtype` is 0 for FP16, 1 for BF16; `kind` chooses
// the layer, see launch_kind. Each returns a cudaError_t.
extern "C" {

int styleforge_conv(int kind, int dtype, const Conv* p, int samples, void* stream) {
    const auto s = static_cast<cudaStream_t>(stream);
    return dtype ? launch_kind<__nv_bfloat16>(kind, *p, samples, s)
                 : launch_kind<__half>(kind, *p, samples, s);
}

int styleforge_conv_first(int dtype, int from_bytes, const First* q, int samples, void* stream) {
    using S = FirstShape;
    First p = *q;
    p.tiling.tile_h = S::kTileH, p.tiling.tile_w = S::kTileW, p.tiling.copies = 1;
    p.tiling.rows = (p.tiling.height + S::kTileH - 1) / S::kTileH;
    p.tiling.columns = (p.tiling.width + S::kTileW - 1) / S::kTileW;
    const dim3 grid(p.tiling.rows * p.tiling.columns, 1, samples);
    const auto s = static_cast<cudaStream_t>(stream);
    const auto go = [&](auto* kernel) {
        return launch(kernel, grid, S::kThreads, S::kSharedBytes, s, p);
    };
    if (dtype)
        return from_bytes ? go(convolve_first<__nv_bfloat16, uint8_t>)
                          : go(convolve_first<__nv_bfloat16, __nv_bfloat16>);
    return from_bytes ? go(convolve_first<__half, uint8_t>) : go(convolve_first<__half, __half>);
}

int styleforge_conv_last(int dtype, int to_bytes, const Last* p, int samples, void* stream) {
    using S = LastShape;
    const dim3 grid((p->width + S::kTileW - 1) / S::kTileW, (p->height + S::kTileH - 1) / S::kTileH,
                    samples);
    const auto s = static_cast<cudaStream_t>(stream);
    const auto go = [&](auto* kernel) {
        return launch(kernel, grid, S::kThreads, S::kSharedBytes, s, *p);
    };
    if (dtype)
        return to_bytes ? go(convolve_last<__nv_bfloat16, uint8_t>)
                        : go(convolve_last<__nv_bfloat16, __nv_bfloat16>);
    return to_bytes ? go(convolve_last<__half, uint8_t>) : go(convolve_last<__half, __half>);
}

}  // extern "C"
