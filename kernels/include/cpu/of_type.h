// Turns the type of tensors, which is known at run time, into one that a template takes.
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

}  // namespace styleforge
