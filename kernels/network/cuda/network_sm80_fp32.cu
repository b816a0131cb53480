// The kernels of network_sm80.cu on FP32 numbers, multiplied in full precision as the sum of two
// FP16 numbers. A separate source, so that a process loads only the precision it runs.
#include "sm80/conv3x3.cuh"
#include "sm80/first_layer.cuh"
#include "sm80/fp32_traits.cuh"
#include "sm80/last_layer.cuh"
