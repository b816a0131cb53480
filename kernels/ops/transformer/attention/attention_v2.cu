// Attention, second rung: ladder_v2.cuh, vectorized loads, tiles of keys and
// values in padded shared memory, reductions with shuffles.
#include "ladder_v2.cuh"
#include "ops/transformer/transformer.h"
