// Describes the network's kernels to Python as JSON: the layout of the launchers' structs, the
// numbering of layers, dtypes and precisions, tile shapes, threads and shared memory. The numbers
// come from the headers that the kernels include; kernels/network/abi.py reads them.
#include <stddef.h>

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "include/sm80/params.cuh"
#include "include/sm80/traits.cuh"
#include "include/sm90/params.cuh"
#include "include/sm90/traits.cuh"

namespace styleforge {
namespace {

using Members = std::initializer_list<std::pair<const char*, std::string>>;

std::string number(long long value) { return std::to_string(value); }

std::string quoted(const char* text) { return "\"" + std::string(text) + "\""; }

std::string object(Members members) {
    std::string text;
    for (const auto& [name, value] : members)
        text += (text.empty() ? "" : ", ") + quoted(name) + ": " + value;
    return "{" + text + "}";
}

std::string layout(size_t size, Members offsets) {
    return object({{"size", number(size)}, {"offsets", object(offsets)}});
}

#define OFFSET(type, field) {#field, number(offsetof(type, field))}

std::string common_structs() {
    using N = NormParams;
    return object(
        {{"NormParams", layout(sizeof(N), {OFFSET(N, groups), OFFSET(N, gamma), OFFSET(N, beta),
                                           OFFSET(N, count), OFFSET(N, eps)})}});
}

std::string sm80_structs() {
    using T = sm80::Tiling;
    using S = sm80::StatisticsParams;
    using C = sm80::ConvParams;
    using F = sm80::FirstLayerParams;
    using L = sm80::LastLayerParams;
    return object({
        {"Tiling", layout(sizeof(T), {OFFSET(T, height), OFFSET(T, width), OFFSET(T, tile_h),
                                      OFFSET(T, tile_w), OFFSET(T, rows), OFFSET(T, columns),
                                      OFFSET(T, copies)})},
        {"StatisticsParams", layout(sizeof(S), {OFFSET(S, tiles), OFFSET(S, groups),
                                                OFFSET(S, tickets), OFFSET(S, group)})},
        {"ConvParams", layout(sizeof(C), {OFFSET(C, x), OFFSET(C, norm), OFFSET(C, residual),
                                          OFFSET(C, activated), OFFSET(C, weight), OFFSET(C, y),
                                          OFFSET(C, statistics), OFFSET(C, tiling),
                                          OFFSET(C, height), OFFSET(C, width), OFFSET(C, relu)})},
        {"FirstLayerParams",
         layout(sizeof(F),
                {OFFSET(F, x), OFFSET(F, weight), OFFSET(F, y), OFFSET(F, statistics),
                 OFFSET(F, tiling), OFFSET(F, height), OFFSET(F, width), OFFSET(F, range)})},
        {"LastLayerParams",
         layout(sizeof(L), {OFFSET(L, x), OFFSET(L, norm), OFFSET(L, weight), OFFSET(L, bias),
                            OFFSET(L, y), OFFSET(L, height), OFFSET(L, width), OFFSET(L, padded_h),
                            OFFSET(L, padded_w), OFFSET(L, range)})},
    });
}

std::string sm90_structs() {
    using S = sm90::StatisticsParams;
    using C = sm90::ConvParams;
    using E = sm90::EdgeConvParams;
    return object({
        {"StatisticsParams", layout(sizeof(S), {OFFSET(S, entries), OFFSET(S, groups),
                                                OFFSET(S, tickets), OFFSET(S, group)})},
        {"ConvParams",
         layout(sizeof(C),
                {OFFSET(C, x), OFFSET(C, norm), OFFSET(C, residual), OFFSET(C, activated),
                 OFFSET(C, weight), OFFSET(C, y), OFFSET(C, statistics), OFFSET(C, height),
                 OFFSET(C, width), OFFSET(C, out_height), OFFSET(C, out_width),
                 OFFSET(C, tiles_long), OFFSET(C, tiles_short), OFFSET(C, across)})},
        {"EdgeConvParams",
         layout(sizeof(E), {OFFSET(E, x), OFFSET(E, norm), OFFSET(E, weight), OFFSET(E, bias),
                            OFFSET(E, y), OFFSET(E, statistics), OFFSET(E, range),
                            OFFSET(E, height), OFFSET(E, width), OFFSET(E, padded_height),
                            OFFSET(E, padded_width), OFFSET(E, strips), OFFSET(E, rows)})},
    });
}

std::string sm80_conv(int kind) {
    std::string text;
    sm80::with_conv_traits(kind, [&](auto traits) {
        using S = decltype(traits);
        text = object({{"kind", number(kind)},
                       {"tile_h", number(S::kTileH)},
                       {"tile_w", number(S::kTileW)},
                       {"block_k", number(S::kBlockK)},
                       {"taps", number(S::kKernel * S::kKernel)},
                       {"phases", number(S::kUpsample ? 4 : 1)},
                       {"threads", number(S::kThreads)},
                       {"shared_bytes", number(S::kSharedBytes)}});
        return 0;
    });
    return text;
}

template <typename S>
std::string sm80_edge() {
    return object({{"tile_h", number(S::kTileH)},
                   {"tile_w", number(S::kTileW)},
                   {"depth", number(S::kDepth)},
                   {"rows", number(S::kWeightRows)},
                   {"weight_order", quoted(S::kWeightOrder)},
                   {"threads", number(S::kThreads)},
                   {"shared_bytes", number(S::kSharedBytes)}});
}

std::string sm80_kernels() {
    using namespace sm80;
    return object({
        {"dtypes", object({{"float16", number(kFp16)}, {"bfloat16", number(kBf16)}})},
        {"convs", object({{"down1", sm80_conv(kDown1)},
                          {"down2", sm80_conv(kDown2)},
                          {"same", sm80_conv(kSame)},
                          {"up1", sm80_conv(kUp1)},
                          {"up2", sm80_conv(kUp2)},
                          {"same_wide", sm80_conv(kSameWide)},
                          {"down2_small", sm80_conv(kDown2Small)},
                          {"same_small", sm80_conv(kSameSmall)}})},
        {"weight_order", quoted(kWeightOrder)},
        {"first", sm80_edge<FirstLayerTraits>()},
        {"last", sm80_edge<LastLayerTraits>()},
        {"required_shared_bytes", number(kRequiredSharedBytes)},
        {"required_shared_bytes_small", number(kRequiredSharedBytesSmall)},
    });
}

template <typename M>
std::string sm90_conv(int kind) {
    std::string text;
    sm90::with_conv_traits<M>(kind, [&](auto traits) {
        using F = decltype(traits);
        text = object({{"kind", number(kind)},
                       {"tile_long", number(F::kTileLong)},
                       {"block_k", number(F::kBlockK)},
                       {"groups", number(F::kSplitPixels ? 1 : 2)},
                       {"passes", number(F::kPasses)},
                       {"taps", number(F::kTaps)},
                       {"threads", number(F::kThreads)},
                       {"shared_bytes", number(F::kSharedBytes)}});
        return 0;
    });
    return text;
}

template <typename W>
std::string sm90_strip() {
    return object({{"width", number(W::kWidth)},
                   {"weight_axes", quoted(W::kWeightAxes)},
                   {"threads", number(W::kThreads)},
                   {"shared_bytes", number(W::kSharedBytes)}});
}

std::string sm90_precision(int precision) {
    using namespace sm90;
    std::string text;
    with_precision(precision, [&](auto policy) {
        using M = decltype(policy);
        text = object(
            {{"number", number(precision)},
             {"operand", quoted(std::is_same_v<typename M::O, __half> ? "float16" : "bfloat16")},
             {"operand_copies", number(M::kOperandCopies)},
             {"convs", object({{"down1", sm90_conv<M>(kDown1)},
                               {"down2", sm90_conv<M>(kDown2)},
                               {"same", sm90_conv<M>(kSame)},
                               {"same_large", sm90_conv<M>(kSameLarge)},
                               {"up1", sm90_conv<M>(kUp1)},
                               {"up2", sm90_conv<M>(kUp2)}})},
             {"first", sm90_strip<typename TraitsFor<M>::First>()},
             {"last", sm90_strip<typename TraitsFor<M>::Last>()}});
        return 0;
    });
    return text;
}

std::string sm90_kernels() {
    using namespace sm90;
    return object({
        {"precisions", object({{"fp16", sm90_precision(kFp16)},
                               {"bf16", sm90_precision(kBf16)},
                               {"tf32", sm90_precision(kTf32)},
                               {"fp32", sm90_precision(kFp32)}})},
        {"weight_order", quoted(kWeightOrder)},
        {"strip_weight_order", quoted(kStripWeightOrder)},
        {"weight_rows", number(kWeightRows)},
        {"weight_depth", number(kWeightDepth)},
        {"kernel_rows", number(kKernelRows)},
        {"max_groups", number(kMaxGroups)},
    });
}

}  // namespace
}  // namespace styleforge

// The description, valid as long as the library is loaded.
extern "C" const char* styleforge_network_abi() {
    using namespace styleforge;
    static const std::string text = object({{"structs", object({{"common", common_structs()},
                                                                {"sm80", sm80_structs()},
                                                                {"sm90", sm90_structs()}})},
                                            {"sm80", sm80_kernels()},
                                            {"sm90", sm90_kernels()}});
    return text.c_str();
}
