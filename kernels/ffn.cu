// The operations between the two products of a transformer's feed-forward network: bias and GELU in
// one pass, include/transformer/epilogue.cuh. cuBLAS or another library computes the products.
#include "include/transformer.h"
#include "include/transformer/epilogue.cuh"
