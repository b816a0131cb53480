// Norm, ReLU and residual of a layer's input.
#pragma once

#include "include/common/convert.cuh"
#include "include/common/ptx.cuh"

namespace styleforge::sm80 {

// Eight channels of a pixel, in memory layout and as operands. `part` counts eights within
// S::kChunk channels.
template <typename S>
struct EightChannels {
    // 16-byte pieces. In FP32, neighboring threads' pieces alternate in memory, so that they read
    // and write 32 bytes together; see channel_order.
    static constexpr int kPieces = S::kStoredBytes / 2, kBetween = 2;
    // Operands replace the loaded data in a slot. The first copy is at part * 16, the second after
    // the first copies of all channels.
    static constexpr int kSlotBetween = S::kChunk * 2;

    uint4 piece[kPieces];

    static __device__ __forceinline__ int first_piece(int part) {
        return kPieces == 2 ? part / 2 * 4 + part % 2 : part;
    }
    static __device__ __forceinline__ void copy(uint32_t slot, const uint4* from) {
#pragma unroll
        for (int i = 0; i < kPieces; ++i)
            cp_async_16B(slot + i * kSlotBetween, from + i * kBetween);
    }
    static __device__ __forceinline__ EightChannels load(const uint4* from) {
        if constexpr (kPieces == 1) return {__ldcg(from)};
        else return {__ldcg(from), __ldcg(from + kBetween)};
    }
    __device__ __forceinline__ void store(uint4* to) const {
#pragma unroll
        for (int i = 0; i < kPieces; ++i) to[i * kBetween] = piece[i];
    }
    static __device__ __forceinline__ void load_affine(const float2* all, int part,
                                                       float4 (&affine)[4]) {
        const auto* from = reinterpret_cast<const float4*>(all + first_piece(part) * (8 / kPieces));
#pragma unroll
        for (int i = 0; i < 4; ++i) affine[i] = from[kPieces == 2 ? i / 2 * 4 + i % 2 : i];
    }

    static __device__ __forceinline__ void unpack(const uint4& four, float* v) {
        v[0] = __int_as_float(four.x), v[1] = __int_as_float(four.y);
        v[2] = __int_as_float(four.z), v[3] = __int_as_float(four.w);
    }
    static __device__ __forceinline__ uint4 pack(const float* v) {
        return {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                __float_as_uint(v[3])};
    }

    // Applies norm and ReLU or residual in FP32, rounds once, and replaces the data in the slot
    // with operands. With a single piece, the input comes from registers.
    template <typename T, bool kAdd>
    __device__ __forceinline__ void normalize_activate(const uint4& raw, unsigned char* slot,
                                                       const float4 (&affine)[4],
                                                       const EightChannels& add) {
        auto* const at = reinterpret_cast<uint4*>(slot);
        static_assert(S::kAsync || kPieces == 1);
        if constexpr (kPieces == 1) {
            uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
            const uint32_t more[4] = {add.piece[0].x, add.piece[0].y, add.piece[0].z,
                                      add.piece[0].w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float2 v = Pair<T>::unpack(word[i]);
                v.x = fmaf(v.x, affine[i].x, affine[i].y);
                v.y = fmaf(v.y, affine[i].z, affine[i].w);
                if (kAdd) {
                    const float2 r = Pair<T>::unpack(more[i]);
                    word[i] = Pair<T>::pack(v.x + r.x, v.y + r.y);
                } else {
                    word[i] = Pair<T>::pack_relu(v.x, v.y);
                }
            }
            *at = piece[0] = {word[0], word[1], word[2], word[3]};
        } else {
            auto* const second = reinterpret_cast<uint4*>(slot + kSlotBetween);
            float v[8], more[8];
            unpack(raw, v), unpack(*second, v + 4);
            unpack(add.piece[0], more), unpack(add.piece[1], more + 4);
            uint32_t high[4], low[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float &a = v[2 * i], &b = v[2 * i + 1];
                a = fmaf(a, affine[i].x, affine[i].y), b = fmaf(b, affine[i].z, affine[i].w);
                if (kAdd) a += more[2 * i], b += more[2 * i + 1];
                else a = relu(a), b = relu(b);
                high[i] = Pair<T>::pack(a, b);
                if (S::kCopies == 2) low[i] = pack_rounding_error(high[i], a, b);
            }
            piece[0] = pack(v), piece[1] = pack(v + 4);
            *at = {high[0], high[1], high[2], high[3]};
            if (S::kCopies == 2) *second = {low[0], low[1], low[2], low[3]};
        }
    }
};

}  // namespace styleforge::sm80
