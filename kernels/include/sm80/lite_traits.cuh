// The layers of the lite network: 16, 32 and 48 channels, and 5x5 at both ends. Its layers are
// bound by memory and latency, not by products, so tiles are large for their channels, weights stay
// in shared memory where they fit beside them, and several blocks share a multiprocessor.
#pragma once

#include "traits.cuh"

namespace styleforge::sm80 {

// The `kind` of styleforge_sm80_conv, after those of the full network: 16-32 and 32-48 with stride
// 2; 48-48 for few tiles; 48-32 and 32-16 after nearest-neighbor upsampling by two; 48-48 for many
// tiles.
enum LiteConvKind {
    kLiteDown1 = kConvKinds,
    kLiteDown2,
    kLiteSame,
    kLiteUp1,
    kLiteUp2,
    kLiteSameWide
};

struct LiteFirstLayer : FirstConvTraits<16, 5, 16> {
    static constexpr const char* kWeightOrder = "out:16 | row:5 column:6 color:4";
};
struct LiteLastLayer : LastConvTraits<16, 5, 16, 9> {
    static constexpr const char* kWeightOrder = "column:5 color:3 | row:5 channel:16";
};

//                             Cin Cout k  s  up     tile   warps BlockK stages
using LiteDown1 = ConvTraits<16, 32, 3, 2, false, 8, 32, 8, 1, 16, 9>;
using LiteDown2 = ConvTraits<32, 48, 3, 2, false, 8, 16, 8, 1, 32, 4>;
using LiteSame = ConvTraits<48, 48, 3, 1, false, 8, 16, 4, 1, 48, 9>;
using LiteSameWide = ConvTraits<48, 48, 3, 1, false, 8, 32, 8, 1, 48, 9>;
using LiteUp1 = ConvTraits<48, 32, 2, 1, true, 8, 32, 8, 1, 48, 4>;
using LiteUp2 = ConvTraits<32, 16, 2, 1, true, 16, 32, 8, 1, 32, 4>;

// Shared memory, in bytes, that a GPU must offer a block for all layers: any of compute capability
// 8.0 or more does.
constexpr int kLiteRequiredSharedBytes = kRequiredSharedBytesSmall;

}  // namespace styleforge::sm80
