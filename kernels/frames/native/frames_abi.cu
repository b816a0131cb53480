// Describes the kernels around the network to Python as JSON: struct layouts, buffer sizes and
// constants. Plain C++.
#include <string>

#include "include/common/describe.h"
#include "frames.h"
#include "matting.h"
#include "moving.h"

namespace styleforge {
namespace {

std::string structs() {
    using R = ResizeParams;
    using C = ScreenParams;
    using S = SlopesParams;
    using F = FinishParams;
    using T = SmoothParams;
    using H = HalveParams;
    using W = FlowParams;
    using M = MedianParams;
    using X = TextureParams;
    using E = EnlargeTextureParams;
    using B = CombParams;
    using V = MovingParams;
    using A = MattingParams;
    using I = MixParams;
    return object({
        {"ResizeParams",
         layout(sizeof(R), {OFFSET(R, frame), OFFSET(R, small), OFFSET(R, height), OFFSET(R, width),
                            OFFSET(R, small_height), OFFSET(R, small_width)})},
        {"ScreenParams",
         layout(sizeof(C), {OFFSET(C, picture), OFFSET(C, screen), OFFSET(C, height),
                            OFFSET(C, width), OFFSET(C, screen_height), OFFSET(C, screen_width)})},
        {"SlopesParams", layout(sizeof(S), {OFFSET(S, result), OFFSET(S, small), OFFSET(S, slopes),
                                            OFFSET(S, height), OFFSET(S, width)})},
        {"FinishParams",
         layout(sizeof(F), {OFFSET(F, frame), OFFSET(F, result), OFFSET(F, slopes),
                            OFFSET(F, picture), OFFSET(F, height), OFFSET(F, width),
                            OFFSET(F, small_height), OFFSET(F, small_width), OFFSET(F, strength),
                            OFFSET(F, keep_colors)})},
        {"SmoothParams",
         layout(sizeof(T), {OFFSET(T, source), OFFSET(T, result), OFFSET(T, smoothed),
                            OFFSET(T, accumulated), OFFSET(T, known), OFFSET(T, cells),
                            OFFSET(T, pair), OFFSET(T, flow), OFFSET(T, moved), OFFSET(T, change),
                            OFFSET(T, other), OFFSET(T, share), OFFSET(T, counts), OFFSET(T, sums),
                            OFFSET(T, state), OFFSET(T, height), OFFSET(T, width), OFFSET(T, rows),
                            OFFSET(T, columns), OFFSET(T, first), OFFSET(T, amount)})},
        {"HalveParams", layout(sizeof(H), {OFFSET(H, pair), OFFSET(H, half), OFFSET(H, height),
                                           OFFSET(H, width), OFFSET(H, small_height),
                                           OFFSET(H, small_width)})},
        {"FlowParams",
         layout(sizeof(W), {OFFSET(W, pair), OFFSET(W, coarse), OFFSET(W, flow), OFFSET(W, height),
                            OFFSET(W, width), OFFSET(W, coarse_height), OFFSET(W, coarse_width)})},
        {"MedianParams", layout(sizeof(M), {OFFSET(M, flow), OFFSET(M, median), OFFSET(M, height),
                                            OFFSET(M, width), OFFSET(M, settles)})},
        {"TextureParams",
         layout(sizeof(X), {OFFSET(X, picture), OFFSET(X, textured), OFFSET(X, fine),
                            OFFSET(X, coarse), OFFSET(X, taps), OFFSET(X, cells), OFFSET(X, flat),
                            OFFSET(X, field), OFFSET(X, combed), OFFSET(X, tracked),
                            OFFSET(X, before), OFFSET(X, reference), OFFSET(X, state),
                            OFFSET(X, height), OFFSET(X, width), OFFSET(X, rows),
                            OFFSET(X, columns), OFFSET(X, small_height), OFFSET(X, small_width),
                            OFFSET(X, first), OFFSET(X, continues), OFFSET(X, amount)})},
        {"CombParams",
         layout(sizeof(B), {OFFSET(B, tracked), OFFSET(B, fine), OFFSET(B, coarse), OFFSET(B, taps),
                            OFFSET(B, lines), OFFSET(B, kept), OFFSET(B, axes),
                            OFFSET(B, noise), OFFSET(B, combed), OFFSET(B, state),
                            OFFSET(B, height), OFFSET(B, width), OFFSET(B, small_height),
                            OFFSET(B, small_width), OFFSET(B, mode), OFFSET(B, steps),
                            OFFSET(B, axis_x), OFFSET(B, axis_y), OFFSET(B, gain),
                            OFFSET(B, tall), OFFSET(B, wide), OFFSET(B, count),
                            OFFSET(B, handles)})},
        {"EnlargeTextureParams",
         layout(sizeof(E), {OFFSET(E, picture), OFFSET(E, textured), OFFSET(E, field),
                            OFFSET(E, height), OFFSET(E, width), OFFSET(E, small_height),
                            OFFSET(E, small_width)})},
        {"MovingParams",
         layout(sizeof(V), {OFFSET(V, source), OFFSET(V, shown), OFFSET(V, certainty),
                            OFFSET(V, paintings), OFFSET(V, height), OFFSET(V, width),
                            OFFSET(V, rows), OFFSET(V, columns), OFFSET(V, count),
                            OFFSET(V, before_share)})},
        {"MattingParams",
         layout(sizeof(A), {OFFSET(A, frame), OFFSET(A, colors), OFFSET(A, noise), OFFSET(A, gray),
                            OFFSET(A, differences), OFFSET(A, unlike), OFFSET(A, plain),
                            OFFSET(A, kept), OFFSET(A, rough), OFFSET(A, before),
                            OFFSET(A, fitted), OFFSET(A, slopes), OFFSET(A, height),
                            OFFSET(A, width), OFFSET(A, tile_rows), OFFSET(A, tile_columns),
                            OFFSET(A, first), OFFSET(A, lights)})},
        {"MixParams", layout(sizeof(I), {OFFSET(I, painted), OFFSET(I, frame), OFFSET(I, slopes),
                                         OFFSET(I, mixed), OFFSET(I, height), OFFSET(I, width),
                                         OFFSET(I, small_height), OFFSET(I, small_width),
                                         OFFSET(I, swapped)})},
    });
}

std::string kernels() {
#define KERNEL(name) {#name, quoted("frame_" #name)}
    return object({KERNEL(resize), KERNEL(screen), KERNEL(slopes), KERNEL(finish),
                   KERNEL(texture_cells), KERNEL(texture_flat), KERNEL(texture_comb),
                   KERNEL(texture_add), KERNEL(texture_enlarge)});
#undef KERNEL
}

// Sizes for texture: blocks and pictures for measuring motion, blurs in cells, sides of the tiles of
// noise, tiles of cells, of axes and of pixels, rows per texture block, bytes of a cell and of the
// state between frames.
std::string texture() {
    return object({{"team", number(kTeam)},
                   {"motion_blocks", number(kMotionBlocks)},
                   {"area_lanes", number(kAreaLanes)},
                   {"tracked", number(kTracked)},
                   {"close", number(kClose)},
                   {"wide", number(kWide)},
                   {"fine_side", number(kFineSide)},
                   {"coarse_side", number(kCoarseSide)},
                   {"tile_rows", number(kTileRows)},
                   {"tile_columns", number(kTileColumns)},
                   {"axis_rows", number(kAxisRows)},
                   {"axis_columns", number(kAxisColumns)},
                   {"add_rows", number(kAddRows)},
                   {"comb_team", number(kCombTeam)},
                   {"comb_pixels", number(kCombPixels)},
                   {"narrow_reach", number(kNarrowReach)},
                   {"carry_reach", number(kCarryReach)},
                   {"longest", number(kLongest)},
                   {"margin", number(kMargin)},
                   {"most_handles", number(kMostHandles)},
                   {"cell_bytes", number(sizeof(Cell))},
                   {"state_bytes", number(sizeof(TextureState))}});
}

// The smoothing kernels, and sizes: histogram of noise, sums of pictures, state between frames,
// tiles of a motion.
std::string smoothing() {
#define KERNEL(name) {#name, quoted("frame_" #name)}
    const std::string kernels =
        object({KERNEL(cells), KERNEL(halve), KERNEL(flow), KERNEL(median), KERNEL(change),
                KERNEL(noise), KERNEL(same), KERNEL(smooth)});
#undef KERNEL
    return object({{"source", quoted("smooth.cu")},
                   {"target", quoted("75")},
                   {"kernels", kernels},
                   {"counts", number(kCounts)},
                   {"sums", number(kSums)},
                   {"states", number(kStates)},
                   {"flow_team", number(kFlowTeam)},
                   {"flow_rows", number(kFlowRows)},
                   {"flow_columns", number(kFlowColumns)}});
}

std::string thousandths(double value) { return number(static_cast<long long>(value * 1000 + 0.5)); }

// The kernels that move paintings, the bytes of a cell's values, and constants in thousandths.
std::string moving() {
#define KERNEL(name) {#name, quoted("frame_" #name)}
    const std::string kernels =
        object({KERNEL(moving_cells), KERNEL(moving_changes), KERNEL(moving_trusts),
                KERNEL(moving_soften), KERNEL(moving_sum), KERNEL(moving_show)});
#undef KERNEL
    const std::string constants = object({{"FADE", thousandths(kFadeFrames)},
                                          {"CERTAIN", thousandths(kCertain)},
                                          {"UNKNOWN", thousandths(kUnknown)},
                                          {"LEAST_GAIN", thousandths(kLeastGain)},
                                          {"FULL_GAIN", thousandths(kFullGain)},
                                          {"WHOLE", thousandths(kWhole)},
                                          {"TORN", thousandths(kTorn)},
                                          {"SAME_SCENE", thousandths(kSameTrust)}});
    return object({{"source", quoted("moving.cu")},
                   {"target", quoted("75")},
                   {"kernels", kernels},
                   {"changes_bytes", number(sizeof(Changes))},
                   {"trust_bytes", number(sizeof(Trust))},
                   {"constants", constants}});
}

// The kernels that make mattes and mix by them, and constants in thousandths.
std::string matting() {
#define KERNEL(name) {#name, quoted("frame_" #name)}
    const std::string kernels =
        object({KERNEL(matting_see), KERNEL(matting_compare), KERNEL(matting_unlike),
                KERNEL(matting_rough), KERNEL(matting_steady), KERNEL(matting_fit),
                KERNEL(matting_guide), KERNEL(matting_mix)});
#undef KERNEL
    const std::string constants = object({{"TILE", thousandths(kTile)},
                                          {"PLAIN", thousandths(kPlain)},
                                          {"SHADE", thousandths(kShade)},
                                          {"DARKEST", thousandths(kDarkest)},
                                          {"COLOR", thousandths(kColor)},
                                          {"BRIGHT", thousandths(kBright)},
                                          {"LEAST", thousandths(kLeast)},
                                          {"MOST", thousandths(kMost)},
                                          {"ENOUGH", thousandths(kEnough)},
                                          {"STEADY", thousandths(kSteady)},
                                          {"CHANGE", thousandths(kChange)},
                                          {"FIT_REACH", thousandths(kFitReach)},
                                          {"MEAN_REACH", thousandths(kMeanReach)},
                                          {"SOFT", thousandths(kSoft)}});
    return object({{"source", quoted("matting.cu")},
                   {"target", quoted("75")},
                   {"kernels", kernels},
                   {"constants", constants}});
}

std::string frame() {
    return object({{"source", quoted("frame.cu")},
                   {"target", quoted("75")},
                   {"threads", number(kThreads)},
                   {"slope_bytes", number(sizeof(Slope))},
                   {"texture", texture()},
                   {"kernels", kernels()}});
}

}  // namespace
}  // namespace styleforge

extern "C" const char* styleforge_frames_abi() {
    using namespace styleforge;
    static const std::string text = object(
        {{"structs", structs()}, {"frame", frame()}, {"smoothing", smoothing()},
         {"moving", moving()}, {"matting", matting()}});
    return text.c_str();
}
