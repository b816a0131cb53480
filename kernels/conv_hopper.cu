// The network's layers for Hopper (sm_90a): persistent blocks in which some warps load and
// normalise the next pixels while two warpgroups multiply these.
//
// The operation is that of conv_fusion.cu: raw outputs in memory, norm, ReLU and residual on the
// way in. Here output channels are the rows of a product and pixels its columns, so that a thread
// holds many pixels of two channels: statistics need no other thread until the very end. Pixels
// lie in shared memory as [8-channel part][pixel][16 bytes]; a tap is a shift by whole pixels.
//
// In FP32, activations are FP32 in memory. Operands are then FP16, the 10 bits of TF32, or, for
// full precision, two FP16 each, of which three of the four products are taken: 22 bits.
#include <type_traits>

#include "include/pipeline.cuh"
#include "include/running_statistics.cuh"
#include "include/warpgroup.cuh"
#include "include/warpgroup_products.cuh"

namespace styleforge {

enum Kind { kSame, kDown, kUp };

struct Layer {
    const void* x;         // [N, H, W, Cin] raw
    Norm norm;             // of x
    const void* residual;  // [N, H, W, Cin], or null: added after norm, with no ReLU then
    void* activated;       // [N, H, W, Cin], or null: where what was loaded is kept
    const void* weight;    // [warpgroup][pass][slice][tap][part][64 rows][8]
    void* y;               // [N, H', W', Cout] raw
    Entries statistics;
    int height, width;          // of x
    int out_height, out_width;  // of what is tiled: of y, or of x where that is enlarged
    int tiles_long, tiles_short;
    int across;                 // the long side of tiles lies along the width
};

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

constexpr int kStagingBytes = 9216;  // of one warpgroup
constexpr int kMostShared = 232448;

template <typename Storage, typename Operand, bool kSplit_>
struct Mode {
    using S = Storage;
    using O = Operand;
    static constexpr bool kSplit = kSplit_, kWide = sizeof(S) == 4;
    static constexpr int kCopies = kSplit ? 2 : 1;
    static constexpr int kChunk = kWide ? 32 : 64;  // pixels staged at a time
    static constexpr int kPitch = 64 * sizeof(S) + 16;
    static_assert(kChunk * kPitch <= kStagingBytes);
};

// What a block computes at a time: kColumns pixels of 64 rows for each warpgroup.
template <typename M_, Kind kKind_, int kCin_, int kCout_, int kColumns_, int kSlice_, int kBurst_,
          int kStages_, int kRing_>
struct Form {
    using M = M_;
    static constexpr Kind kKind = kKind_;
    static constexpr int kCin = kCin_, kCout = kCout_, kColumns = kColumns_, kSlice = kSlice_;
    static constexpr int kBurst = kBurst_, kStages = kStages_, kRing = kRing_;
    // All helping warps load pixels but the last, which loads weights.
    // Accumulators of 256 columns take 128 registers of a thread, which leaves fewer threads.
    static constexpr bool kMovesRegisters = kColumns > 128;
    static constexpr int kConsumerRegisters = 176, kHelperRegisters = 152;
    static constexpr int kHelpers = kMovesRegisters ? 128 : 256, kLoaders = kHelpers - 32;
    static constexpr int kThreads = kConsumers + kHelpers;
    static constexpr int kStride = kKind == kDown ? 2 : 1;
    // Warpgroups take halves of the channels or phases, or, for want of them, of the pixels.
    static constexpr bool kHalves = kKind == kDown && kCout == 64;
    static constexpr int kGroupLong = kColumns / 8, kTileLong = kGroupLong * (kHalves ? 2 : 1);
    // With a stride of two, even and odd pixels lie apart, in quarters of the patch.
    static constexpr int kPitch = kStride == 2 ? 9 : 10;
    static constexpr int kQuarter = (kTileLong + 1) * kPitch;
    static constexpr int kPositions = kStride == 2 ? 4 * kQuarter : (kTileLong + 2) * kPitch;
    static constexpr int kParts = kSlice / 8, kAllParts = kParts * M::kCopies;
    static constexpr int kPlane = (kPositions | 1) * 16;  // odd: parts fall on different banks
    static constexpr int kSlotBytes = (kAllParts * kPlane + 127) / 128 * 128;
    static constexpr int kSlices = kCin / kSlice, kPasses = kKind == kUp && kCout == 64 ? 2 : 1;
    static constexpr int kTaps = kKind == kUp ? (kCout == 64 ? 4 : 6) : 9;
    // The steps of a warpgroup's turn, each of kBurst taps: long enough for the next to be under
    // way in time. A stage has the weights of a step, 64 rows; where all fit, they stay.
    static constexpr int kBursts = kTaps / kBurst, kSteps = kSlices * kBursts;
    static constexpr int kTapBytes = 64 * kAllParts * 16, kStageBytes = kBurst * kTapBytes;
    static constexpr bool kResident = kStages == kSteps * kPasses * (kHalves ? 1 : 2);
    static constexpr int kStagingAt = kRing * kSlotBytes + kStages * kStageBytes;
    static constexpr int kBytes = kStagingAt + 2 * kStagingBytes;
    // More than half of what a multiprocessor has: one block to each, so none waits on another.
    static constexpr int kSharedBytes = kBytes > 120000 ? kBytes : 120000;
    static constexpr int kTableBytes = 2 * kPositions * 4 + kCin * 8 + (kRing + kStages) * 16;
    // Both warpgroups go through all slots of a tile, one after the other.
    static_assert(kRing >= kSlices && kTaps % kBurst == 0);
    static_assert(kSharedBytes + kTableBytes + 64 <= kMostShared);
};

__device__ __forceinline__ int clamp(int i, int size) { return max(0, min(size - 1, i)); }

// Mirror at the border, then stay inside: tiles may reach beyond the mirror image.
__device__ __forceinline__ int mirror(int i, int size) {
    i = abs(i);
    return clamp(size - 1 - abs(size - 1 - i), size);
}

template <typename O>
__device__ __forceinline__ uint32_t pair_of(float a, float b) {
    return Pair<O>::close(a, b);
}

// The same after a ReLU, which costs no instruction here. NaN stays.
template <typename O>
__device__ __forceinline__ uint32_t pair_of_relu(float a, float b) {
    uint32_t pair = 0;
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if constexpr (std::is_same_v<O, __half>)
        asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
    else
        asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(b), "f"(a));
#endif
    return pair;
}

