// What the kernels of operations for any model are called with. Sources that include this file are
// the library `library`.
#pragma once

#include "elementwise/call.h"

namespace styleforge {

constexpr int kElementThreads = 256;  // of a block of an elementwise pass
// Of these on a multiprocessor. With registers for so many the compiler issues all loads of a thread
// first; without a bound it delays some behind arithmetic, which saves registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kElementBlocks = 4;  // as many threads as there are
#else
constexpr int kElementBlocks = 5;
#endif
constexpr int kElementBlocksBackward = 4;
// Vectors of each tensor that a thread has in flight, so that what it waits for is hidden where few
// tensors are read: their loads come before the first arithmetic. Those of FP64 take arithmetic.
template <typename T>
constexpr int kInFlight = sizeof(T) == 8 ? 1 : 2;
constexpr int kBiasInFlight = 4;  // the same of a function that adds a bias to rows

// Blocks of gradients with sums over rows, which hold twice as many of them in 16 bits.
template <typename T>
constexpr int kColumnBlocks = sizeof(T) < 4 ? 3 : 4;
constexpr int kColumnLanes = 32;  // vectors of columns that such a block takes
constexpr int kTotalThreads = 1024;  // of a block that sums what such blocks left

}  // namespace styleforge
