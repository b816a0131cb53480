// What the kernels of operations for any model are called with. Sources that include this file are
// the library `library`.
#pragma once

#include "elementwise/call.h"

namespace styleforge {

constexpr int kElementThreads = 256;  // of a block of an elementwise pass
// Of these on a multiprocessor. With registers for so many the compiler issues all loads of a thread
// first; without a bound it delays some behind arithmetic, which saves registers.
constexpr int kElementBlocks = 5, kElementBlocksBackward = 4;

}  // namespace styleforge
