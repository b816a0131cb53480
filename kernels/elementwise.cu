// The elementwise operations of the library for any model, and their gradients: two kernel templates,
// include/elementwise/pass.cuh and, for gradients that are summed over rows,
// include/elementwise/columns.cuh, with a functor each, include/elementwise/functors.h; and what ends
// these sums, include/elementwise/totals.cuh.
#include "include/library.h"
#include "include/elementwise/columns.cuh"
#include "include/elementwise/pass.cuh"
#include "include/elementwise/totals.cuh"
