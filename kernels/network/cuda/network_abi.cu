// Describes the network's kernels to Python as JSON: struct layouts, the numbering of layers and
// precisions, tile shapes, threads, shared memory, and each layer's C++ names. The numbers come
// from the headers that the kernels include; kernels/network/abi.py reads them. Plain C++, compiled
// with CUDA's headers.
#include <string>
#include <type_traits>

#include "include/common/describe.h"
#include "sm75/traits.cuh"
#include "sm80/fp32_traits.cuh"
#include "sm80/int8_traits.cuh"
#include "sm80/lite_traits.cuh"
#include "sm80/params.cuh"
#include "sm80/traits.cuh"
#include "sm90/params.cuh"
#include "sm90/traits.cuh"

namespace styleforge {
namespace {

std::string common_structs() {
    using N = NormParams;
    using S = StatisticsParams;
    return object(
        {{"NormParams", layout(sizeof(N), {OFFSET(N, groups), OFFSET(N, gamma), OFFSET(N, beta),
                                           OFFSET(N, count), OFFSET(N, eps)})},
         {"StatisticsParams", layout(sizeof(S), {OFFSET(S, entries), OFFSET(S, groups),
                                                 OFFSET(S, tickets), OFFSET(S, group)})}});
}

std::string sm80_structs() {
    using T = sm80::Tiling;
    using C = sm80::ConvParams;
    using F = sm80::FirstLayerParams;
    using L = sm80::LastLayerParams;
    return object({
        {"Tiling", layout(sizeof(T), {OFFSET(T, height), OFFSET(T, width), OFFSET(T, rows),
                                      OFFSET(T, columns)})},
        {"ConvParams", layout(sizeof(C), {OFFSET(C, x), OFFSET(C, norm), OFFSET(C, residual),
                                          OFFSET(C, activated), OFFSET(C, weight), OFFSET(C, y),
                                          OFFSET(C, statistics), OFFSET(C, tiling),
                                          OFFSET(C, height), OFFSET(C, width)})},
        {"FirstLayerParams",
         layout(sizeof(F),
                {OFFSET(F, x), OFFSET(F, weight), OFFSET(F, y), OFFSET(F, statistics),
                 OFFSET(F, tiling), OFFSET(F, height), OFFSET(F, width), OFFSET(F, range)})},
        {"LastLayerParams",
         layout(sizeof(L),
                {OFFSET(L, x), OFFSET(L, norm), OFFSET(L, weight), OFFSET(L, bias), OFFSET(L, y),
                 OFFSET(L, tiling), OFFSET(L, padded_h), OFFSET(L, padded_w), OFFSET(L, range)})},
    });
}

std::string sm90_structs() {
    using C = sm90::ConvParams;
    using E = sm90::EdgeConvParams;
    using R = sm90::ResidualParams;
    return object({
        {"ConvParams",
         layout(sizeof(C),
                {OFFSET(C, x), OFFSET(C, norm), OFFSET(C, residual), OFFSET(C, activated),
                 OFFSET(C, weight), OFFSET(C, y), OFFSET(C, statistics), OFFSET(C, height),
                 OFFSET(C, width), OFFSET(C, out_height), OFFSET(C, out_width),
                 OFFSET(C, tiles_long), OFFSET(C, tiles_short), OFFSET(C, across)})},
        {"ResidualParams",
         layout(sizeof(R), {OFFSET(R, x), OFFSET(R, norm), OFFSET(R, weight), OFFSET(R, gamma),
                            OFFSET(R, beta), OFFSET(R, inside), OFFSET(R, outside),
                            OFFSET(R, activated), OFFSET(R, statistics), OFFSET(R, sums),
                            OFFSET(R, halves), OFFSET(R, eps), OFFSET(R, layers),
                            OFFSET(R, height), OFFSET(R, width), OFFSET(R, tiles_long),
                            OFFSET(R, tiles_short), OFFSET(R, across)})},
        {"EdgeConvParams",
         layout(sizeof(E), {OFFSET(E, x), OFFSET(E, norm), OFFSET(E, weight), OFFSET(E, bias),
                            OFFSET(E, y), OFFSET(E, statistics), OFFSET(E, range),
                            OFFSET(E, height), OFFSET(E, width), OFFSET(E, padded_height),
                            OFFSET(E, padded_width), OFFSET(E, strips), OFFSET(E, rows)})},
    });
}

// A precision of the mma.sync layers: its name and number, the C++ type of the operands, and the
// C++ type of frames and pictures that are not bytes.
struct Sm80Precision {
    const char* name;
    int number;
    const char *operand, *stored;
};
using Sm80Precisions = std::initializer_list<Sm80Precision>;

template <typename Value>
std::string by_precision(Sm80Precisions precisions, Value value) {
    std::string text;
    for (const Sm80Precision& each : precisions)
        text += (text.empty() ? "" : ", ") + quoted(each.name) + ": " + value(each);
    return "{" + text + "}";
}

// `traits` is the type S in C++.
template <typename S>
std::string sm80_conv(const std::string& traits, int kind, Sm80Precisions precisions) {
    const auto kernels = [&](const Sm80Precision& precision) {
        const auto conv3x3 = [&](const char* residual) {
            return kernel("styleforge::sm80::conv3x3", {precision.operand, traits, residual});
        };
        if constexpr (S::kTakesResidual)
            return object({{"plain", conv3x3("false")}, {"residual", conv3x3("true")}});
        return object({{"plain", conv3x3("false")}});
    };
    return object({{"kind", number(kind)},
                   {"tile_h", number(S::kTileH)},
                   {"tile_w", number(S::kTileW)},
                   {"block_k", number(S::kChunk)},
                   {"taps", number(S::kTaps)},
                   {"phases", number(S::kPhases)},
                   {"threads", number(S::kThreads)},
                   {"blocks", number(S::kBlocks)},
                   {"shared_bytes", number(S::kSharedBytes)},
                   {"occupied_bytes", number(S::kOccupiedBytes)},
                   {"kernels", by_precision(precisions, kernels)}});
}

// `name` is the kernel's name, `traits` the type S in C++.
template <typename S>
std::string sm80_edge(const std::string& name, const std::string& traits,
                      Sm80Precisions precisions) {
    const auto kernels = [&](const Sm80Precision& precision) {
        const auto one = [&](const char* stored) {
            return kernel("styleforge::sm80::" + name, {precision.operand, stored, traits});
        };
        return object({{"values", one(precision.stored)}, {"bytes", one("unsigned char")}});
    };
    return object({{"tile_h", number(S::kTileH)},
                   {"tile_w", number(S::kTileW)},
                   {"depth", number(S::kDepth)},
                   {"rows", number(S::kWeightRows)},
                   {"weight_order", quoted(S::kWeightOrder)},
                   {"threads", number(S::kThreads)},
                   {"blocks", number(S::kBlocks)},
                   {"shared_bytes", number(S::kSharedBytes)},
                   {"occupied_bytes", number(S::kOccupiedBytes)},
                   {"kernels", by_precision(precisions, kernels)}});
}

// Returns the channels at full, half and quarter size, separated by spaces.
template <typename L>
std::string widths() {
    using First = typename L::First;
    using Down1 = typename L::Down1;
    using Down2 = typename L::Down2;
    static_assert(First::kCout == Down1::kCin && Down1::kCout == Down2::kCin);
    const std::string outer = number(First::kCout), middle = number(Down1::kCout);
    return quoted((outer + " " + middle + " " + number(Down2::kCout)).c_str());
}

#define EDGE(name, traits) sm80_edge<typename L::traits>(name, layers + "::" #traits, precisions)
#define CONV(key, name, kind) \
    {key, sm80_conv<typename L::name>(layers + "::" #name, sm80::kind, precisions)}
// Uses the name of `usual` if the layer is the same type, since a kernel has one name.
#define NAMED(name, usual) \
    layers + (std::is_same_v<typename L::name, typename L::usual> ? "::" #usual : "::" #name)
#define EDGE_SMALL(name, traits) \
    sm80_edge<typename L::traits##Small>(name, NAMED(traits##Small, traits), precisions)
#define WIDE(kind) \
    {"same_wide", sm80_conv<typename L::SameWide>(NAMED(SameWide, Same), sm80::kind, precisions)}
// Omitted if the layer is its own small variant.
#define SMALL(key, name)                                                                 \
    {key "_small", std::is_same_v<typename L::name, typename L::name##Small>             \
                       ? ""                                                              \
                       : sm80_conv<typename L::name##Small>(layers + "::" #name "Small", \
                                                            sm80::k##name##Small, precisions)}

// `layers` is the type L in C++.
template <typename L>
std::string sm80_full(const std::string& layers, Sm80Precisions precisions, int shared_bytes,
                      int shared_bytes_small) {
    return object({
        {"number", number(0)},
        {"widths", widths<L>()},
        {"end_kernel", number(L::First::kKernel)},
        {"convs", object({CONV("down1", Down1, kDown1), CONV("down2", Down2, kDown2),
                          CONV("same", Same, kSame), WIDE(kSameWide), CONV("up1", Up1, kUp1),
                          CONV("up2", Up2, kUp2), SMALL("down1", Down1), SMALL("down2", Down2),
                          SMALL("same", Same), SMALL("same_wide", SameWide), SMALL("up1", Up1),
                          SMALL("up2", Up2)})},
        {"first", EDGE("first_layer", First)},
        {"first_small", EDGE_SMALL("first_layer", First)},
        {"last", EDGE("last_layer", Last)},
        {"last_small", EDGE_SMALL("last_layer", Last)},
        {"required_shared_bytes", number(shared_bytes)},
        {"required_shared_bytes_small", number(shared_bytes_small)},
    });
}

// No layer needs a variant for GPUs with less shared memory.
template <typename L>
std::string sm80_lite(const std::string& layers, Sm80Precisions precisions, int shared_bytes) {
    return object({
        {"number", number(1)},
        {"widths", widths<L>()},
        {"end_kernel", number(L::First::kKernel)},
        {"convs", object({CONV("down1", Down1, kLiteDown1), CONV("down2", Down2, kLiteDown2),
                          CONV("same", Same, kLiteSame), WIDE(kLiteSameWide),
                          CONV("up1", Up1, kLiteUp1), CONV("up2", Up2, kLiteUp2)})},
        {"first", EDGE("first_layer", First)},
        {"first_small", EDGE("first_layer", First)},
        {"last", EDGE("last_layer", Last)},
        {"last_small", EDGE("last_layer", Last)},
        {"required_shared_bytes", number(shared_bytes)},
        {"required_shared_bytes_small", number(shared_bytes)},
    });
}

// The 3x3 layers of the full network with 8-bit operands, except the first. `layers` is the type L
// in C++.
template <typename L>
std::string sm80_int8_convs(const std::string& layers, Sm80Precisions precisions) {
    return object({CONV("down2", Down2, kDown2), CONV("same", Same, kSame), WIDE(kSameWide),
                   CONV("up1", Up1, kUp1), CONV("up2", Up2, kUp2)});
}

#undef SMALL
#undef WIDE
#undef EDGE_SMALL
#undef NAMED
#undef CONV
#undef EDGE

// `storage` is the type P in C++.
template <typename P>
std::string sm80_kernels(const char* source, const std::string& storage,
                         Sm80Precisions precisions) {
    using namespace sm80;
    const auto layers = [&](const std::string& name) {
        return "styleforge::sm80::" + name + "<styleforge::sm80::" + storage + ">";
    };
    const auto numbers = [](const Sm80Precision& each) { return number(each.number); };
    return object({
        {"source", quoted(source)},
        {"target", quoted(kTarget)},
        {"precisions", by_precision(precisions, numbers)},
        {"operand_copies", number(P::kCopies)},
        {"channel_order", quoted(channel_order<P>())},
        {"weight_order", quoted(kWeightOrder)},
        {"max_groups", number(kMaxGroups)},
        {"networks", object({{"full", sm80_full<FullLayers<P>>(layers("FullLayers"), precisions,
                                                               kRequiredSharedBytes,
                                                               kRequiredSharedBytesSmall)},
                             {"lite", sm80_lite<LiteLayers<P>>(layers("LiteLayers"), precisions,
                                                               kLiteRequiredSharedBytes)}})},
    });
}

std::string sm80_16_bits() {
    using namespace sm80;
    return sm80_kernels<In16Bits>(
        "network_sm80.cu", "In16Bits",
        {{"fp16", kFp16, "__half", "__half"}, {"bf16", kBf16, "__nv_bfloat16", "__nv_bfloat16"}});
}

std::string sm80_tf32() {
    using namespace sm80;
    return sm80_kernels<Tf32ViaFp16>("network_sm80_tf32.cu", "Tf32ViaFp16",
                                     {{"tf32", kTf32, "__half", "float"}});
}

std::string sm80_fp32() {
    using namespace sm80;
    return sm80_kernels<Fp32Split>("network_sm80_fp32.cu", "Fp32Split",
                                   {{"fp32", kFp32, "__half", "float"}});
}

std::string sm80_int8() {
    using namespace sm80;
    using P = Int8ViaFp16;
    const Sm80Precisions precisions = {{"int8", kInt8, "__half", "__half"}};
    const auto numbers = [](const Sm80Precision& each) { return number(each.number); };
    const std::string layers = "styleforge::sm80::FullLayers<styleforge::sm80::Int8ViaFp16>";
    return object({
        {"source", quoted("network_sm80_int8.cu")},
        {"target", quoted(kTarget)},
        {"precisions", by_precision(precisions, numbers)},
        {"channel_order", quoted(channel_order<P>())},
        {"weight_order", quoted(kWeightOrder)},
        {"convs", sm80_int8_convs<FullLayers<P>>(layers, precisions)},
        {"required_shared_bytes", number(kRequiredSharedBytesSmall)},
    });
}

// The sm80 layers with other sizes, in FP16 only.
std::string sm75_kernels() {
    using namespace sm75;
    const Sm80Precisions precisions = {{"fp16", kFp16, "__half", "__half"}};
    const auto numbers = [](const Sm80Precision& each) { return number(each.number); };
    const std::string layers = "styleforge::sm75::";
    return object({
        {"source", quoted("network_sm75.cu")},
        {"target", quoted(kTarget)},
        {"until", quoted(kUntil)},
        {"precisions", by_precision(precisions, numbers)},
        {"operand_copies", number(sm80::In16Bits::kCopies)},
        {"channel_order", quoted(sm80::channel_order<sm80::In16Bits>())},
        {"weight_order", quoted(sm80::kWeightOrder)},
        {"max_groups", number(kMaxGroups)},
        {"networks",
         object({{"full", sm80_full<FullLayers>(layers + "FullLayers", precisions,
                                                kRequiredSharedBytes, kRequiredSharedBytes)},
                 {"lite", sm80_lite<LiteLayers>(layers + "LiteLayers", precisions,
                                                kRequiredSharedBytes)}})},
    });
}

// `traits` is the type F in C++.
template <typename F>
std::string sm90_conv_kernels(const std::string& traits) {
    const auto persistent = [&](const char* residual, const char* activated) {
        return kernel("styleforge::sm90::conv3x3_persistent", {traits, residual, activated});
    };
    if constexpr (F::kKeepsActivated)
        return object({{"plain", persistent("false", "false")},
                       {"activated", persistent("false", "true")},
                       {"residual activated", persistent("true", "true")}});
    else if constexpr (F::kTakesResidual)
        return object(
            {{"plain", persistent("false", "false")}, {"residual", persistent("true", "false")}});
    return object({{"plain", persistent("false", "false")}});
}

// `traits` names the layer's traits in C++.
template <typename M>
std::string sm90_conv(const std::string& traits, int kind) {
    std::string text;
    sm90::with_conv_traits<M>(kind, [&](auto value) {
        using F = decltype(value);
        text = object({{"kind", number(kind)},
                       {"tile_long", number(F::kTileLong)},
                       {"block_k", number(F::kBlockK)},
                       {"groups", number(F::kSplitPixels ? 1 : 2)},
                       {"passes", number(F::kPasses)},
                       {"taps", number(F::kTaps)},
                       {"threads", number(F::kThreads)},
                       {"shared_bytes", number(F::kSharedBytes)},
                       {"kernels", sm90_conv_kernels<F>(traits)}});
        return 0;
    });
    return text;
}

// `name` is the kernel's name, `traits` the type W and `policy` its precision in C++.
template <typename W>
std::string sm90_strip(const std::string& name, const std::string& traits,
                       const std::string& policy) {
    const auto of = [&](const std::string& type) {
        return kernel("styleforge::sm90::" + name, {traits, type});
    };
    return object(
        {{"width", number(W::kWidth)},
         {"weight_axes", quoted(W::kWeightAxes)},
         {"threads", number(W::kThreads)},
         {"shared_bytes", number(W::kSharedBytes)},
         {"kernels", object({{"values", of(policy + "::S")}, {"bytes", of("unsigned char")}})}});
}

// The residual blocks' layers in one launch. Empty for a precision without such a kernel, since
// their statistics are exchanged as sums for FP16 values. `traits` names the precision's traits.
template <typename M>
std::string sm90_residual(const std::string& traits) {
    if constexpr (std::is_same_v<M, sm90::Fp16>) {
        using F = typename sm90::TraitsFor<M>::Residual;
        const std::string joined =
            kernel("styleforge::sm90::residual_blocks_joined", {traits + "Residual"});
        return object({{"threads", number(F::kThreads)},
                       {"shared_bytes", number(F::kSharedBytes)},
                       {"sums_bytes", number(sizeof(sm90::LayerSums))},
                       {"kernels", object({{"all", joined}})}});
    }
    return "";
}

// `policy` is the precision's policy in C++.
std::string sm90_precision(const std::string& policy, int precision) {
    using namespace sm90;
    const std::string traits = "styleforge::sm90::TraitsFor<" + policy + ">::";
    std::string text;
#define CONV(key, name) {key, sm90_conv<M>(traits + #name, k##name)}
    with_precision(precision, [&](auto value) {
        using M = decltype(value);
        text = object(
            {{"number", number(precision)},
             {"operand", quoted(std::is_same_v<typename M::O, __half> ? "float16" : "bfloat16")},
             {"operand_copies", number(M::kOperandCopies)},
             {"convs", object({CONV("down1", Down1), CONV("down2", Down2), CONV("same", Same),
                               CONV("same_large", SameLarge), CONV("up1", Up1), CONV("up2", Up2)})},
             {"first", sm90_strip<typename TraitsFor<M>::First>("first_layer_strips",
                                                                traits + "First", policy)},
             {"last", sm90_strip<typename TraitsFor<M>::Last>("last_layer_strips", traits + "Last",
                                                              policy)},
             {"residual", sm90_residual<M>(traits)}});
        return 0;
    });
#undef CONV
    return text;
}

std::string sm90_kernels() {
    using namespace sm90;
#define PRECISION(key, code, policy)                            \
    {                                                           \
        key, sm90_precision("styleforge::sm90::" #policy, code) \
    }
    return object({
        {"source", quoted("network_sm90.cu")},
        {"target", quoted(kTarget)},
        {"precisions",
         object({PRECISION("fp16", kFp16, Fp16), PRECISION("bf16", kBf16, Bf16),
                 PRECISION("tf32", kTf32, Tf32ViaFp16), PRECISION("fp32", kFp32, Fp32Split)})},
        {"weight_order", quoted(kWeightOrder)},
        {"strip_weight_order", quoted(kStripWeightOrder)},
        {"weight_rows", number(kWeightRows)},
        {"weight_depth", number(kWeightDepth)},
        {"kernel_rows", number(kKernelRows)},
        {"max_groups", number(kMaxGroups)},
    });
#undef PRECISION
}

}  // namespace
}  // namespace styleforge

// The text is valid as long as the library is loaded.
extern "C" const char* styleforge_network_abi() {
    using namespace styleforge;
    static const std::string text = object({{"structs", object({{"common", common_structs()},
                                                                {"sm80", sm80_structs()},
                                                                {"sm90", sm90_structs()}})},
                                            {"sm75", sm75_kernels()},
                                            {"sm80", sm80_16_bits()},
                                            {"sm80_tf32", sm80_tf32()},
                                            {"sm80_fp32", sm80_fp32()},
                                            {"sm80_int8", sm80_int8()},
                                            {"sm90", sm90_kernels()}});
    return text.c_str();
}
