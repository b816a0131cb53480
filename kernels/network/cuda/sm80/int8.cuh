// 8-bit operands: how a layer quantizes its input and scales its sums.
//
// Activations are FP16 in memory. Divided by their channel's range, they become integers in 0..255
// after a ReLU, or in -127..127 after adding a residual. Values beyond the range, or not finite,
// are clipped. A weight is multiplied by its input's range, and the largest weight of an output
// becomes 127. FP32 data follows a layer's weights: each column's scale factor for sums, and each
// input's reciprocal range.
#pragma once

#include "include/common/convert.cuh"
#include "include/common/ptx.cuh"
#include "activate.cuh"
#include "epilogue.cuh"

namespace styleforge::sm80 {

// Sixteen channels of a pixel: two pieces of eight in memory, which alternate with the neighboring
// thread's, and 16 bytes as operands. Each piece is normalized separately, so that only eight
// channels' scales are live at once. `part` counts sixteens within S::kChunk.
template <typename S>
struct SixteenChannels {
    static constexpr int kPieces = 2, kBetween = 2;
    // In a slot, operands replace the first pieces of all channels.
    static constexpr int kSlotBetween = S::kRowBytes;

    // Parameters of eight channels.
    struct Affine {
        float4 of[4];     // scale and bias, two channels each, see prepare_norm
        float4 range[2];  // see prepare_norm
    };

    uint4 piece[kPieces];

    static __device__ __forceinline__ int first_piece(int part) { return part / 2 * 4 + part % 2; }
    static __device__ __forceinline__ void copy(uint32_t slot, const uint4* from) {
#pragma unroll
        for (int i = 0; i < kPieces; ++i)
            cp_async_16B(slot + i * kSlotBetween, from + i * kBetween);
    }
    static __device__ __forceinline__ SixteenChannels load(const uint4* from) {
        return {__ldcg(from), __ldcg(from + kBetween)};
    }
    static __device__ __forceinline__ void load_affine(const float2* all, const float* ranges,
                                                       int part, int half, bool with_range,
                                                       Affine& affine) {
        const int channel = (first_piece(part) + half * kBetween) * 8;
        const auto* from = reinterpret_cast<const float4*>(all + channel);
#pragma unroll
        for (int i = 0; i < 4; ++i) affine.of[i] = from[i];
        const auto* range = reinterpret_cast<const float4*>(ranges + channel);
#pragma unroll
        for (int i = 0; i < 2; ++i)
            if (with_range) affine.range[i] = range[i];
    }

    // Applies norm and ReLU or residual in FP32 to a piece in a slot and rounds once to integers.
    // Returns the values as FP16 if `keeps` is set.
    template <typename T, bool kAdd>
    static __device__ __forceinline__ uint4 to_integers(unsigned char* slot, const Affine& affine,
                                                        const uint4& residual, int half,
                                                        bool keeps) {
        const uint4 raw = *reinterpret_cast<const uint4*>(slot + half * kSlotBetween);
        const uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
        const uint32_t more[4] = {residual.x, residual.y, residual.z, residual.w};
        const float range[8] = {affine.range[0].x, affine.range[0].y, affine.range[0].z,
                                affine.range[0].w, affine.range[1].x, affine.range[1].y,
                                affine.range[1].z, affine.range[1].w};
        uint32_t integer[8], kept[4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            float2 v = Pair<T>::unpack(word[i]);
            v.x = fmaf(v.x, affine.of[i].x, affine.of[i].y);
            v.y = fmaf(v.y, affine.of[i].z, affine.of[i].w);
            if (kAdd) {
                const float2 r = Pair<T>::unpack(more[i]);
                v.x += r.x, v.y += r.y;
                kept[i] = Pair<T>::pack(v.x, v.y);
                integer[2 * i] = signed_integer(fmaf(v.x, range[2 * i], 0.5f));
                integer[2 * i + 1] = signed_integer(fmaf(v.y, range[2 * i + 1], 0.5f));
            } else {
                if (keeps)
                    kept[i] = Pair<T>::pack_relu(v.x * range[2 * i], v.y * range[2 * i + 1]);
                integer[2 * i] = unsigned_integer(v.x);
                integer[2 * i + 1] = unsigned_integer(v.y);
            }
        }
        *reinterpret_cast<uint2*>(slot + half * 8) = {low_bytes(integer), low_bytes(integer + 4)};
        return {kept[0], kept[1], kept[2], kept[3]};
    }

