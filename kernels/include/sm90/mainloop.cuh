// Layers of 3x3 in tiles, for Hopper (sm_90a): some warps load and normalise the next pixels while
// two warpgroups multiply these, taking turns.
#pragma once

#include "traits.cuh"
#include "../common/welford.cuh"

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

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// Barriers of parts of a block: where the norm of a layer's input is known, and where the first
// warpgroup waits for its turn; the second waits at the next.
constexpr int kNormReady = 5, kFirstTurn = 6;

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

}  // namespace styleforge
