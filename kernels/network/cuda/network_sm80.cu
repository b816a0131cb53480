// The network's layers for sm_80 and up: convolutions that normalize and activate their input on
// load, and write the statistics of their output. With instance norm in between, a layer crosses
// memory once.
//
// A layer's output is stored raw, before its norm. The next layer applies norm, ReLU and residual
// while it loads a tile with its border into shared memory, once per element rather than once per
// tap; mma.sync multiplies from there. Activations are channels last.
//
// T is the operand type of mma.sync, __half or __nv_bfloat16. In network_sm80_tf32.cu and
// network_sm80_fp32.cu, activations are FP32 in memory and are multiplied as FP16, or in full
// precision as the sum of two FP16 numbers.
#include "sm80/conv3x3.cuh"
#include "sm80/first_layer.cuh"
#include "sm80/last_layer.cuh"
#include "sm80/lite_traits.cuh"
#include "sm80/numbers.cuh"
