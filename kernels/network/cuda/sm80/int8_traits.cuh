// The full network's 3x3 layers with 8-bit operands, except the first: it and the 9x9 layers run in
// FP16. A pixel has twice the channels of FP32 in the same bytes. All layers need so little shared
// memory that no small variants exist.
#pragma once

#include "traits.cuh"

namespace styleforge::sm80 {

template <>
struct FullLayers<Int8ViaFp16> {
    using P = Int8ViaFp16;
    //                   Cin Cout stride up  tile   warps chunk taps stages blocks residual
    using Down2 = ConvTraits<64, 128, 2, false, 8, 8, 2, 4, 32, 3, 3, 2, false, P>;
    using Same = ConvTraits<128, 128, 1, false, 8, 16, 2, 4, 32, 3, 3, 1, true, P>;
    using SameWide = ConvTraits<128, 128, 1, false, 16, 16, 4, 2, 32, 3, 3, 1, true, P>;
    using Up1 = ConvTraits<128, 64, 1, true, 8, 16, 2, 4, 32, 1, 4, 1, true, P>;
    using Up2 = ConvTraits<64, 32, 1, true, 16, 16, 2, 4, 32, 1, 0, 1, false, P>;
};

}  // namespace styleforge::sm80
