// The elementwise operations of the library for any model, and their gradients: one kernel template,
// include/elementwise/pass.cuh, with a functor each, include/elementwise/functors.h.
#include "include/library.h"
#include "include/elementwise/pass.cuh"
