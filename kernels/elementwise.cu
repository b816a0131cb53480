// The elementwise operations of the library for any model, and their gradients: two kernel
// templates, include/elementwise/pass.cuh and, for gradients that are summed over rows,
// columns.cuh, each with a functor of functors.h. totals.cuh completes the sums.
#include "include/library.h"
#include "include/elementwise/columns.cuh"
#include "include/elementwise/pass.cuh"
#include "include/elementwise/totals.cuh"
