// Attention, first rung of a ladder of three: include/attention/ladder_v1.cuh, tiles of scores in
// shared memory. It exists to be read and measured; docs/attention.md states the gain of each rung.
#include "include/attention/ladder_v1.cuh"
#include "include/transformer.h"
