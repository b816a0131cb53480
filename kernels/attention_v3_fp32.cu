// Attention, third rung, in FP32: include/attention/forward_fma.cuh, an online softmax without
// tensor cores, which would round products to TF32.
#include "include/attention/forward_fma.cuh"
#include "include/transformer.h"
