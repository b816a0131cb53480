// The elementwise operations of the library for any model, and their gradients. There are two
// kernel templates: include/elementwise/pass.cuh and, for gradients that are summed over rows,
// include/elementwise/columns.cuh. Each is instantiated with a functor of
// include/elementwise/functors.h. include/elementwise/totals.cuh completes the sums.
#include "include/library.h"
#include "include/elementwise/columns.cuh"
#include "include/elementwise/pass.cuh"
#include "include/elementwise/totals.cuh"
