// Attention, third rung, in FP32: forward_fma.cuh, an online softmax without
// tensor cores, which would round products to TF32.
#include "forward_fma.cuh"
#include "ops/transformer/transformer.h"
