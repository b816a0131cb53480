// Functions shared by the GPU kernels and a host C++ compiler. The tests compile them for the host
// and check that they equal OpenCV.
#pragma once

#ifdef __CUDACC__
#define STYLEFORGE_PORTABLE __host__ __device__ __forceinline__
#define STYLEFORGE_UNROLL _Pragma("unroll")
#define STYLEFORGE_ROLLED _Pragma("unroll 1")
#else
#include <math.h>
#define STYLEFORGE_PORTABLE inline
#define STYLEFORGE_UNROLL
#define STYLEFORGE_ROLLED
#endif

namespace styleforge {

STYLEFORGE_PORTABLE int clamp(int value, int low, int high) {
    return value < low ? low : (value > high ? high : value);
}

// Rounds half to even, like OpenCV, and clamps to a byte.
STYLEFORGE_PORTABLE int to_byte(float value) { return clamp(static_cast<int>(rintf(value)), 0, 255); }

}  // namespace styleforge
