// Attention, third rung, gradients in FP16 and BF16: backward_mma.cuh, from the
// saved log-sum-exps.
#include "backward_mma.cuh"
#include "ops/transformer/transformer.h"
