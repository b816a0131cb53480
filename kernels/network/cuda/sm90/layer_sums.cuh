// The data that the blocks of the joined residual layers exchange in global memory.
#pragma once

namespace styleforge::sm90 {

constexpr int kSumCopies = 4;  // blocks spread their atomics over the copies to reduce contention

// One layer's fixed-point sums of its outputs and of their squares (exact_sums.cuh), and the number
// of blocks that have finished. It starts as zeros.
struct LayerSums {
    long long sums[kSumCopies][128][2];  // per channel: sum of values, sum of squares
    unsigned arrived;                    // blocks
    unsigned overflowed;                 // a value was too large or not finite
    unsigned padding[30];                // to whole lines of 128 bytes
};

}  // namespace styleforge::sm90
