// The epilogue of attention's output projection, or of a feed-forward network's second layer, in
// FP16 and BF16: bias and residual in one pass, epilogue.cuh.
#include "ops/transformer/transformer.h"
#include "epilogue.cuh"
