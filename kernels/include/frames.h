// What the sources of the library `frames` share: the kernels' structs, and sizes that the host knows.
#pragma once

#include "frame/finish.h"
#include "frame/motion.h"
#include "frame/smooth.h"

namespace styleforge {

constexpr int kThreads = 128;  // of a block, along a row of pixels
constexpr int kFlowTeam = 256;  // of a block that estimates the motion of a tile
constexpr int kTeam = 512;     // of a block that measures motion, or how flat the cells of a tile are
constexpr int kAddPixels = 512;  // of a row, to which a block of kThreads adds texture

// The frame as the network's input.
struct ResizeParams {
    const uint8_t* frame;  // [height, width, 3]
    uint8_t* small;        // [small_height, small_width, 3]
    int height, width, small_height, small_width;
};

// The displayed picture in the size in which a window shows it.
struct ScreenParams {
    const uint8_t* picture;  // [height, width, 3]
    unsigned* screen;        // [screen_height, screen_width] of screen_color
    int height, width, screen_height, screen_width;
};

// The slopes of a small result over the frame's small copy.
struct SlopesParams {
    const uint8_t* result;  // [height, width, 3]
    const uint8_t* small;   // [height, width, 3]
    void* slopes;           // [height, width] of Slope
    int height, width;
};

}  // namespace styleforge
