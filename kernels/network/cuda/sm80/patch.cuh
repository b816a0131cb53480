// The patch of a tile: copies the chunks of its channels to shared memory and replaces them with
// operands.
#pragma once

#include "include/common/border.cuh"
#include "include/common/ptx.cuh"
#include "activate.cuh"
#include "int8.cuh"
#include "params.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

// A thread's share of every chunk of a patch. It always copies and normalizes the same pieces, the
// channels of a pixel that make 16 bytes of operands, in one column of pixels.
template <typename S>
struct PatchPieces {
    static constexpr int kParts = S::kRowBytes / 16, kLanes = S::kPatchW * kParts;
    static constexpr int kRows = S::kThreads / kLanes;  // rows at once
    static constexpr int kCount = (S::kPatchH + kRows - 1) / kRows;
    static_assert(kRows > 0);

    int row, column, part, offset;  // of the first piece; offset within a slot
    bool active;

    __device__ __forceinline__ PatchPieces() {
        const int lane = threadIdx.x % kLanes;
        row = threadIdx.x / kLanes, column = lane / kParts, part = lane % kParts;
        active = row < kRows;
        // Columns that a stride of two skips are stored separately.
        const int at = S::kStride == 2 ? column % 2 * S::kHalfW + column / 2 : column;
        offset = (row * S::kSlotW + at) * S::kPixelBytes + part * 16;
    }
    __device__ __forceinline__ bool has(int k) const {
        return active && (S::kPatchH % kRows == 0 || row + k * kRows < S::kPatchH);
    }
    static __device__ __forceinline__ int place(int k) {
        return k * (kRows * S::kSlotW * S::kPixelBytes);
    }
    // Registers for a chunk's pieces between load and norm, if they do not wait in their slot.
    using Held = uint4[S::kAsync ? 1 : kCount];
};

// A chunk of the channels of a tile's patch.
template <typename T, typename S, bool kAdd>
struct PatchChunk {
    using Pieces = PatchPieces<S>;
    using Eight = ChannelsOf<S>;
    int y, x, chunk;  // of the tile's first output; of the channels

    // Returns the index of piece k in x, in units of 16 bytes.
    __device__ __forceinline__ int source(const ConvParams& p, const Pieces& own, int k) const {
        int i = y * S::kStride - 1 + own.row + k * Pieces::kRows;
        int j = x * S::kStride - 1 + own.column;
        i = S::kUpsample ? clamp_index(i, p.height) : reflect_index(i, p.height);
        j = S::kUpsample ? clamp_index(j, p.width) : reflect_index(j, p.width);
        return (i * p.width + j) * S::kPixelPieces + chunk * (Pieces::kParts * Eight::kPieces) +
               Eight::first_piece(own.part);
    }
    __device__ __forceinline__ void copy(const ConvParams& p, const Pieces& own, const uint4* plane,
                                         uint32_t slot) const {
#pragma unroll
        for (int k = 0; k < Pieces::kCount; ++k)
            if (own.has(k))
                Eight::copy(slot + own.offset + Pieces::place(k), plane + source(p, own, k));
    }
    __device__ __forceinline__ void hold(const ConvParams& p, const Pieces& own, const uint4* plane,
                                         typename Pieces::Held& held, int k) const {
        if (!S::kAsync && own.has(k)) held[S::kAsync ? 0 : k] = load_16B(plane + source(p, own, k));
    }
    __device__ __forceinline__ Eight residual(const ConvParams& p, const Pieces& own, size_t plane,
                                              int k) const {
        if (!kAdd || !own.has(k)) return {};
        return Eight::load(static_cast<const uint4*>(p.residual) + plane + source(p, own, k));
    }
    __device__ __forceinline__ void load_affine(const Pieces& own, const float2* all,
                                                float4 (&affine)[4]) const {
        Eight::load_affine(all + chunk * S::kChunk, own.part, affine);
    }
    __device__ __forceinline__ void normalize(const ConvParams& p, const Pieces& own, size_t plane,
                                              unsigned char* slot,
                                              const typename Pieces::Held& held,
                                              const float4 (&affine)[4], int k,
                                              const Eight& add) const {
        if (!own.has(k)) return;
        unsigned char* const at = slot + own.offset + Pieces::place(k);
        const uint4* const raw =
            S::kAsync ? reinterpret_cast<const uint4*>(at) : &held[S::kAsync ? 0 : k];
        Eight value;
        value.template normalize_activate<T, kAdd>(*raw, at, affine, add);
        if (S::kKeepsActivated && p.activated) {  // each pixel is interior to one patch
            const int i = own.row + k * Pieces::kRows - 1, j = own.column - 1;
            if (i >= 0 && i < S::kTileH && j >= 0 && j < S::kTileW && y + i < p.height &&
                x + j < p.width)
                value.store(static_cast<uint4*>(p.activated) + plane + source(p, own, k));
        }
    }
    // Converts up to `kCount` pieces from `first` on to integers. `add` holds all pieces.
    template <int kCount>
    __device__ __forceinline__ void to_integers(const ConvParams& p, const Pieces& own,
                                                size_t plane, unsigned char* slot,
                                                const float2* all, const float* ranges, int first,
                                                const Eight* add) const {
        const bool keeps = S::kKeepsActivated && p.activated;
#pragma unroll
        for (int half = 0; half < Eight::kPieces; ++half) {
            typename Eight::Affine affine;
            Eight::load_affine(all + chunk * S::kChunk, ranges + chunk * S::kChunk, own.part, half,
                               kAdd || keeps, affine);
#pragma unroll
            for (int k = first; k < first + kCount; ++k) {
                if (k >= Pieces::kCount || !own.has(k)) continue;
                const uint4 value = Eight::template to_integers<T, kAdd>(
                    slot + own.offset + Pieces::place(k), affine, add[kAdd ? k : 0].piece[half],
                    half, keeps);
                const int i = own.row + k * Pieces::kRows - 1, j = own.column - 1;
                if (keeps && i >= 0 && i < S::kTileH && j >= 0 && j < S::kTileW &&
                    y + i < p.height && x + j < p.width)
                    static_cast<uint4*>(p.activated)[plane + source(p, own, k) +
                                                     half * Eight::kBetween] = value;
            }
        }
    }
};

}  // namespace styleforge::sm80
