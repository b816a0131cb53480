// The layers of both networks in FP32, multiplied as TF32 or in full precision. A channel takes
// twice the bytes of a 16-bit channel, so a slot holds half the channels, or a tile is smaller. A
// wheel has little room: a layer has a small or a wide-tiled variant only if it differs much.
#pragma once

#include "lite_traits.cuh"
#include "traits.cuh"

namespace styleforge::sm80 {

template <>
struct FullLayers<Tf32ViaFp16> {
    using P = Tf32ViaFp16;
    using First = FirstConvTraits<32, 9, 8, 32, 8, 2, P>;
    using Last = LastConvTraits<32, 9, 8, 32, 10, 2, P>;
    //                   Cin Cout stride up  tile   warps chunk taps stages blocks residual
    using Down1 = ConvTraits<32, 64, 2, false, 16, 8, 4, 2, 16, 1, 0, 1, false, P>;
    using Down2 = ConvTraits<64, 128, 2, false, 8, 16, 2, 4, 16, 3, 3, 1, false, P>;
    using Same = ConvTraits<128, 128, 1, false, 8, 16, 2, 4, 16, 3, 3, 1, true, P>;
    using SameWide = ConvTraits<128, 128, 1, false, 16, 16, 4, 2, 16, 3, 3, 1, true, P>;
    using Up1 = ConvTraits<128, 64, 1, true, 8, 16, 2, 4, 16, 1, 4, 1, true, P>;
    using Up2 = ConvTraits<64, 32, 1, true, 16, 16, 2, 4, 16, 1, 4, 1, false, P>;
    using FirstSmall = First;
    using LastSmall = LastConvTraits<32, 9, 8, 16, 6, 1, P>;
    using Down1Small = ConvTraits<32, 64, 2, false, 4, 16, 2, 4, 16, 3, 3, 1, false, P>;
    using Down2Small = ConvTraits<64, 128, 2, false, 8, 8, 2, 4, 16, 3, 3, 1, false, P>;
    using SameSmall = Same;
    using SameWideSmall = SameWide;
    using Up1Small = Up1;
    using Up2Small = Up2;
};

template <>
struct FullLayers<Fp32Split> {
    using P = Fp32Split;
    using First = FirstConvTraits<32, 9, 8, 32, 8, 2, P>;
    using Last = LastConvTraits<32, 9, 8, 32, 10, 1, P>;
    using Down1 = ConvTraits<32, 64, 2, false, 16, 8, 4, 2, 16, 3, 3, 1, false, P>;
    using Down2 = ConvTraits<64, 128, 2, false, 8, 16, 2, 4, 16, 1, 3, 1, false, P>;
    using Same = ConvTraits<128, 128, 1, false, 8, 16, 2, 4, 16, 1, 3, 1, true, P>;
    using SameWide = ConvTraits<128, 128, 1, false, 16, 16, 4, 2, 16, 1, 3, 1, true, P>;
    using Up1 = ConvTraits<128, 64, 1, true, 8, 16, 2, 4, 16, 1, 4, 1, true, P>;
    using Up2 = ConvTraits<64, 32, 1, true, 16, 16, 2, 4, 16, 1, 4, 1, false, P>;
    using FirstSmall = First;
    using LastSmall = LastConvTraits<32, 9, 8, 16, 6, 1, P>;
    using Down1Small = ConvTraits<32, 64, 2, false, 4, 16, 2, 4, 16, 3, 3, 1, false, P>;
    using Down2Small = ConvTraits<64, 128, 2, false, 8, 8, 2, 4, 16, 1, 3, 1, false, P>;
    using SameSmall = Same;
    using SameWideSmall = SameWide;
    using Up1Small = Up1;
    using Up2Small = Up2;
};

template <>
struct LiteLayers<Tf32ViaFp16> {
    using P = Tf32ViaFp16;
    using First = FirstConvTraits<16, 5, 16, 32, 8, 3, P>;
    using Last = LastConvTraits<16, 5, 8, 32, 9, 3, P>;
    using Down1 = ConvTraits<16, 32, 2, false, 8, 8, 4, 1, 16, 1, 0, 3, false, P>;
    using Down2 = ConvTraits<32, 48, 2, false, 8, 8, 4, 1, 16, 1, 0, 2, false, P>;
    using Same = ConvTraits<48, 48, 1, false, 8, 16, 4, 1, 16, 1, 0, 3, true, P>;
    using SameWide = Same;
    using Up1 = ConvTraits<48, 32, 1, true, 8, 16, 2, 4, 16, 1, 0, 1, true, P>;
    using Up2 = ConvTraits<32, 16, 1, true, 8, 16, 2, 4, 16, 1, 0, 2, false, P>;
};

// Twice the weights: those that do not fit pass through stages.
template <>
struct LiteLayers<Fp32Split> {
    using P = Fp32Split;
    using First = FirstConvTraits<16, 5, 8, 32, 8, 3, P>;
    using Last = LastConvTraits<16, 5, 8, 32, 9, 3, P>;
    using Down1 = ConvTraits<16, 32, 2, false, 8, 8, 4, 1, 16, 1, 0, 3, false, P>;
    using Down2 = ConvTraits<32, 48, 2, false, 8, 8, 4, 1, 16, 3, 3, 2, false, P>;
    using Same = ConvTraits<48, 48, 1, false, 8, 16, 4, 1, 16, 3, 3, 3, true, P>;
    using SameWide = Same;
    using Up1 = ConvTraits<48, 32, 1, true, 8, 16, 2, 4, 16, 1, 4, 1, true, P>;
    using Up2 = ConvTraits<32, 16, 1, true, 8, 16, 2, 4, 16, 1, 0, 2, false, P>;
};

}  // namespace styleforge::sm80
