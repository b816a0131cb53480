// The kernels of network_sm80.cu on FP32 numbers that are multiplied with the ten bits of TF32. A
// source of its own, so that a process loads the precision that it runs.
#include "include/sm80/conv3x3.cuh"
#include "include/sm80/first_layer.cuh"
#include "include/sm80/fp32_traits.cuh"
#include "include/sm80/last_layer.cuh"