__device__ __forceinline__ float relu(float v) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm("max.NaN.f32 %0, %0, 0f00000000;" : "+f"(v));  // NaN stays
#endif
    return v;
}

// What a pair leaves after its first rounding.
__device__ __forceinline__ uint32_t rest_of(uint32_t pair, float a, float b) {
    const float2 rounded = Pair<__half>::open(pair);
    return Pair<__half>::close(a - rounded.x, b - rounded.y);
}

// Eight channels of a pixel as they lie in memory.
template <typename S>
struct Eight {
    uint4 all;
    __device__ __forceinline__ void load(const void* from) {
        all = __ldcg(static_cast<const uint4*>(from));
    }
    __device__ __forceinline__ void open(float (&v)[8]) const {
        const uint32_t word[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float2 pair = Pair<S>::open(word[i]);
            v[2 * i] = pair.x, v[2 * i + 1] = pair.y;
        }
    }
    static __device__ __forceinline__ void store(void* to, const float (&)[8], const uint4& packed) {
        __stcg(static_cast<uint4*>(to), packed);
    }
};

template <>
struct Eight<float> {
    float4 low, high;
    __device__ __forceinline__ void load(const void* from) {
        low = __ldcg(static_cast<const float4*>(from));
        high = __ldcg(static_cast<const float4*>(from) + 1);
    }
    __device__ __forceinline__ void open(float (&v)[8]) const {
        v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
        v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
    }
    static __device__ __forceinline__ void store(void* to, const float (&v)[8], const uint4&) {
        __stcg(static_cast<float4*>(to), float4{v[0], v[1], v[2], v[3]});
        __stcg(static_cast<float4*>(to) + 1, float4{v[4], v[5], v[6], v[7]});
    }
};

