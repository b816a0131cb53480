// Launch parameters of the kernels of operations for any model. Sources that include this file form
// the library `general`.
#pragma once

#include "call.h"

namespace styleforge {

constexpr int kElementThreads = 256;  // per block of an elementwise pass
// Blocks per multiprocessor. With this register budget the compiler issues all loads of a thread
// first; without a bound it delays some behind arithmetic to save registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kElementBlocks = 4;  // the maximum number of threads
#else
constexpr int kElementBlocks = 5;
#endif
constexpr int kElementBlocksBackward = 4;
// Vectors of each tensor that a thread has in flight, which hides latency if few tensors are read:
// they load before the first arithmetic. FP64 is bound by arithmetic.
template <typename T>
constexpr int kInFlight = sizeof(T) == 8 ? 1 : 2;
constexpr int kBiasInFlight = 4;  // the same for functions that add a bias to rows

// Blocks per multiprocessor for gradients with sums over rows; 16-bit types hold twice as many
// sums.
template <typename T>
constexpr int kColumnBlocks = sizeof(T) < 4 ? 3 : 4;
constexpr int kColumnLanes = 32;  // vectors of columns per such block
constexpr int kTotalThreads = 1024;  // per block that adds up the sums of such blocks

}  // namespace styleforge
