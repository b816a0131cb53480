// Attention, second rung: include/attention/ladder_v2.cuh, vectorized loads, tiles of keys and
// values in padded shared memory, reductions with shuffles.
#include "include/attention/ladder_v2.cuh"
#include "include/transformer.h"