// Norm, then ReLU or residual, rounded once (or twice, for two operands) into shared memory.
template <typename M, bool kAdd>
__device__ __forceinline__ void activate(unsigned char* to, int rest, const Eight<typename M::S>& raw,
                                         const Eight<typename M::S>& add, const float2 (&own)[8],
                                         void* keep, bool kept) {
    using O = typename M::O;
    float v[8];
    raw.open(v);
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = fmaf(v[i], own[i].x, own[i].y);
    if constexpr (kAdd) {
        float more[8];
        add.open(more);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] += more[i];
    } else if constexpr (M::kWide) {
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = relu(v[i]);
    }
    uint4 packed;
    if constexpr (kAdd || M::kWide)
        packed = {pair_of<O>(v[0], v[1]), pair_of<O>(v[2], v[3]), pair_of<O>(v[4], v[5]),
                  pair_of<O>(v[6], v[7])};
    else
        packed = {pair_of_relu<O>(v[0], v[1]), pair_of_relu<O>(v[2], v[3]),
                  pair_of_relu<O>(v[4], v[5]), pair_of_relu<O>(v[6], v[7])};
    *reinterpret_cast<uint4*>(to) = packed;
    if constexpr (M::kSplit)
        *reinterpret_cast<uint4*>(to + rest) = {
            rest_of(packed.x, v[0], v[1]), rest_of(packed.y, v[2], v[3]),
            rest_of(packed.z, v[4], v[5]), rest_of(packed.w, v[6], v[7])};
    if (kept) Eight<typename M::S>::store(keep, v, packed);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Barriers of parts of a block: where the norm of a layer's input is known, and where the first
// warpgroup waits for its turn; the second waits at the next.
constexpr int kNormReady = 5, kFirstTurn = 6;

// One step of kDeep x 16 channels; with two operands, the three products that matter.
template <typename M, int kColumns, int kDeep>
__device__ __forceinline__ void multiply_step(float (&acc)[kColumns / 2], uint32_t a,
                                              int a_along_k, uint32_t b, int b_along_k,
                                              int b_along_columns) {
    const auto product = [&](int i, int j) {
        Group<typename M::O, kColumns>::multiply(
            acc, matrix_at(a + i * 2 * a_along_k, a_along_k, 128),
            matrix_at(b + j * 2 * b_along_k, b_along_k, b_along_columns));
    };
#pragma unroll
    for (int k = 0; k < kDeep; ++k) {
        product(k, k);
        if constexpr (M::kSplit) product(k, k + kDeep), product(k + kDeep, k);
    }
}

// The kChunk pixels from chunk * kChunk of a warpgroup's accumulators into `staging`,
// [pixel][row].
template <typename M, int kColumns, int kChunk>
__device__ __forceinline__ void stage(const float (&acc)[kColumns / 2], unsigned char* staging,
                                      int chunk) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    constexpr int kOf = kChunk / 8;
#pragma unroll
    for (int c = 0; c < kColumns / kChunk; ++c) {
        if (c != chunk) continue;
        if constexpr (M::kWide) {
            float* to = reinterpret_cast<float*>(staging) + warp * 16 + lane / 4 +
                        lane % 4 * 2 * (M::kPitch / 4);
#pragma unroll
            for (int j = 0; j < kOf; ++j)
#pragma unroll
                for (int k = 0; k < 4; ++k)
                    to[(j * 8 + k % 2) * (M::kPitch / 4) + k / 2 * 8] = acc[(c * kOf + j) * 4 + k];
        } else {
            const uint32_t to = shared_address(staging) + (lane / 16 * 8 + lane % 8) * M::kPitch +
                                warp * 32 + lane / 8 % 2 * 16;
#pragma unroll
            for (int j = 0; j < kOf; j += 2) {
                const float* v = acc + (c * kOf + j) * 4;
                using S = typename M::S;
                store_matrices_aside(to + j * 8 * M::kPitch, pair_of<S>(v[0], v[1]),
                                     pair_of<S>(v[2], v[3]), pair_of<S>(v[4], v[5]),
                                     pair_of<S>(v[6], v[7]));
            }
        }
    }
}

