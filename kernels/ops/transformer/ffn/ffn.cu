// Bias and GELU between the two products of a transformer's feed-forward network, in one pass:
// epilogue.cuh. PyTorch computes the products.
#include "ops/transformer/transformer.h"
#include "epilogue.cuh"
