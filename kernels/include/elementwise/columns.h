// What the gradients of an elementwise operation are called with where they are also summed over
// rows. kernels/ops/elements/layout.py has its mirror.
#pragma once

#include "call.h"

typedef struct {
    // Of two dimensions, columns and rows. The gradient of the result and the first input lie in
    // rows, the other inputs are one row or one number each.
    StyleforgeElements call;
    float* sums[2];   // of the gradients, [chunks, columns]: of each column of a chunk; or null
    long long chunk;  // rows that are summed together; the last chunk may have fewer
} StyleforgeColumns;