template <typename F>
struct Rings {
    uint64_t full[F::kRing], empty[F::kRing], loaded[F::kStages], used[F::kStages];
};

// What the warpgroups do. They take turns: while one multiplies, the other stores what it has.
template <typename F>
__device__ __forceinline__ void multiply_tiles(const Layer& p, unsigned char* ring,
                                               unsigned char* stages, Rings<F>& rings) {
    using M = typename F::M;
    const int sample = blockIdx.z, group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4;
    const int lane = threadIdx.x % 32;
    const int tiles = p.tiles_long * p.tiles_short;
    const uint32_t weights = shared_address(stages);
    unsigned char* staging = ring + F::kStagingAt + group * kStagingBytes;
    const int shift = F::kHalves ? group * F::kGroupLong * F::kPitch : 0;
    // Where the pixels of a tap begin in the patch.
    const auto place = [&](int tap, int pass) {
        int dy, dx;
        if constexpr (F::kKind != kUp) dy = tap / 3, dx = tap % 3;
        else if constexpr (F::kCout == 64) dy = pass + tap / 2, dx = group + tap % 2;
        else dy = group + tap / 3, dx = tap % 3;
        const int along = p.across ? dx : dy, aside = p.across ? dy : dx;
        if constexpr (F::kStride == 2)
            return (along % 2 * 2 + aside % 2) * F::kQuarter + along / 2 * F::kPitch + aside / 2;
        else
            return along * F::kPitch + aside;
    };
    Spread spread;
    Turn<F::kRing> slot;
    Turn<F::kStages> step;  // the weights of both lie in one ring, in the order of their turns
    if (group == 1) step.skip(F::kSteps), arrive_to_meet<kConsumers>(kFirstTurn);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const Turn<F::kRing> first = slot;
        const int from_long = tile / p.tiles_short * F::kTileLong + (F::kHalves ? group * F::kGroupLong : 0);
        const int from_short = tile % p.tiles_short * 8;
        const int size_long = p.across ? p.out_width : p.out_height;
        const int size_short = p.across ? p.out_height : p.out_width;
#pragma unroll 1
        for (int pass = 0; pass < F::kPasses; ++pass) {
            const bool last_pass = pass == F::kPasses - 1;
            slot = first;
            float acc[F::kColumns / 2] = {};
            meet<kConsumers>(kFirstTurn + group);
            int previous_step = 0, previous_slot = 0;
#pragma unroll 1
            for (int slice = 0; slice < F::kSlices; ++slice) {
                if (pass == 0) wait_for(&rings.full[slot.at], slot.parity);
                const uint32_t pixels = shared_address(ring) + slot.at * F::kSlotBytes + shift * 16;
#pragma unroll 1
                for (int burst = 0; burst < F::kBursts; ++burst) {
                    const int stage = F::kResident ? ((F::kHalves ? 0 : group) * F::kPasses + pass) *
                                                             F::kSteps + slice * F::kBursts + burst
                                                   : step.at;
                    wait_for(&rings.loaded[stage], F::kResident ? 0 : step.parity);
                    begin_products();
#pragma unroll
                    for (int tap = 0; tap < F::kBurst; ++tap)
                        multiply_step<M, F::kColumns, F::kSlice / 16>(
                            acc, weights + stage * F::kStageBytes + tap * F::kTapBytes, 64 * 16,
                            pixels + place(burst * F::kBurst + tap, pass) * 16, F::kPlane,
                            F::kPitch * 16);
                    commit_products();
                    // The step before is over now, and so may be the slice before.
                    if (slice + burst > 0) {
                        wait_for_products<1>();
                        if (!F::kResident) arrive_as_warp(&rings.used[previous_step]);
                        if (burst == 0 && last_pass) arrive_as_warp(&rings.empty[previous_slot]);
                    }
                    previous_step = stage;
                    step.next();
                }
                previous_slot = slot.at;
                slot.next();
            }
            // The other's turn. After the last one nobody waits.
            if (group == 0 || !last_pass || tile + gridDim.x < tiles)
                arrive_to_meet<kConsumers>(kFirstTurn + 1 - group);
            wait_for_products<0>();
            if (!F::kResident) arrive_as_warp(&rings.used[previous_step]), step.skip(F::kSteps);
            if (last_pass) arrive_as_warp(&rings.empty[previous_slot]);

            spread.add<F::kColumns>(acc, size_long - from_long, size_short - from_short);
            // Each thread takes 16 bytes of every kSide-th pixel along the tile.
            constexpr int kChunk = M::kChunk;
            constexpr int kPieces = 64 * sizeof(typename M::S) / 16, kSide = 128 / kPieces / 8;
            constexpr int kScale = F::kKind == kUp ? 2 : 1;
            const int piece = threadIdx.x % kPieces, q = threadIdx.x % 128 / kPieces;
            const int along = from_long + q / 8, aside = from_short + q % 8;
            int oy = (p.across ? aside : along) * kScale, ox = (p.across ? along : aside) * kScale;
            if constexpr (F::kKind == kUp && F::kCout == 64) oy += pass, ox += group;
            if constexpr (F::kKind == kUp && F::kCout == 32) oy += group;
            const int line = p.out_width * kScale * F::kCout, left = aside < size_short ? size_long - along : 0;
            auto* y = static_cast<typename M::S*>(p.y) +
                      static_cast<size_t>(sample * p.out_height * kScale + oy) * line +
                      ox * F::kCout + (F::kCout == 128 ? group * 64 : 0);
            auto* to = reinterpret_cast<uint4*>(y) + piece;
            const int jump = kSide * kScale * (p.across ? F::kCout : line) / (16 / sizeof(typename M::S));
            const unsigned char* from = staging + q * M::kPitch + piece * 16;
#pragma unroll 1
            for (int chunk = 0; chunk < F::kColumns / kChunk; ++chunk) {
                stage<M, F::kColumns, kChunk>(acc, staging, chunk);
                meet<128>(2 + group);
#pragma unroll
                for (int i = 0; i < kChunk / 8; i += kSide, to += jump)
                    if (chunk * (kChunk / 8) + i < left)
                        *to = *reinterpret_cast<const uint4*>(from + i * 8 * M::kPitch);
                meet<128>(2 + group);
            }
        }
    }
    leave_statistics<F::kCout>(p.statistics, spread, sample, group * 64 + warp * 16 + lane / 4,
                               reinterpret_cast<float4*>(ring));
}