    // Maps 0..1 to 0..255 or -127..127, in the low byte. FP32 numbers from 2^23 to 2^24 are
    // integers, so the sum is rounded to an integer.
    static __device__ __forceinline__ uint32_t unsigned_integer(float v) {
        return __float_as_uint(fmaf(__saturatef(v), 255, 8388608));
    }
    static __device__ __forceinline__ uint32_t signed_integer(float v) {
        return __float_as_uint(fmaf(__saturatef(v), 254, 12582912 - 127));
    }
    static __device__ __forceinline__ uint32_t low_bytes(const uint32_t* four) {
        return __byte_perm(__byte_perm(four[0], four[1], 0x0040),
                           __byte_perm(four[2], four[3], 0x0040), 0x5410);
    }
};

template <typename S, int kOperandBytes>
struct ChannelsBy {
    using Type = EightChannels<S>;
};
template <typename S>
struct ChannelsBy<S, 1> {
    using Type = SixteenChannels<S>;
};
template <typename S>
using ChannelsOf = typename ChannelsBy<S, S::kOperandBytes>::Type;

// Loads what follows a layer's weights: factors of the columns, and reciprocal ranges of the
// inputs.
template <typename S>
__device__ __forceinline__ void load_scales(const void* weight, float* factors, float* ranges) {
    const auto* from = reinterpret_cast<const float*>(static_cast<const unsigned char*>(weight) +
                                                      S::kSteps * S::kStageBytes);
    for (int n = threadIdx.x; n < S::kColumns; n += S::kThreads) factors[n] = from[n];
    for (int c = threadIdx.x; c < S::kCin; c += S::kThreads) ranges[c] = from[S::kColumns + c];
}

// Prepares norm and ranges; `ranges` holds reciprocals on entry. Each thread changes only the
// channels that it loaded. Without a residual, the norm divides by the range, and the saved
// activation is multiplied by it again. With one, half the reciprocal, plus an added half, maps the
// sums to 0..1.
template <typename S, bool kAdd>
__device__ __forceinline__ void prepare_norm(float2 (&affine)[S::kCin], float* ranges) {
    for (int c = threadIdx.x; c < S::kCin; c += S::kThreads) {
        const float inverse = ranges[c];
        if (!kAdd) affine[c].x *= inverse, affine[c].y *= inverse;
        ranges[c] = kAdd ? inverse * 0.5f : 1 / inverse;
    }
}

// Scales integer sums to numbers.
template <typename S>
__device__ __forceinline__ void scale_sums(const int (&acc)[S::kTilesM][S::kTilesN][4],
                                           const float* factors,
                                           float (&sums)[S::kTilesM][S::kTilesN][4]) {
    constexpr int kVector = OutputColumns<S>::kVector;
    const int warp_n = threadIdx.x / 32 / S::kWarpsM;
#pragma unroll
    for (int j = 0; j < S::kTilesN; ++j) {
        const int column = warp_n * S::kColumnsOfWarp + OutputColumns<S>::channel(j / kVector) +
                           j % kVector * 2;
        const float2 factor = *reinterpret_cast<const float2*>(factors + column);
#pragma unroll
        for (int i = 0; i < S::kTilesM; ++i)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                sums[i][j][half * 2] = static_cast<float>(acc[i][j][half * 2]) * factor.x;
                sums[i][j][half * 2 + 1] = static_cast<float>(acc[i][j][half * 2 + 1]) * factor.y;
            }
    }
}

}  // namespace styleforge::sm80
