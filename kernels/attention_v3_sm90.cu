// Attention, third rung, on Hopper: include/attention/forward_sm90.cuh for sm_90a, without masks
// and dropout.
#include "include/attention/forward_sm90.cuh"
#include "include/transformer.h"