// Where in x the pixel of each position of a tile lies, in units of eight channels so that large
// pictures do not overflow; with the highest bit set where another tile keeps that pixel.
template <typename F, bool kKeep>
__device__ __forceinline__ void find_places(int* places, const Layer& p, int tile) {
    const int size_long = p.across ? p.width : p.height, size_short = p.across ? p.height : p.width;
    const int step_long = (p.across ? 1 : p.width) * (F::kCin / 8);
    const int step_short = (p.across ? p.width : 1) * (F::kCin / 8);
    const int from_long = tile / p.tiles_short * F::kTileLong * F::kStride - 1;
    const int from_short = tile % p.tiles_short * 8 * F::kStride - 1;
    for (int i = threadIdx.x - kConsumers; i < F::kPositions; i += F::kLoaders) {
        int l = i / F::kPitch, s = i % F::kPitch;
        if constexpr (F::kStride == 2) {
            const int quarter = i / F::kQuarter;
            l = i % F::kQuarter / F::kPitch * 2 + quarter / 2;
            s = i % F::kQuarter % F::kPitch * 2 + quarter % 2;
        }
        const int along = from_long + l, aside = from_short + s;
        constexpr bool kRepeats = F::kKind == kUp;  // the border of what is enlarged
        const int at =
            (kRepeats ? clamp(along, size_long) : mirror(along, size_long)) * step_long +
            (kRepeats ? clamp(aside, size_short) : mirror(aside, size_short)) * step_short;
        const bool own = l > 0 && l <= F::kTileLong && s > 0 && s <= 8 && along < size_long &&
                         aside < size_short;
        places[i] = !kKeep || own ? at : at | 0x80000000;
    }
}

