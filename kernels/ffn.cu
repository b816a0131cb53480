// What the feed-forward network of a transformer does between its two products: bias and GELU in
// one pass, include/transformer/epilogue.cuh. The products are the library's.
#include "include/transformer.h"
#include "include/transformer/epilogue.cuh"
