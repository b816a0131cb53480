// The 3x3 kernels of network_sm80.cu with operands of eight bits, see sm80/int8.cuh. A source of its
// own, so that a process loads the precision that it runs.
#include "include/sm80/conv3x3.cuh"
#include "include/sm80/int8_traits.cuh"
