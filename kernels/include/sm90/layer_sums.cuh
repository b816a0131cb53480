// What the blocks of the joined residual layers leave in memory for one another.
#pragma once

namespace styleforge::sm90 {

constexpr int kSumCopies = 4;  // which blocks add to in turn, so that they do not queue for one

// Of one layer: the sums of its outputs and of their squares, in fixed point (exact_sums.cuh), and
// how many blocks are done. It begins as zeros.
struct LayerSums {
    long long sums[kSumCopies][128][2];  // of each channel: of values, of squares
    unsigned arrived;                    // blocks
    unsigned overflowed;                 // whether a value was too large or not finite
    unsigned padding[30];                // to whole lines of 128 bytes
};

}  // namespace styleforge::sm90
