// A residual block in four launches: both convolutions leave the statistics of what they store, the
// second normalizes and activates what it reads, and only its own norm, with the sum, crosses
// memory once more.
#include <cuda_runtime.h>

#include "include/operations.h"

extern "C" int styleforge_residual_block(const StyleforgeResidualBlock* p, void* stream) {
    if (const int error = styleforge_convolve(&p->first, stream)) return error;
    if (const int error = styleforge_merge_norm(&p->first_norm, p->first.parts,
                                                styleforge_tiles(&p->first), p->affine, stream))
        return error;
    StyleforgeConvolution second = p->second;
    second.affine = p->affine;
    if (const int error = styleforge_convolve(&second, stream)) return error;
    return styleforge_finish_norm(&p->second_norm, second.parts, styleforge_tiles(&second), stream);
}
