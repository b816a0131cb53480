// Tile shapes, stages, threads and shared memory of every layer on Hopper, and the numbering of
// layers and precisions. The only definition: network_abi.cu passes it to Python.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace styleforge::sm90 {

constexpr int kConsumers = 256;          // consumer threads: two warpgroups
constexpr int kStripProducers = 256;     // producer threads of the first and the last layer
constexpr int kKernelRows = 10;          // 9 kernel rows, applied to two rows of pixels
constexpr int kStagingBytes = 9216;      // per warpgroup, for accumulators to be stored
constexpr int kMaxSharedBytes = 232448;  // limit per block

// The only architecture these layers run on, in CUDA's notation.
constexpr const char* kTarget = "90a";

// The `precision` of the launchers.
enum Precision { kFp16, kBf16, kTf32, kFp32 };

// The `kind` of styleforge_sm90_conv: 32-64 and 64-128 with stride 2; 128-128 with small and with
// large tiles; 128-64 and 64-32 after nearest-neighbor upsampling by two.
enum ConvKind { kDown1, kDown2, kSame, kSameLarge, kUp1, kUp2 };

enum class Sampling { kSame, kDown, kUp };

// The axes of a 3x3 layer's weights in memory, outermost first. A step reads the taps of one block
// of kBlockK input channels, in parts of eight, for the 64 rows of a warpgroup.
constexpr const char* kWeightOrder = "group pass block tap part row channel";

// The same for the first and the last layer, whose kernel has one more row than its weights: the
// product's 64 rows, and its depth of 32 in parts of eight.
constexpr const char* kStripWeightOrder = "kernel_row part row channel";
constexpr int kWeightRows = 64, kWeightDepth = 32;

// The storage and operand types of a precision. With kSplit, an operand is the sum of two FP16
// numbers (22 bits), and three of the four products are computed.
template <typename Storage, typename Operand, bool kSplit_>
struct PrecisionPolicy {
    using S = Storage;
    using O = Operand;
    static constexpr bool kSplit = kSplit_, kStoresFp32 = sizeof(S) == 4;
    static constexpr int kOperandCopies = kSplit ? 2 : 1;
    static constexpr int kChunk = kStoresFp32 ? 32 : 64;  // pixels staged at a time
    static constexpr int kPitch = 64 * sizeof(S) + 16;
    static_assert(kChunk * kPitch <= kStagingBytes);
};

// A 3x3 layer. A block computes kBlockN pixels of 64 rows at a time for each of two consumer
// warpgroups; rows are output channels or phases. A step multiplies kTapsPerStep taps of kBlockK
// input channels.
template <typename M_, Sampling kSampling_, int kCin_, int kCout_, int kBlockN_, int kBlockK_,
          int kTapsPerStep_, int kWeightStages_, int kPixelStages_>
