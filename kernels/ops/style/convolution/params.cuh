// Launch parameters of the kernels in conv2d.cu.
#pragma once

#include "ops/style/operations.h"

namespace styleforge {

constexpr int kPackThreads = 256;  // per block that packs a weight

struct Convolution {
    StyleforgeConvolution p;
    int taps, steps, flat, vector, padded_out, tiles;
};

}  // namespace styleforge
