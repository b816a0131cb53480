// Turns the type of tensors, which is known at run time, into one that a template takes, and rows of
// it into FP32.
#pragma once

#include "dtypes.h"
#include "half_rows.h"

namespace styleforge {

// Calls `use` with an element of the type of this number: 0 for FP32, 1 for FP16, 2 for BF16.
template <typename Use>
inline int of_type(int64_t type, const Use& use) {
    if (type == 1) return use(Half{});
    if (type == 2) return use(BFloat16{});
    return use(0.f);
}

// A row in FP32: where it lies, or brought into `buffer`.
inline const float* in_fp32(const float* row, float*, int64_t) { return row; }
template <typename T>
inline const float* in_fp32(const T* row, float* buffer, int64_t count) {
    widen_row(buffer, row, count);
    return buffer;
}

}  // namespace styleforge