template <typename F, bool kAdd, bool kKeep>
__device__ __forceinline__ void load_tiles(const Layer& p, unsigned char* ring, Rings<F>& rings,
                                           const float2* affine) {
    using M = typename F::M;
    using S = typename M::S;
    constexpr int kParts = F::kParts, kPixels = F::kLoaders / kParts;  // pixels at a time
    constexpr int kTurns = (F::kPositions + kPixels - 1) / kPixels;
    // Loads under way together.
    constexpr int kAhead = (F::kMovesRegisters ? 12 : 8) / (kAdd || kKeep ? 2 : 1) / (M::kWide ? 2 : 1);
    __shared__ int places[2][F::kPositions];
    const int first = (threadIdx.x - kConsumers) / kParts, part = threadIdx.x % kParts;
    const size_t from = static_cast<size_t>(blockIdx.z) * p.height * p.width * F::kCin + part * 8;
    const S* x = static_cast<const S*>(p.x) + from;
    const S* residual = kAdd ? static_cast<const S*>(p.residual) + from : nullptr;
    S* keep = kKeep ? static_cast<S*>(p.activated) + from : nullptr;
    const int tiles = p.tiles_long * p.tiles_short;
    Turn<F::kRing> slot;
    Turn<2> table;
    bool ready = false;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, table.next()) {
        find_places<F, kKeep>(places[table.at], p, tile);
        meet<F::kLoaders>(4);
        if (!ready) wait_for_previous_layer();
        const int* place = places[table.at] + first;
        for (int slice = 0; slice < F::kSlices; ++slice, slot.next()) {
            Eight<S> raw[kAhead], add[kAdd ? kAhead : 1];
            unsigned offset[kKeep ? kAhead : 1];
            bool own_pixel[kKeep ? kAhead : 1];
            const auto within = [&](int turn) {
                return (turn + 1) * kPixels <= F::kPositions ||
                       turn * kPixels + first < F::kPositions;
            };
            const auto load = [&](int turn) {
                if (!within(turn)) return;
                const int k = turn % kAhead;
                const int at = place[turn * kPixels];
                const int there = kKeep ? at & 0x7fffffff : at;
                raw[k].load(x + slice * F::kSlice + 8 * static_cast<size_t>(there));
                if (kAdd) add[k].load(residual + slice * F::kSlice + 8 * static_cast<size_t>(there));
                if (kKeep) offset[k] = there, own_pixel[k] = at >= 0;
            };
#pragma unroll
            for (int turn = 0; turn < kAhead && turn < kTurns; ++turn) load(turn);
            if (!ready) meet<F::kCin + F::kLoaders>(kNormReady), ready = true;
            float2 own[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) own[i] = affine[slice * F::kSlice + part * 8 + i];
            wait_for(&rings.empty[slot.at], slot.parity ^ 1);
            unsigned char* to = ring + slot.at * F::kSlotBytes + part * F::kPlane + first * 16;
#pragma unroll
            for (int turn = 0; turn < kTurns; ++turn) {
                const int k = turn % kAhead;
                if (within(turn))
                    activate<M, kAdd>(to + turn * kPixels * 16, kParts * F::kPlane, raw[k],
                                      add[kAdd ? k : 0], own,
                                      kKeep ? keep + slice * F::kSlice + 8 * static_cast<size_t>(offset[k]) : nullptr,
                                      kKeep && own_pixel[k]);
                if (turn + kAhead < kTurns) load(turn + kAhead);
            }
            publish_to_tensor_cores();
            __syncwarp();
            arrive_as_warp(&rings.full[slot.at]);
        }
    }
}

template <typename F>
__device__ __forceinline__ void load_weights(const Layer& p, unsigned char* stages,
                                             Rings<F>& rings) {
    const auto* weight = static_cast<const unsigned char*>(p.weight);
    const auto copy = [&](int stage, int step) {
        expect_bytes(&rings.loaded[stage], F::kStageBytes);
        copy_bulk(stages + stage * F::kStageBytes, weight + step * F::kStageBytes, F::kStageBytes,
                  &rings.loaded[stage]);
    };
    if constexpr (F::kResident) {
        for (int step = 0; step < F::kStages; ++step) copy(step, step);
    } else {
        const int tiles = p.tiles_long * p.tiles_short;
        Turn<F::kStages> stage;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
            for (int turn = 0; turn < 2 * F::kPasses; ++turn) {
                const int pass = turn / 2, group = F::kHalves ? 0 : turn % 2;
                for (int step = 0; step < F::kSteps; ++step, stage.next()) {
                    wait_for(&rings.used[stage.at], stage.parity ^ 1);
                    copy(stage.at, (group * F::kPasses + pass) * F::kSteps + step);
                }
            }
    }
}

