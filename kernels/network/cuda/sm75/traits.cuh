// Tile shapes, threads and stages of both networks for sm_75, which has 64 KB of shared memory per
// block and per multiprocessor, and no cp.async: threads load data into registers and store it
// later. The kernels are sm80's.
#pragma once

#include "network/cuda/sm80/lite_traits.cuh"

namespace styleforge::sm75 {

// The lowest architecture these layers are for, and the first one that uses others.
constexpr const char *kTarget = "75", *kUntil = "80";

// Shared memory per block, and of all blocks of a multiprocessor together, in bytes. Unlike later
// architectures, this one reserves nothing.
constexpr int kRequiredSharedBytes = 64 * 1024;

// A layer whose copies pass through registers. Its blocks share a multiprocessor.
template <typename Layer>
struct Sm75 : Layer {
    static constexpr bool kAsync = false;
    static constexpr int kOccupiedBytes = Layer::kOccupiedBytes - sm80::kReservedBytes;
    static_assert(Layer::kBlocks * kOccupiedBytes <= kRequiredSharedBytes);
    static_assert(Layer::kBlocks * Layer::kThreads <= 1024, "what a multiprocessor runs at once");
};
template <int kCin, int kCout, int kStride, bool kUpsample, int kTileH, int kTileW, int kWarpsM,
          int kWarpsN, int kChunk, int kTapsOfStep, int kStages, int kBlocks,
          bool kTakesResidual = kCin == kCout>
using Conv = Sm75<sm80::ConvTraits<kCin, kCout, kStride, kUpsample, kTileH, kTileW, kWarpsM,
                                   kWarpsN, kChunk, kTapsOfStep, kStages, kBlocks, kTakesResidual>>;

// The `precision` of the launchers, numbered after sm80's: FP16 by these layers.
constexpr int kFp16 = sm80::kInt8 + 1;

// The layers of the full network. Each is its own small variant.
struct FullLayers {
    using First = Sm75<sm80::FirstConvTraits<32, 9, 16, 32, 8, 1>>;
    using Last = Sm75<sm80::LastConvTraits<32, 9, 8, 24, 8, 1>>;
    //                 Cin Cout stride up  tile   warps chunk taps stages blocks
    using Down1 = Conv<32, 64, 2, false, 8, 16, 4, 2, 16, 1, 3, 1>;
    using Down2 = Conv<64, 128, 2, false, 6, 16, 2, 4, 16, 1, 3, 1>;
    using Same = Conv<128, 128, 1, false, 6, 16, 2, 2, 16, 1, 3, 2>;
    using SameWide = Same;
    using Up1 = Conv<128, 64, 1, true, 6, 16, 2, 4, 16, 2, 2, 1, true>;
    using Up2 = Conv<64, 32, 1, true, 8, 16, 2, 4, 32, 1, 2, 1>;
    using FirstSmall = First;
    using LastSmall = Last;
    using Down1Small = Down1;
    using Down2Small = Down2;
    using SameSmall = Same;
    using SameWideSmall = SameWide;
    using Up1Small = Up1;
    using Up2Small = Up2;
};

// The layers of the lite network.
struct LiteLayers {
    using First = Sm75<sm80::FirstConvTraits<16, 5, 16, 32, 8, 2>>;
    using Last = Sm75<sm80::LastConvTraits<16, 5, 8, 32, 9, 2>>;
    using Down1 = Conv<16, 32, 2, false, 8, 16, 4, 2, 16, 1, 0, 1>;
    using Down2 = Conv<32, 48, 2, false, 8, 8, 4, 3, 16, 1, 0, 1>;
    using Same = Conv<48, 48, 1, false, 8, 16, 4, 1, 16, 3, 3, 2>;
    using SameWide = Same;
    using Up1 = Conv<48, 32, 1, true, 8, 16, 2, 4, 16, 2, 2, 1, true>;
    using Up2 = Conv<32, 16, 1, true, 8, 16, 1, 4, 16, 2, 2, 2>;
};

}  // namespace styleforge::sm75
