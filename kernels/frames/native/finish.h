// Computes a pixel of the displayed picture from the network's result and the frame.
#pragma once

#include "guided.h"

namespace styleforge {

// The inputs and the output of a displayed picture.
struct FinishParams {
    const uint8_t* frame;   // [height, width, 3]
    const uint8_t* result;  // [small_height, small_width, 3]
    const void* slopes;     // [small_height, small_width] of Slope, or null to add no detail
    uint8_t* picture;       // [height, width, 3]
    int height, width, small_height, small_width;
    float strength;   // 0 for the frame, 1 for the result
    int keep_colors;  // whether to use the frame's chroma
};

STYLEFORGE_PORTABLE Color enlarged(const FinishParams& p, Color frame, int row, int column) {
    const Picture result = {p.result, p.small_height, p.small_width};
    if (p.height == p.small_height && p.width == p.small_width) return pixel(result, row, column);
    const float y = source_of(row, p.height, p.small_height);
    const float x = source_of(column, p.width, p.small_width);
    const CubicTaps rows = cubic_taps(y), columns = cubic_taps(x);
    const Color large = cubic(result, rows, columns);
    if (p.slopes == nullptr) return large;
    const Color more = detail(static_cast<const Slope*>(p.slopes), p.small_height, p.small_width,
                              frame, y, x, rows, columns);
    return {clamp(large.r + more.r, 0, 255), clamp(large.g + more.g, 0, 255),
            clamp(large.b + more.b, 0, 255)};
}

STYLEFORGE_PORTABLE int mixed(int result, int frame, float strength) {
    return to_byte(result * strength + frame * (1 - strength));
}

STYLEFORGE_PORTABLE Color finished(const FinishParams& p, int row, int column) {
    const Color frame = pixel({p.frame, p.height, p.width}, row, column);
    Color c = enlarged(p, frame, row, column);
    if (p.keep_colors) c = with_chroma(c, frame);
    if (p.strength >= 1) return c;
    return {mixed(c.r, frame.r, p.strength), mixed(c.g, frame.g, p.strength),
            mixed(c.b, frame.b, p.strength)};
}

}  // namespace styleforge
