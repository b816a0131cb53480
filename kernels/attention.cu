// Attention, first rung of a ladder of three: include/attention/ladder_v1.cuh, tiles of scores in
// shared memory. It is there to be read and measured; docs/attention.md says what each rung gains.
#include "include/attention/ladder_v1.cuh"
#include "include/transformer.h"
