// Whether our kernel or cuDNN computes a convolution, by the rows that StyleforgeFasterCase holds.
#pragma once

#include "../operations.h"

namespace styleforge {

// What the choice depends on.
struct ConvolutionCase {
    long long stride;    // the larger of the two
    long long outputs;   // channels
    long long kernel;    // taps on a side
    bool exact;          // FP32 without TF32
    bool channels_last;  // the input
    bool upsample;       // after "nearest x2"
};

// Whether every condition of `row` holds.
inline bool applies(const StyleforgeFasterCase& row, const ConvolutionCase& c) {
    return c.stride >= row.min_stride && (row.max_outputs == 0 || c.outputs <= row.max_outputs) &&
           (row.kernel == 0 || c.kernel == row.kernel) && (!row.exact || c.exact) &&
           (!row.channels_last || c.channels_last) && (!row.upsample || c.upsample);
}

// Whether our kernel is faster than cuDNN: a row applies.
inline bool own_kernel_is_faster(const StyleforgeFasterCase* rows, int count,
                                 const ConvolutionCase& c) {
    for (int i = 0; i < count; ++i)
        if (applies(rows[i], c)) return true;
    return false;
}

}  // namespace styleforge