struct ConvTraits {
    using M = M_;
    static constexpr Sampling kSampling = kSampling_;
    static constexpr int kCin = kCin_, kCout = kCout_, kBlockN = kBlockN_, kBlockK = kBlockK_;
    static constexpr int kTapsPerStep = kTapsPerStep_, kWeightStages = kWeightStages_,
                         kPixelStages = kPixelStages_;
    // Accumulators of 256 columns take 128 registers per thread, which leaves fewer threads. All
    // producer warps load pixels except the last, which loads weights.
    static constexpr bool kReallocRegisters = kBlockN > 128;
    static constexpr int kConsumerRegisters = 176, kProducerRegisters = 152;
    static constexpr int kProducers = kReallocRegisters ? 128 : 256,
                         kPixelProducers = kProducers - 32;
    static constexpr int kThreads = kConsumers + kProducers;
    static constexpr int kStride = kSampling == Sampling::kDown ? 2 : 1;
    // Whether residual and activated may be set; otherwise they must be null.
    static constexpr bool kKeepsActivated = kSampling == Sampling::kSame;
    static constexpr bool kTakesResidual = kCin == 128;
    // Consumer warpgroups split the channels or phases; with only 64 rows they split the pixels.
    static constexpr bool kSplitPixels = kSampling == Sampling::kDown && kCout == 64;
    static constexpr int kGroupLong = kBlockN / 8, kTileLong = kGroupLong * (kSplitPixels ? 2 : 1);
    // With stride 2, even and odd rows and columns are stored separately, in quarters of the patch.
    static constexpr int kPitch = kStride == 2 ? 9 : 10;
    static constexpr int kQuarter = (kTileLong + 1) * kPitch;
    static constexpr int kPositions = kStride == 2 ? 4 * kQuarter : (kTileLong + 2) * kPitch;
    // The pixels of the patch itself; with stride 2, the quarters have a few more.
    static constexpr int kPatchLong = (kTileLong - 1) * kStride + 3, kPatchShort = 7 * kStride + 3,
                         kPatchPixels = kPatchLong * kPatchShort;
    static constexpr int kParts = kBlockK / 8, kAllParts = kParts * M::kOperandCopies;
    // A slot stores the 64 channels of a pixel contiguously, in CUDA's 128-byte swizzle; or, if the
    // layer does not allow that, [part of eight channels][pixel].
    static constexpr bool kSwizzled = kBlockK == 64 && kStride == 1 && M::kOperandCopies == 1;
    static constexpr int kPixelBytes = kSwizzled ? 128 : 16;
    static constexpr int kPartStride = (kPositions | 1) * 16;  // odd: avoids bank conflicts
    static constexpr int kSlotBytes = kSwizzled ? (kPositions * 128 + 1023) / 1024 * 1024
                                                : (kAllParts * kPartStride + 127) / 128 * 128;
    static constexpr int kBlocksK = kCin / kBlockK,
                         kPasses = kSampling == Sampling::kUp && kCout == 64 ? 2 : 1;
    static constexpr int kTaps = kSampling == Sampling::kUp ? (kCout == 64 ? 4 : 6) : 9;
    // A step must last longer than issuing the next one takes. A weight stage holds the weights of
    // a step, 64 rows. If all weights fit, they are loaded once and stay resident.
    static constexpr int kStepsPerBlockK = kTaps / kTapsPerStep,
                         kSteps = kBlocksK * kStepsPerBlockK;
    static constexpr int kTapBytes = 64 * kAllParts * 16, kStageBytes = kTapsPerStep * kTapBytes;
    static constexpr bool kResident = kWeightStages == kSteps * kPasses * (kSplitPixels ? 1 : 2);
    static constexpr int kStagingAt = kPixelStages * kSlotBytes + kWeightStages * kStageBytes;
    static constexpr int kBytes = kStagingAt + 2 * kStagingBytes;
    // More than half of a multiprocessor's shared memory: one block per multiprocessor, so that no
    // block of a group waits for one that has not started.
    static constexpr int kSharedBytes = kBytes > 120000 ? kBytes : 120000;
    static constexpr int kTableBytes = 2 * kPatchPixels * 4 +
                                       (kStride == 2 ? kPatchPixels * 2 : 0) + kCin * 8 +
                                       (kPixelStages + kWeightStages) * 16;
    // A tile's pixels stay in the ring until both warpgroups have consumed all of them.
    static_assert(kPixelStages >= kBlocksK && kTaps % kTapsPerStep == 0);
    static_assert(kSharedBytes + (kTableBytes + 64 + 1023) / 1024 * 1024 <= kMaxSharedBytes);
};

// All layers of the residual blocks joined, with one multiprocessor per tile. Tile, steps and
// weights equal the single layer's.
template <typename Layer_>
struct ResidualTraits {
    using Layer = Layer_;
    using M = typename Layer::M;
    // Warps that load the halo; one more warp loads weights.
    static constexpr int kHaloThreads = 96, kThreads = kConsumers + kHaloThreads + 32;
    static constexpr int kConsumerRegisters = 200, kProducerRegisters = 104;
    static constexpr int kParts = Layer::kCin / 8;
    // One more position than the patch has, for pixels outside the picture.
    static constexpr int kSlotBytes = (Layer::kPositions * 128 + 128 + 1023) / 1024 * 1024,
                         kPatchBytes = kParts / 8 * kSlotBytes;
    // As many as a warpgroup consumes per layer: the copies run while blocks wait for one another.
    static constexpr int kWeightStages = Layer::kSteps;
    // Staging for a warpgroup's outputs; the second warpgroup stages where the patch was.
    static constexpr int kStagingAt = kPatchBytes + kWeightStages * Layer::kStageBytes,
                         kStagingOfTile = Layer::kBlockN * M::kPitch;
    // Pixels around a tile, sixteen threads per pixel. The residual blocks' inputs there are saved.
    static constexpr int kHaloPixels = 2 * (Layer::kTileLong + 8) + 4,
                         kHaloStep = kHaloThreads / kParts,
                         kHaloTurns = (kHaloPixels + kHaloStep - 1) / kHaloStep;
    static constexpr int kHaloAt = kStagingAt + kStagingOfTile;
    static constexpr int kSharedBytes = kHaloAt + kHaloTurns * kHaloStep * kParts * 16;
    static_assert(Layer::kSampling == Sampling::kSame && Layer::kBlockN == 128);
    static_assert(!M::kStoresFp32 && kSharedBytes > 120000 && kStagingOfTile <= kPatchBytes);
    static_assert(Layer::kSwizzled && kSharedBytes + 2048 <= kMaxSharedBytes);
};

