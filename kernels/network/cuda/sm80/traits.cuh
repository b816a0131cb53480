// Tile shapes, threads, stages and shared memory of every layer, and the numbering of layers and
// precisions. The only definition, with lite_traits.cuh (lite network) and fp32_traits.cuh (FP32):
// network_abi.cu passes it to Python.
#pragma once

namespace styleforge::sm80 {

// The lowest architecture these layers run on, in CUDA's notation.
constexpr const char* kTarget = "80";

// The `precision` of the launchers.
enum Precision { kFp16, kBf16, kTf32, kFp32, kInt8 };

// The storage type of a number, and the FP16 or BF16 numbers that sum to it as an operand. With two
// numbers per operand, three of the four products are computed.
template <int kStoredBytes_, int kCopies_>
struct StoragePolicy {
    static constexpr int kStoredBytes = kStoredBytes_, kCopies = kCopies_, kOperandBytes = 2;
    static constexpr int kProductsOfOperands = kCopies == 2 ? 3 : 1;
    using Sum = float;
    // Whether copies to shared memory bypass registers. The traits of GPUs without cp.async
    // override it: their threads hold the data between a load and a store.
    static constexpr bool kAsync = true;
    // Whether 3x3 layers accumulate FP16 products in FP16, 32 at a time, and those sums in FP32.
    static constexpr bool kFp16Sums = false;
};
using In16Bits = StoragePolicy<2, 1>;
// For GeForce, which multiplies FP16 at half the rate when sums are FP32. Used only by tuning.
struct In16BitsFp16Sums : In16Bits {
    static constexpr bool kFp16Sums = true;
};
using Tf32ViaFp16 = StoragePolicy<4, 1>;  // FP16 has TF32's 10 bits
using Fp32Split = StoragePolicy<4, 2>;    // 22 bits
// FP16 in memory, 8-bit integers as operands; see int8.cuh.
struct Int8ViaFp16 : In16Bits {
    static constexpr int kOperandBytes = 1;
    using Sum = int;
};

// The `kind` of styleforge_sm80_conv: 32-64 and 64-128 with stride 2; 128-128 with small tiles, for
// small inputs, and with wide ones; 128-64 and 64-32 after nearest-neighbor upsampling by two; and
// variants that need less shared memory.
enum ConvKind {
    kDown1,
    kDown2,
    kSame,
    kSameWide,
    kUp1,
    kUp2,
    kDown1Small,
    kDown2Small,
    kSameSmall,
    kSameWideSmall,
    kUp1Small,
    kUp2Small,
    kConvKinds
};

// The axes of a 3x3 layer's weights in memory, outermost first: a step reads kTapsOfStep taps of
// one block of kChunk input channels, for all output channels of all phases.
constexpr const char* kWeightOrder = "block tap copy phase out channel";

// The order of the channels in the depth of a product, by storage type. If operands are half as
// wide as the stored type, a thread assembles its 16 bytes from two 16-byte pieces, 32 bytes apart,
// with its neighbor's pieces in between.
template <typename P>
constexpr const char* channel_order() {
    if (P::kOperandBytes == 1)
        return "0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 "
               "8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31";
    return P::kStoredBytes == 4 ? "0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15"
                                : "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
}

// The shared memory that CUDA reserves per block.
constexpr int kReservedBytes = 1024;

// A 3x3 layer. A block computes tiles of kTileH x kTileW outputs of all kCout channels, one after
// another; after upsampling, four phases of them. A tile's channels pass through shared memory in
// chunks. In a step, all warps multiply by the weights of kTapsOfStep taps of a chunk, which pass
// through kStages stages; with none, all weights stay resident.
template <int kCin_, int kCout_, int kStride_, bool kUpsample_, int kTileH_, int kTileW_,
          int kWarpsM_, int kWarpsN_, int kChunk_, int kTapsOfStep_, int kStages_, int kBlocks_,
          bool kTakesResidual_ = kCin_ == kCout_, typename P = In16Bits>
struct ConvTraits : P {
    static constexpr int kCin = kCin_, kCout = kCout_, kStride = kStride_;
    static constexpr bool kUpsample = kUpsample_, kResident = kStages_ == 0;
    static constexpr bool kKeepsActivated = kCin == kCout;
    static constexpr bool kTakesResidual = kTakesResidual_;  // otherwise it must be null
    static constexpr int kKernel = kUpsample ? 2 : 3, kTaps = kKernel * kKernel;
    static constexpr int kPhases = kUpsample ? 4 : 1, kColumns = kCout * kPhases;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
    static constexpr int kThreads = kWarpsM * kWarpsN * 32;
    static constexpr int kBlocks = kBlocks_;  // per multiprocessor, memory permitting
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kColumns / kWarpsN;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kColumnsOfWarp / 8;
    static constexpr int kChunk = kChunk_, kChunks = kCin / kChunk, kTapsOfStep = kTapsOfStep_;
    static constexpr int kStepsOfChunk = kTaps / kTapsOfStep, kSteps = kStepsOfChunk * kChunks;
    // 16 bytes of padding per pixel put eight neighbors on different banks.
    static constexpr int kPixelBytes = kChunk * P::kStoredBytes + 16;
    static constexpr int kRowBytes = kChunk * P::kOperandBytes;
    static constexpr int kProductsOfTap = kRowBytes / 32;  // each covers 32 bytes of a row
    static constexpr int kProductsOfChunk = kTaps * kProductsOfTap * P::kProductsOfOperands;
    static constexpr int kProductsOfStep = kProductsOfChunk / kStepsOfChunk;
    static constexpr int kStages = kResident ? kSteps : kStages_;
    static constexpr int kPrefetch = kResident ? 0 : kStages - 1;  // steps fetched ahead
    // The step by which the next chunk has arrived and its normalization begins.
    static constexpr int kReady = kResident ? kStepsOfChunk / 2 : kPrefetch;
    static constexpr int kPatchH = (kTileH - 1) * kStride + 3;
    static constexpr int kPatchW = (kTileW - 1) * kStride + 3;
    // With stride 2, even and odd columns are stored separately, so that neighbors in a product are
    // adjacent.
    static constexpr int kHalfW = kTileW + 1, kSlotW = kStride == 2 ? 2 * kHalfW : kPatchW;
    static constexpr int kPixelPieces = kCin * P::kStoredBytes / 16;  // in memory
    static constexpr int kSlotBytes = kPatchH * kSlotW * kPixelBytes;
    static constexpr int kStageBytes = kTapsOfStep * P::kCopies * kColumns * kRowBytes;
    static constexpr int kWeightBytes = kStages * kStageBytes;
    // Integers: the scale factors of the sums, and the reciprocal ranges of the inputs.
    static constexpr int kScaleBytes = P::kOperandBytes == 1 ? (kColumns + kCin) * 4 : 0;
    static constexpr int kSharedBytes = kWeightBytes + 2 * kSlotBytes + kScaleBytes;
    // A block's share of the multiprocessor's shared memory, with the norm and CUDA's reserve.
    static constexpr int kOccupiedBytes = kSharedBytes + kCin * 8 + 128 + kReservedBytes;
    static_assert(kCin % kChunk == 0 && kTaps % kTapsOfStep == 0);
    static_assert(kRowBytes == 32 || kRowBytes == 64, "rows of weights are put on banks for these");
    static_assert(kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0);
    static_assert(kColumnsOfWarp <= kCout && kCout % kColumnsOfWarp == 0, "a warp has one phase");
    static_assert(kResident || kStepsOfChunk % kStages == 0, "a step knows its stage");
    static_assert(kReady > 0 && kReady < kStepsOfChunk);
    static_assert(kThreads >= kCout && kWarpsM * kColumns * 16 <= kSharedBytes);
};

// The first layer, from three colors to kCout channels, with weights "out | row column color": two
// adjacent taps of four colors each fill 16 bytes.
template <int kCout_, int kKernel_, int kTileH_, int kTileW_, int kWarps_, int kBlocks_,
          typename P = In16Bits>
struct FirstConvTraits : P {
    static constexpr bool kUpsample = false;
    static constexpr int kCout = kCout_, kColumns = kCout, kKernel = kKernel_;
    static constexpr int kBorder = kKernel / 2;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = kWarps_, kWarpsN = 1, kThreads = kWarpsM * 32;
    static constexpr int kBlocks = kBlocks_;
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kCout;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kCout / 8;
    static constexpr int kPairsOfRow = (kKernel + 1) / 2, kPairs = kKernel * kPairsOfRow;
    static constexpr int kDepth = (kPairs * 8 + 15) / 16 * 16, kWeightRows = kCout;
    static constexpr int kPatchH = kTileH + kKernel - 1, kPatchW = kTileW + kPairsOfRow * 2;
    // The second copy is offset by half a cycle of banks.
    static constexpr int kCopyBytes = (kPatchH * kPatchW * 8 + 127) / 128 * 128;
    static constexpr int kSecond = kCopyBytes + 64;
    static constexpr int kPatchBytes = (kSecond + kCopyBytes + 127) / 128 * 128;
    static constexpr int kRowBytes = kDepth * 2 + 16;
    static constexpr int kSharedBytes = 2 * kPatchBytes + P::kCopies * kWeightRows * kRowBytes;
    static constexpr int kOccupiedBytes = kSharedBytes + 128 + kReservedBytes;
    // The axes of the weights in memory, outermost first, each with its padded size: rows of the
    // matrix product | its depth. Both are padded again, to kWeightRows and kDepth. The copies
    // follow one another.
    static constexpr const char* kWeightOrder =
        kKernel == 9 ? "out:32 | row:9 column:10 color:4" : "out:16 | row:5 column:6 color:4";
    static_assert(kKernel == 9 ? kCout == 32 : kKernel == 5 && kCout == 16);
    static_assert(kKernel % 2 == 1 && kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0);
    static_assert(kRowBytes / 16 % 2 == 1, "eight rows of weights lie on different banks");
};

// The last layer, from kCin channels to three colors, with weights "column color | row channel".
// Each kernel column has separate outputs, which are summed.
template <int kCin_, int kKernel_, int kTileH_, int kTileW_, int kWarps_, int kBlocks_,
          typename P = In16Bits>
struct LastConvTraits : P {
    static constexpr int kCin = kCin_, kChunk = kCin, kKernel = kKernel_, kBorder = kKernel / 2;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kWideW = kTileW + kKernel - 1;
    static constexpr int kPatchH = kTileH + kKernel - 1, kPatchW = kWideW;
    static constexpr int kThreads = kWarps_ * 32, kBlocks = kBlocks_;
    static constexpr int kWeightRows = (kKernel * 3 + 15) / 16 * 16;
    static constexpr int kTilesM = kTileH * kWideW / 16 / kWarps_, kTilesN = kWeightRows / 8;
    static constexpr int kDepth = kKernel * kCin;
    static constexpr int kPixelBytes = kCin * P::kStoredBytes + 16, kRowBytes = kDepth * 2 + 16;
    // Neighboring pixels of one color are three banks apart, so that a warp reads from all 32
    // banks.
    static constexpr int kSumPitch = kWeightRows + 3;
    static constexpr int kSumBytes = (kTileH * kWideW * kSumPitch * 4 + 127) / 128 * 128;
    static constexpr int kPixelsBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kPatchBytes = kPixelsBytes > kSumBytes ? kPixelsBytes : kSumBytes;
    static constexpr int kSharedBytes = kPatchBytes + P::kCopies * kWeightRows * kRowBytes;
    static constexpr int kOccupiedBytes = kSharedBytes + kCin * 8 + 128 + kReservedBytes;
    static constexpr const char* kWeightOrder = kKernel == 9
                                                    ? "column:9 color:3 | row:9 channel:32"
                                                    : "column:5 color:3 | row:5 channel:16";
    static_assert(kKernel == 9 ? kCin == 32 : kKernel == 5 && kCin == 16);
    static_assert(kKernel % 2 == 1 && kCin % 16 == 0);
    static_assert(kTilesM * kThreads / 2 == kTileH * kWideW);
    static_assert(kRowBytes / 16 % 2 == 1, "eight rows of weights lie on different banks");
};

// Shared memory per block, in bytes, for all layers, and for the small variants, which are for GPUs
// with 99 KB. tests/kernels/network/test_abi.py enforces both.
constexpr int kRequiredSharedBytes = 134000, kRequiredSharedBytesSmall = 101000;

// The full network's layers, by storage type. A layer that needs little is its own small variant.
template <typename P>
struct FullLayers;

template <>
struct FullLayers<In16Bits> {
    using First = FirstConvTraits<32, 9, 16, 32, 8, 2>;
    using Last = LastConvTraits<32, 9, 16, 32, 10, 2>;
    //                         Cin Cout stride up  tile   warps chunk taps stages blocks
    using Down1 = ConvTraits<32, 64, 2, false, 16, 8, 2, 2, 16, 1, 0, 2>;
    using Down2 = ConvTraits<64, 128, 2, false, 16, 8, 1, 4, 16, 3, 3, 2>;
    using Same = ConvTraits<128, 128, 1, false, 8, 16, 2, 4, 32, 3, 3, 1>;
    using SameWide = ConvTraits<128, 128, 1, false, 16, 16, 4, 2, 32, 3, 3, 1>;
    using Up1 = ConvTraits<128, 64, 1, true, 16, 8, 2, 4, 32, 1, 4, 1, true>;
    using Up2 = ConvTraits<64, 32, 1, true, 8, 16, 1, 4, 32, 1, 0, 2>;
    using FirstSmall = FirstConvTraits<32, 9, 16, 16, 8, 2>;
    using LastSmall = LastConvTraits<32, 9, 16, 16, 12, 1>;
    using Down1Small = ConvTraits<32, 64, 2, false, 16, 8, 4, 2, 16, 1, 0, 1>;
    using Down2Small = ConvTraits<64, 128, 2, false, 16, 8, 2, 4, 16, 3, 3, 1>;
    using SameSmall = ConvTraits<128, 128, 1, false, 8, 16, 4, 2, 16, 3, 3, 1>;
    using SameWideSmall = ConvTraits<128, 128, 1, false, 16, 16, 4, 2, 32, 1, 3, 1>;
    using Up1Small = Up1;
    using Up2Small = ConvTraits<64, 32, 1, true, 16, 16, 2, 4, 32, 1, 4, 1>;
};

// The layers of the lite network, see lite_traits.cuh.
template <typename P>
struct LiteLayers;

}  // namespace styleforge::sm80
