// Shared declarations of the library `frames`: the kernels' structs, and sizes that the host needs.
#pragma once

#include "combing.h"
#include "finish.h"
#include "motion.h"
#include "smooth.h"

namespace styleforge {

constexpr int kThreads = 128;  // per block, along a row of pixels
constexpr int kFlowTeam = 256;  // per block that estimates the motion of a tile
constexpr int kTeam = 512;     // per block that measures motion or the flatness of a tile's cells
constexpr int kMotionBlocks = 8;  // of a cluster that measures motion
constexpr int kAreaLanes = 8;     // threads that measure a pixel of the copy for motion
constexpr int kAddRows = 4;       // to which a block of kThreads adds texture
constexpr int kAxisRows = 8, kAxisColumns = 16;  // of the small copy, one tile per block of kTeam
constexpr int kCombTeam = 512;   // per block that adds combed texture
constexpr int kCombPixels = 60;  // per side of its tile

// Resizes the frame to the network's input.
struct ResizeParams {
    const uint8_t* frame;  // [height, width, 3]
    uint8_t* small;        // [small_height, small_width, 3]
    int height, width, small_height, small_width;
};

// Resizes the displayed picture to the size of its window.
struct ScreenParams {
    const uint8_t* picture;  // [height, width, 3]
    unsigned* screen;        // [screen_height, screen_width] of screen_color
    int height, width, screen_height, screen_width;
};

// The slopes of a small result against the frame's small copy.
struct SlopesParams {
    const uint8_t* result;  // [height, width, 3]
    const uint8_t* small;   // [height, width, 3]
    void* slopes;           // [height, width] of Slope
    int height, width;
};

}  // namespace styleforge