// The first or the last layer: kBlockN adjacent pixels of a strip; a stage holds two rows.
template <typename M_, int kBlockN_, int kPixelStages_, bool kFirst>
struct StripTraits {
    using M = M_;
    // The axes, with sizes, of the product's rows and depth, outermost first. A line is one of the
    // two rows of pixels; the second line's weights are shifted down by one kernel row.
    static constexpr const char* kWeightAxes =
        kFirst ? "line:2 out:32 | column:9 color:3" : "line:2 column:9 color:3 | channel:32";
    static constexpr int kBlockN = kBlockN_, kPixelStages = kPixelStages_;
    static constexpr int kAllParts = 4 * M::kOperandCopies, kPartStride = (kBlockN | 1) * 16;
    static constexpr int kRowBytes = kAllParts * kPartStride;
    static constexpr int kSlotBytes = (2 * kRowBytes + 127) / 128 * 128;
    static constexpr int kWeightRow = kAllParts * 1024, kWeightBytes = kKernelRows * kWeightRow;
    static constexpr int kWidth = kFirst ? kBlockN : kBlockN - 8;  // of a strip
    static constexpr int kChunk = M::kStoresFp32 ? 64 : 128;       // pixels staged at a time
    static constexpr int kStagingOfGroup = kChunk * M::kPitch;
    static constexpr int kStaging = kFirst ? 2 * kStagingOfGroup : 54 * kBlockN * 4;
    static constexpr int kStagingSpace = (kStaging + 127) / 128 * 128;
    // First layer: two copies of a row of colors, the second shifted by one element, for 32-bit
    // reads at even and odd positions.
    static constexpr int kColorElements = kBlockN * 3 + 32, kSources = M::kOperandCopies;
    static constexpr int kColorBytes = kFirst ? 2 * 2 * 2 * kSources * kColorElements * 2 : 0;
    static constexpr int kThreads = kConsumers + kStripProducers;
    static constexpr int kSharedBytes =
        kWeightBytes + kStagingSpace + kPixelStages * kSlotBytes + kColorBytes;
    static_assert(kPixelStages >= 6 && kSharedBytes + 1024 <= kMaxSharedBytes);
};

using Fp16 = PrecisionPolicy<__half, __half, false>;
using Bf16 = PrecisionPolicy<__nv_bfloat16, __nv_bfloat16, false>;
using Tf32ViaFp16 = PrecisionPolicy<float, __half, false>;
using Fp32Split = PrecisionPolicy<float, __half, true>;

// Tuned on an H200; docs/explanation/kernels.md says how.
//                              Cin  Cout BlockN BlockK TapsPerStep WeightStages PixelStages
template <typename M>
struct TraitsFor {
    using Down1 = ConvTraits<M, Sampling::kDown, 32, 64, 128, 32, 9, 1, 2>;
    using Down2 = ConvTraits<M, Sampling::kDown, 64, 128, 128, 32, 3, 8, 2>;
    using Same = ConvTraits<M, Sampling::kSame, 128, 128, 128, 64, 3, 4, 4>;
    using Residual = ResidualTraits<Same>;
    using SameLarge = ConvTraits<M, Sampling::kSame, 128, 128, 256, 64, 1, 8, 3>;
    using Up1 = ConvTraits<M, Sampling::kUp, 128, 64, 128, 64, 2, 5, 4>;
    using Up2 = ConvTraits<M, Sampling::kUp, 64, 32, 256, 64, 6, 2, 2>;
    using First = StripTraits<M, 128, 8, true>;
    using Last = StripTraits<M, 136, 8, false>;
};
template <>
struct TraitsFor<Fp32Split> {
    using M = Fp32Split;
    using Down1 = ConvTraits<M, Sampling::kDown, 32, 64, 128, 16, 3, 3, 2>;
    using Down2 = ConvTraits<M, Sampling::kDown, 64, 128, 128, 16, 3, 4, 4>;
    using Same = ConvTraits<M, Sampling::kSame, 128, 128, 128, 32, 1, 7, 6>;
    using SameLarge = ConvTraits<M, Sampling::kSame, 128, 128, 256, 32, 1, 4, 4>;
    using Up1 = ConvTraits<M, Sampling::kUp, 128, 64, 128, 32, 1, 6, 6>;
    using Up2 = ConvTraits<M, Sampling::kUp, 64, 32, 128, 32, 1, 12, 4>;
    using First = StripTraits<M, 64, 6, true>;
    using Last = StripTraits<M, 72, 6, false>;
};

// Calls `call` with a value of the policy or traits type for a number.
template <typename Call>
int with_precision(int precision, Call call) {
    switch (precision) {
        case kFp16: return call(Fp16{});
        case kBf16: return call(Bf16{});
        case kTf32: return call(Tf32ViaFp16{});
        case kFp32: return call(Fp32Split{});
    }
    return cudaErrorInvalidValue;
}

template <typename M, typename Call>
int with_conv_traits(int kind, Call call) {
    switch (kind) {
        case kDown1: return call(typename TraitsFor<M>::Down1{});
        case kDown2: return call(typename TraitsFor<M>::Down2{});
        case kSame: return call(typename TraitsFor<M>::Same{});
        case kSameLarge: return call(typename TraitsFor<M>::SameLarge{});
        case kUp1: return call(typename TraitsFor<M>::Up1{});
        case kUp2: return call(typename TraitsFor<M>::Up2{});
    }
    return cudaErrorInvalidValue;
}

}  // namespace styleforge::sm90
