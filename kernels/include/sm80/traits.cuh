// Tile shapes, threads, stages and shared memory of every layer, and the numbering of layers and
// dtypes. Stated here once, for the lite network in lite_traits.cuh: network_abi.cu tells Python.
#pragma once

namespace styleforge::sm80 {

// The least architecture these layers run on, as CUDA calls it.
constexpr const char* kTarget = "80";

// The `dtype` of the launchers.
enum Dtype { kFp16, kBf16 };

// The `kind` of styleforge_sm80_conv: 32-64 and 64-128 with stride 2; 128-128 for few tiles; 128-64
// and 64-32 after nearest-neighbor upsampling by two; 128-128 for many tiles; 64-128 and 128-128
// with less shared memory.
enum ConvKind { kDown1, kDown2, kSame, kUp1, kUp2, kSameWide, kDown2Small, kSameSmall, kConvKinds };

// The axes of a 3x3 layer's weights in memory, outermost first: a step reads one tap of one block
// of kBlockK input channels, for all output channels.
constexpr const char* kWeightOrder = "phase tap block out channel";

// A 3x3 layer: a block computes kTileH x kTileW outputs of all kCout channels.
template <int kCin_, int kCout_, int kKernel_, int kStride_, bool kUpsample_, int kTileH_,
          int kTileW_, int kWarpsM_, int kWarpsN_, int kBlockK_, int kStages_>
struct ConvTraits {
    static constexpr int kCin = kCin_, kCout = kCout_, kKernel = kKernel_, kStride = kStride_;
    static constexpr bool kUpsample = kUpsample_;
    // A layer without it needs a null residual; it is added at a quarter of the picture's size.
    static constexpr bool kTakesResidual = kCin == 128 || kCin == 48;
    static constexpr int kTileH = kTileH_, kTileW = kTileW_, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
    static constexpr int kThreads = kWarpsM * kWarpsN * 32;
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kCout / kWarpsN;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kColumnsOfWarp / 8;
    static constexpr int kBlockK = kBlockK_, kStages = kStages_;
    static constexpr int kPatchH = (kTileH - 1) * kStride + kKernel;
    static constexpr int kPatchW = (kTileW - 1) * kStride + kKernel;
    // 16 bytes of padding per pixel keep eight neighbors on different banks.
    static constexpr int kPixelBytes = kCin * 2 + 16, kRowBytes = kBlockK * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kStageBytes = kCout * kRowBytes;
    static constexpr int kSteps = kKernel * kKernel * (kCin / kBlockK);
    static constexpr bool kResident = kStages == kSteps;  // a stage for every step, filled once
    static constexpr int kPrefetch = kResident ? kSteps : kStages - 1;  // steps fetched ahead
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kWorkBytes = kPatchBytes + kStages * kStageBytes;
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static_assert(kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0 && kBlockK % 16 == 0);
    static_assert(kPixels % kWarpsM == 0 && kCout % kWarpsN == 0 && kCin % kBlockK == 0);
    static_assert(kStages <= kSteps);
    static_assert(kResident || kBlockK % 32 == 0, "fragments are double-buffered in pairs");
    static_assert(kThreads >= kCin && kThreads >= kCout, "threads merge the statistics");
};

// The first layer, from three colors to kCout channels. Weights are rows of the product | its depth:
// "out | row column color", each axis padded to what a layer states, and both sides once more, to
// kWeightRows and kDepth.
template <int kCout_, int kKernel_, int kTileH_>
struct FirstConvTraits {
    static constexpr int kCout = kCout_, kKernel = kKernel_, kBorder = kKernel / 2;
    static constexpr int kTileH = kTileH_, kTileW = 32, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = 8, kWarpsN = 1, kThreads = 256;
    static constexpr int kRowsOfWarp = kPixels / kWarpsM, kColumnsOfWarp = kCout;
    static constexpr int kTilesM = kRowsOfWarp / 16, kTilesN = kColumnsOfWarp / 8;
    static constexpr int kWeightRows = kCout;
    static constexpr int kPairsOfRow = (kKernel + 1) / 2, kPairs = kKernel * kPairsOfRow;  // of taps
    static constexpr int kDepth = (kPairs * 8 + 15) / 16 * 16;
    static constexpr int kPatchH = kTileH + kKernel - 1, kPatchW = kTileW + kKernel + 1;
    // The second copy lies half a cycle of banks on.
    static constexpr int kCopyBytes = (kPatchH * kPatchW * 8 + 127) / 128 * 128;
    static constexpr int kSecond = kCopyBytes + 64;
    static constexpr int kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = (kSecond + kCopyBytes + 127) / 128 * 128;
    static constexpr int kWorkBytes = kPatchBytes + kCout * kRowBytes;
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static_assert(kKernel % 2 == 1 && kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0);
    static_assert(kRowBytes / 16 % 2 == 1, "eight rows of weights lie on different banks");
};

// The last layer, from kCin channels to three colors, with weights "column color | row channel". A
// column of the kernel has outputs of its own, which are added up.
template <int kCin_, int kKernel_, int kTileH_, int kWarps_>
struct LastConvTraits {
    static constexpr int kCin = kCin_, kKernel = kKernel_, kBorder = kKernel / 2;
    static constexpr int kTileH = kTileH_, kTileW = 32, kWideW = kTileW + kKernel - 1;
    static constexpr int kPatchH = kTileH + kKernel - 1, kPatchW = kWideW;
    static constexpr int kWarps = kWarps_, kThreads = kWarps * 32;
    static constexpr int kWeightRows = (kKernel * 3 + 15) / 16 * 16;
    static constexpr int kTilesM = kTileH * kWideW / 16 / kWarps, kTilesN = kWeightRows / 8;
    static constexpr int kDepth = kKernel * kCin;
    static constexpr int kPixelBytes = kCin * 2 + 16, kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kWorkBytes = kPatchBytes + kWeightRows * kRowBytes;
    static constexpr int kSumPitch = kWeightRows + 1;
    static constexpr int kSumBytes = kTileH * kWideW * kSumPitch * 4;
    static constexpr int kSharedBytes = kWorkBytes > kSumBytes ? kWorkBytes : kSumBytes;
    static_assert(kKernel % 2 == 1 && kCin % 16 == 0);
    static_assert(kTilesM * kWarps * 16 == kTileH * kWideW);
    static_assert(kRowBytes / 16 % 2 == 1, "eight rows of weights lie on different banks");
};

struct FirstLayerTraits : FirstConvTraits<32, 9, 8> {
    static constexpr const char* kWeightOrder = "out:32 | row:9 column:10 color:4";
};
struct LastLayerTraits : LastConvTraits<32, 9, 8, 10> {
    static constexpr const char* kWeightOrder = "column:9 color:3 | row:9 channel:32";
};

//                          Cin Cout  k  s  up     tile   warps  BlockK stages
using Down1 = ConvTraits<32, 64, 3, 2, false, 8, 16, 4, 2, 32, 4>;
using Down2 = ConvTraits<64, 128, 3, 2, false, 8, 16, 2, 4, 64, 3>;
using Same = ConvTraits<128, 128, 3, 1, false, 8, 16, 2, 4, 64, 3>;
using SameWide = ConvTraits<128, 128, 3, 1, false, 8, 16, 2, 2, 64, 3>;
// For GPUs with 99 KB of shared memory for a block.
using Down2Small = ConvTraits<64, 128, 3, 2, false, 8, 8, 2, 4, 32, 4>;
using SameSmall = ConvTraits<128, 128, 3, 1, false, 8, 16, 2, 4, 32, 4>;
static_assert(Down2Small::kSharedBytes < 94000 && SameSmall::kSharedBytes < 94000);
using Up1 = ConvTraits<128, 64, 2, 1, true, 8, 16, 4, 2, 64, 3>;
using Up2 = ConvTraits<64, 32, 2, 1, true, 8, 16, 4, 1, 64, 3>;

// Shared memory, in bytes, that a GPU must offer a block for all layers, and for the layers with
// less of it; beside these kSharedBytes stand up to 9 KB of statistics.
constexpr int kRequiredSharedBytes = 150000, kRequiredSharedBytesSmall = 101000;

}  // namespace styleforge::sm80
