// Tile shapes, threads, stages and shared memory of every layer, and the numbering of layers and
// dtypes. Stated here once: network_abi.cu tells Python.
#pragma once

#include <cuda_runtime.h>

namespace styleforge::sm80 {

// The least architecture these layers run on, as CUDA calls it.
constexpr const char* kTarget = "80";

// The `dtype` of the launchers.
enum Dtype { kFp16, kBf16 };

// The `kind` of styleforge_sm80_conv: 32-64 and 64-128 with stride 2; 128-128 for few tiles; 128-64
// and 64-32 after nearest-neighbor upsampling by two; 128-128 for many tiles; 64-128 and 128-128
// with less shared memory.
enum ConvKind { kDown1, kDown2, kSame, kUp1, kUp2, kSameWide, kDown2Small, kSameSmall };

// The axes of a 3x3 layer's weights in memory, outermost first: a step reads one tap of one block
// of kBlockK input channels, for all output channels.
constexpr const char* kWeightOrder = "phase tap block out channel";

// A 3x3 layer: a block computes kTileH x kTileW outputs of all kCout channels.
template <int kCin_, int kCout_, int kKernel_, int kStride_, bool kUpsample_, int kTileH_,
          int kTileW_, int kWarpsM_, int kWarpsN_, int kBlockK_, int kStages_>
struct ConvTraits {
    static constexpr int kCin = kCin_, kCout = kCout_, kKernel = kKernel_, kStride = kStride_;
    static constexpr bool kUpsample = kUpsample_;
    static constexpr bool kTakesResidual = kCin == 128;  // else the residual has to be null
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
    static constexpr int kPrefetch = kStages - 1;  // steps fetched ahead
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kWorkBytes = kPatchBytes + kStages * kStageBytes;
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static constexpr int kSteps = kKernel * kKernel * (kCin / kBlockK);
    static_assert(kRowsOfWarp % 16 == 0 && kColumnsOfWarp % 16 == 0 && kBlockK % 16 == 0);
    static_assert(kBlockK % 32 == 0, "fragments are double-buffered in pairs");
    static_assert(kThreads % kCin == 0 && kThreads % kCout == 0);
};

struct FirstLayerTraits {
    // The axes of the weights in memory, outermost first, each with the size it is padded to: rows
    // of the matrix product | its depth. Both are padded again, to kWeightRows and kDepth.
    static constexpr const char* kWeightOrder = "out:32 | row:9 column:10 color:4";
    static constexpr int kWeightRows = 32;
    static constexpr int kCout = 32, kTileH = 8, kTileW = 32, kPixels = kTileH * kTileW;
    static constexpr int kWarpsM = 8, kWarpsN = 1, kThreads = 256;
    static constexpr int kRowsOfWarp = 32, kColumnsOfWarp = 32, kTilesM = 2, kTilesN = 4;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kTileW + 10, kDepth = 368;
    static constexpr int kCopyBytes = kPatchH * kPatchW * 8, kSecond = kCopyBytes + 64;
    static constexpr int kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = (kSecond + kCopyBytes + 127) / 128 * 128;
    static constexpr int kWorkBytes = kPatchBytes + kCout * kRowBytes;
    static constexpr int kOutBytes = kPixels * (kCout * 2 + 16);
    static constexpr int kSharedBytes = kWorkBytes > kOutBytes ? kWorkBytes : kOutBytes;
    static_assert(kCopyBytes % 128 == 0, "the second copy lies half a cycle of banks on");
};

struct LastLayerTraits {
    // As for the first layer. A column of the kernel has outputs of its own, which are added up.
    static constexpr const char* kWeightOrder = "column:9 color:3 | row:9 channel:32";
    static constexpr int kWeightRows = 32;
    static constexpr int kCin = 32, kTileH = 8, kTileW = 32, kWideW = kTileW + 8;
    static constexpr int kPatchH = kTileH + 8, kPatchW = kWideW;
    static constexpr int kThreads = 320, kWarps = 10, kTilesM = 2, kTilesN = 4;
    static constexpr int kPixelBytes = kCin * 2 + 16, kDepth = 288, kRowBytes = kDepth * 2 + 16;
    static constexpr int kPatchBytes = kPatchH * kPatchW * kPixelBytes;
    static constexpr int kSumPitch = 33;
    static constexpr int kSumBytes = kTileH * kWideW * kSumPitch * 4;
    static constexpr int kSharedBytes = kPatchBytes + 32 * kRowBytes;
    static_assert(kSumBytes <= kPatchBytes);
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
// less of it; beside these kSharedBytes stand up to 7 KB of statistics.
constexpr int kRequiredSharedBytes = 150000, kRequiredSharedBytesSmall = 101000;

// Calls `call` with a value of the traits that a number stands for.
template <typename Call>
int with_conv_traits(int kind, Call call) {
    switch (kind) {
        case kDown1: return call(Down1{});
        case kDown2: return call(Down2{});
        case kSame: return call(Same{});
        case kUp1: return call(Up1{});
        case kUp2: return call(Up2{});
        case kSameWide: return call(SameWide{});
        case kDown2Small: return call(Down2Small{});
        case kSameSmall: return call(SameSmall{});
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge::sm80
