// Attention, third rung, on Hopper: forward_sm90.cuh for sm_90a, without masks
// and dropout.
#include "forward_sm90.cuh"
#include "ops/transformer/transformer.h"
