// What the kernels of conv2d.cu are called with.
#pragma once

#include "../operations.h"

namespace styleforge {

constexpr int kPackThreads = 256;  // of a block that packs a weight

struct Convolution {
    StyleforgeConvolution p;
    int taps, steps, flat, vector, padded_out, tiles;
};

}  // namespace styleforge