#endif

template <typename F, bool kAdd, bool kKeep>
__global__ void __launch_bounds__(F::kThreads, 1) convolve_tiles(const Layer p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    extern __shared__ __align__(128) unsigned char shared[];
    unsigned char* stages = shared + F::kRing * F::kSlotBytes;
    __shared__ Rings<F> rings;
    __shared__ float2 affine[F::kCin];
    if (threadIdx.x == 0) {
        for (int i = 0; i < F::kRing; ++i)
            begin_barrier(&rings.full[i], F::kLoaders / 32 * kArrivals),
                begin_barrier(&rings.empty[i], 8 * kArrivals);
        for (int i = 0; i < F::kStages; ++i)
            begin_barrier(&rings.loaded[i], 1), begin_barrier(&rings.used[i], 4 * kArrivals);
    }
    publish_to_tensor_cores();
    __syncthreads();
    let_next_layer_start();
    if (threadIdx.x < kConsumers) {
        if constexpr (F::kMovesRegisters) take_registers<F::kConsumerRegisters>();
        // These have nothing to do yet, and the loading warps can start on the pixels meanwhile.
        if (threadIdx.x < F::kCin) {
            wait_for_previous_layer();
            affine[threadIdx.x] = merged_norm<F::kCin>(p.norm, blockIdx.z, threadIdx.x);
            arrive_to_meet<F::kCin + F::kLoaders>(kNormReady);
        }
        multiply_tiles<F>(p, shared, stages, rings);
    } else {
        if constexpr (F::kMovesRegisters) give_registers<F::kHelperRegisters>();
        if (threadIdx.x < kConsumers + F::kLoaders) load_tiles<F, kAdd, kKeep>(p, shared, rings, affine);
        else if (threadIdx.x == kConsumers + F::kLoaders) load_weights<F>(p, stages, rings);
    }
#endif
}

// The first and the last layer: 9x9, few channels on one side. Their 64 rows are 32 channels, or
// nine columns of the kernel times three colours, for two rows of pixels; ten rows of the kernel
// then serve both. Blocks sweep down a strip, so each row of x is loaded once.
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

using Half = Mode<__half, __half, false>;
using Brain = Mode<__nv_bfloat16, __nv_bfloat16, false>;
using Single = Mode<float, __half, false>;  // TF32 allowed
using Exact = Mode<float, __half, true>;

//                         Cin  Cout  px  slice burst stages ring
template <typename M> struct Forms {
    using Down1 = Form<M, kDown, 32, 64, 128, 32, 9, 1, 2>;
    using Down2 = Form<M, kDown, 64, 128, 128, 32, 3, 8, 2>;
    using Same = Form<M, kSame, 128, 128, 128, 64, 3, 4, 4>;
    using SameLarge = Form<M, kSame, 128, 128, 256, 64, 1, 8, 3>;
    using Up1 = Form<M, kUp, 128, 64, 128, 64, 2, 5, 4>;
    using Up2 = Form<M, kUp, 64, 32, 256, 64, 6, 2, 2>;
    using First = Sweep<M, 128, 8, true>;
    using Last = Sweep<M, 136, 8, false>;
};
template <> struct Forms<Exact> {
    using M = Exact;
    using Down1 = Form<M, kDown, 32, 64, 128, 16, 3, 3, 2>;
    using Down2 = Form<M, kDown, 64, 128, 128, 16, 3, 4, 4>;
    using Same = Form<M, kSame, 128, 128, 128, 32, 1, 7, 6>;
    using SameLarge = Form<M, kSame, 128, 128, 256, 32, 1, 4, 4>;
    using Up1 = Form<M, kUp, 128, 64, 128, 32, 1, 6, 6>;
    using Up2 = Form<M, kUp, 64, 32, 128, 32, 1, 12, 4>;
    using First = Sweep<M, 64, 6, true>;
    using Last = Sweep<M, 72, 6, false>;
};

