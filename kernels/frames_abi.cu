// Describes the kernels of frame.cu to Python as JSON: the layout of the structs that they are called
// with, and the sizes of what they are given. It is plain C++.
#include <string>

#include "include/common/describe.h"
#include "include/frames.h"

namespace styleforge {
namespace {

std::string structs() {
    using R = ResizeParams;
    using C = ScreenParams;
    using S = SlopesParams;
    using F = FinishParams;
    using T = SmoothParams;
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
                            OFFSET(T, change), OFFSET(T, other), OFFSET(T, share),
                            OFFSET(T, counts), OFFSET(T, state), OFFSET(T, height),
                            OFFSET(T, width), OFFSET(T, rows), OFFSET(T, columns),
                            OFFSET(T, first), OFFSET(T, amount)})},
    });
}

std::string kernels() {
#define KERNEL(name) {#name, quoted("frame_" #name)}
    return object({KERNEL(resize), KERNEL(screen), KERNEL(slopes), KERNEL(finish), KERNEL(cells),
                   KERNEL(noise), KERNEL(still), KERNEL(smooth)});
#undef KERNEL
}

std::string frame() {
    return object({{"source", quoted("frame.cu")},
                   {"target", quoted("75")},
                   {"threads", number(kThreads)},
                   {"slope_bytes", number(sizeof(Slope))},
                   {"counts", number(kCounts)},
                   {"states", number(kStates)},
                   {"kernels", kernels()}});
}

}  // namespace
}  // namespace styleforge

// The description, valid as long as the library is loaded.
extern "C" const char* styleforge_frames_abi() {
    using namespace styleforge;
    static const std::string text = object({{"structs", structs()}, {"frame", frame()}});
    return text.c_str();
}
