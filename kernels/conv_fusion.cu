// Convolution, instance norm and ReLU in one sequence of launches: the convolution leaves statistics
// of what it stores, and the norm merges them, so that no pass over memory only takes statistics.
#include <cuda_runtime.h>

#include "include/operations.h"

extern "C" int styleforge_conv_norm_relu(const StyleforgeConvNormRelu* p, void* stream) {
    if (const int error = styleforge_convolve(&p->conv, stream)) return error;
    return styleforge_finish_norm(&p->norm, p->conv.parts, styleforge_tiles(&p->conv), stream);
}
