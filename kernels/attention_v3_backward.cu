// Attention, third rung, gradients in FP16 and BF16: include/attention/backward_mma.cuh, from the
// saved log-sum-exps.
#include "include/attention/backward_mma.cuh"
#include "include/transformer.h"
