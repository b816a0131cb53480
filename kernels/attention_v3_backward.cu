// Attention, third rung, gradients in FP16 and BF16: include/attention/backward_mma.cuh, from the
// saved logarithms of the sums of exponentials.
#include "include/attention/backward_mma.cuh"
#include "include/transformer.h"