template <typename Arguments>
int start(void (*kernel)(Arguments), dim3 grid, int threads, int shared, cudaStream_t stream,
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

template <typename F>
int start_layer(const Layer& p, dim3 grid, cudaStream_t stream) {
    const auto started = [&](auto* kernel) {
        return start(kernel, grid, F::kThreads, F::kSharedBytes, stream, p);
    };
    if constexpr (F::kKind == kSame) {
        if (p.residual && p.activated) return started(convolve_tiles<F, true, true>);
        if (p.activated) return started(convolve_tiles<F, false, true>);
    } else if constexpr (F::kCin == 128) {
        if (p.residual) return started(convolve_tiles<F, true, false>);
    }
    if (p.residual || p.activated) return cudaErrorInvalidValue;  // no layer needs it
    return started(convolve_tiles<F, false, false>);
}

// 0: 32-64, stride 2; 1: 64-128, stride 2; 2 and 3: 128-128 with small and large tiles;
// 4: 128-64, enlarged; 5: 64-32, enlarged.
template <typename M>
int start_kind(int kind, const Layer& p, dim3 grid, cudaStream_t stream) {
    switch (kind) {
        case 0: return start_layer<typename Forms<M>::Down1>(p, grid, stream);
        case 1: return start_layer<typename Forms<M>::Down2>(p, grid, stream);
        case 2: return start_layer<typename Forms<M>::Same>(p, grid, stream);
        case 3: return start_layer<typename Forms<M>::SameLarge>(p, grid, stream);
        case 4: return start_layer<typename Forms<M>::Up1>(p, grid, stream);
        case 5: return start_layer<typename Forms<M>::Up2>(p, grid, stream);
    }
    return cudaErrorInvalidValue;
}

template <typename M>
int start_first(int bytes, const Ends& p, dim3 grid, cudaStream_t stream) {
    using W = typename Forms<M>::First;
    return bytes ? start(sweep_first<W, uint8_t>, grid, W::kThreads, W::kSharedBytes, stream, p)
                 : start(sweep_first<W, typename M::S>, grid, W::kThreads, W::kSharedBytes, stream, p);
}

template <typename M>
int start_last(int bytes, const Ends& p, dim3 grid, cudaStream_t stream) {
    using W = typename Forms<M>::Last;
    return bytes ? start(sweep_last<W, uint8_t>, grid, W::kThreads, W::kSharedBytes, stream, p)
                 : start(sweep_last<W, typename M::S>, grid, W::kThreads, W::kSharedBytes, stream, p);
}

template <typename Call>
int with_mode(int mode, Call call) {
    switch (mode) {
        case 0: return call(Half{});
        case 1: return call(Brain{});
        case 2: return call(Single{});
        case 3: return call(Exact{});
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge

using namespace styleforge;

// The launchers, called through their C names. `mode` is 0 for FP16, 1 for BF16, 2 for FP32 with
// TF32 allowed, 3 for FP32; `kind` chooses the layer, see start_kind; `blocks` is the number of
// persistent blocks for each of the samples. Each returns a cudaError_t.
extern "C" {

int styleforge_hopper_conv(int kind, int mode, const Layer* p, int blocks, int samples,
                           void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_kind<decltype(m)>(kind, *p, dim3(blocks, 1, samples),
                                       static_cast<cudaStream_t>(stream));
    });
}

int styleforge_hopper_first(int mode, int bytes, const Ends* p, int blocks, int samples,
                            void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_first<decltype(m)>(bytes, *p, dim3(blocks, 1, samples),
                                        static_cast<cudaStream_t>(stream));
    });
}

int styleforge_hopper_last(int mode, int bytes, const Ends* p, int blocks, int samples,
                           void* stream) {
    return with_mode(mode, [&](auto m) {
        return start_last<decltype(m)>(bytes, *p, dim3(blocks, 1, samples),
                                       static_cast<cudaStream_t>(stream));
    });
}

}  // extern "C"
