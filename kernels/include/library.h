// What the kernels of operations for any model are called with. Sources that include this file are
// the library `library`.
#pragma once

#include "elementwise/call.h"

namespace styleforge {

constexpr int kElementThreads = 256;  // of a block of an elementwise pass

}  // namespace styleforge
