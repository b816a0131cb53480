// The 3x3 kernels of network_sm80.cu with 8-bit operands; see sm80/int8.cuh. A separate source, so
// that a process loads only the precision it runs.
#include "sm80/conv3x3.cuh"
#include "sm80/int8_traits.cuh"
