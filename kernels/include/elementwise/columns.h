// What the gradients of an elementwise operation are called with where they are also summed over
// rows, and what sums these over chunks of rows. kernels/ops/elements/layout.py has their mirrors.
#pragma once

#include "call.h"

typedef struct {
    // Of two dimensions, columns and rows. The gradient of the result and the first input lie in
    // rows, the other inputs are one row or one number each.
    StyleforgeElements call;
    float* sums[2];   // of the gradients, [chunks, columns]: of each column of a chunk; or null
    long long chunk;  // rows that are summed together; the last chunk may have fewer
} StyleforgeColumns;

typedef struct {
    const float* sums[2];  // as StyleforgeColumns had them written
    void* totals[2];       // [columns], or one element
    long long chunks;
    long long columns;
    int numbers[2];  // whether a total is of all columns
} StyleforgeTotals;
