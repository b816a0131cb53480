// Attention, first rung of a ladder of three: ladder_v1.cuh, tiles of scores in
// shared memory. It exists to be read and measured;
// docs/explanation/attention.md states the gain of each rung.
#include "ladder_v1.cuh"
#include "ops/transformer/transformer.h"
