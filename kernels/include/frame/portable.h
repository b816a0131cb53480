// Functions that both the GPU's kernels and a C++ compiler for the host take: the tests compile them
// for the host and hold them equal to OpenCV.
#pragma once

#ifdef __CUDACC__
#define STYLEFORGE_PORTABLE __host__ __device__ __forceinline__
#define STYLEFORGE_UNROLL _Pragma("unroll")
#else
#include <math.h>
#define STYLEFORGE_PORTABLE inline
#define STYLEFORGE_UNROLL
#endif

namespace styleforge {

STYLEFORGE_PORTABLE int clamp(int value, int low, int high) {
    return value < low ? low : (value > high ? high : value);
}

// Rounded half to even, as OpenCV rounds, and held within a byte.
STYLEFORGE_PORTABLE int to_byte(float value) { return clamp(static_cast<int>(rintf(value)), 0, 255); }

}  // namespace styleforge
