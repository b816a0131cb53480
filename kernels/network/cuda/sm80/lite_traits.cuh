// The layers of the lite network: 16, 32 and 48 channels, and 5x5 at both ends. Memory and latency
// bound them, not products, so all weights stay in shared memory, and several blocks share a
// multiprocessor.
#pragma once

#include "traits.cuh"

namespace styleforge::sm80 {

// The `kind` of its layers, numbered after the full network's: 16-32 and 32-48 with stride 2; 48-48
// with small tiles and with wide ones; 48-32 and 32-16 after nearest-neighbor upsampling by two. No
// layer needs a small variant.
enum LiteConvKind {
    kLiteDown1 = kConvKinds,
    kLiteDown2,
    kLiteSame,
    kLiteSameWide,
    kLiteUp1,
    kLiteUp2,
    kLiteConvKinds
};

template <>
struct LiteLayers<In16Bits> {
    using First = FirstConvTraits<16, 5, 16, 32, 8, 3>;
    using Last = LastConvTraits<16, 5, 16, 32, 9, 3>;
    //                         Cin Cout stride up  tile   warps chunk taps stages blocks
    using Down1 = ConvTraits<16, 32, 2, false, 8, 16, 4, 2, 16, 1, 0, 3>;
    using Down2 = ConvTraits<32, 48, 2, false, 8, 8, 4, 1, 16, 1, 0, 3>;
    using Same = ConvTraits<48, 48, 1, false, 8, 16, 4, 1, 16, 1, 0, 3>;
    using SameWide = ConvTraits<48, 48, 1, false, 16, 16, 8, 1, 16, 1, 0, 2>;
    using Up1 = ConvTraits<48, 32, 1, true, 8, 16, 2, 4, 16, 1, 0, 2, true>;
    using Up2 = ConvTraits<32, 16, 1, true, 8, 16, 2, 4, 32, 1, 0, 2>;
};

// Shared memory per block, in bytes, for all layers. Every GPU of compute capability 8.0 or higher
// has it.
constexpr int kLiteRequiredSharedBytes = kRequiredSharedBytesSmall;

}  // namespace styleforge::sm80
