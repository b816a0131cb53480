// Exposes trait constants that no description lists: the compiler writes them into an instance's
// name, which kernels/tuning/compiling.py reads. The kernel is never launched.
#pragma once

namespace styleforge::sm80 {

template <int... kNumbers>
__global__ void numbers() {}

}  // namespace styleforge::sm80
