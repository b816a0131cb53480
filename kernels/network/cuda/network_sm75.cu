// The network's layers for sm_75, in FP16: the kernels of network_sm80.cu with tiles for 64 KB of
// shared memory, products half as deep (m16n8k8), and copies that pass through registers.
#include "sm80/conv3x3.cuh"
#include "sm80/first_layer.cuh"
#include "sm80/last_layer.cuh"
#include "sm75/traits.cuh"
