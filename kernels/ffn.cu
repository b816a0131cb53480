// Bias and GELU between the two products of a transformer's feed-forward network, in one pass:
// include/transformer/epilogue.cuh. PyTorch computes the products.
#include "include/transformer.h"
#include "include/transformer/epilogue.cuh"
