// Launch parameters of gradients of an elementwise operation that are also summed over rows, and of
// the kernel that adds up the chunks' sums. layout.py mirrors them.
#pragma once

#include "call.h"

typedef struct {
    // Two dimensions, columns and rows. The result's gradient and the first input are stored as
    // rows; each other input is one row or one number.
    StyleforgeElements call;
    float* sums[2];   // of the gradients, [chunks, columns]: column sums per chunk; or null
    long long chunk;  // rows per chunk; the last chunk may have fewer
} StyleforgeColumns;

typedef struct {
    const float* sums[2];  // as written for StyleforgeColumns
    void* totals[2];       // [columns], or one element
    long long chunks;
    long long columns;
    int numbers[2];  // whether a total covers all columns
} StyleforgeTotals;
