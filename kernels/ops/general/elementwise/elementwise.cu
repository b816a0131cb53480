// The elementwise operations of the library for any model, and their gradients: two kernel
// templates, pass.cuh and, for gradients that are summed over rows,
// columns.cuh, each with a functor of functors.h. totals.cuh completes the sums.
#include "general.h"
#include "columns.cuh"
#include "pass.cuh"
#include "totals.cuh"
