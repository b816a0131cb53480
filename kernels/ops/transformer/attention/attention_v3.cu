// Attention, third rung: forward_mma.cuh, an online softmax on tensor cores in
// FP16 and BF16, with masks and dropout. Hopper has separate kernels for calls without either.
#include "forward_mma.cuh"
#include "ops/transformer/transformer.h"
