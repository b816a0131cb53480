// Moves paintings with the scene, as in moving.h; a thread computes a cell or a pixel. smooth.cu
// finds their motion. Compiled without contraction, so that every bit equals smoothing.cpp.
#include "include/common/exact.h"
#include "frames.h"
#include "moving.h"

namespace styleforge {

// A cell of one of the paintings, which lie one below the other in a grid that covers the cells.
struct CellOfPainting {
    int which, row, column;
    bool inside;

    __device__ explicit CellOfPainting(const MovingParams& p)
        : which(blockIdx.y / p.rows), row(blockIdx.y % p.rows),
          column(blockIdx.x * blockDim.x + threadIdx.x), inside(column < p.columns) {}

    __device__ long long at(const MovingParams& p) const { return 1ll * row * p.columns + column; }

    // An index that is unknown to the compiler would copy the arguments to local memory.
    __device__ MovingPainting of(const MovingParams& p) const {
        static_assert(kMostPaintings == 2);
        return which ? p.paintings[1] : p.paintings[0];
    }
};

// Means of a painting's trusts, from one of its planes into the other.
__device__ __forceinline__ Trust soften(const MovingParams& p, const CellOfPainting& cell,
                                        int from) {
    const long long cells = 1ll * p.rows * p.columns;
    auto* trusts = static_cast<Trust*>(cell.of(p).trusts);
    const Trust mean = softened(p, trusts + from * cells, cell.row, cell.column);
    trusts[(1 - from) * cells + cell.at(p)] = mean;
    return mean;
}

}  // namespace styleforge

// The grid covers the cells. The gray frame is written to the pair of each painting.
extern "C" __global__ void frame_moving_cells(const styleforge::MovingParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (row == 0 && column < kMostPaintings) p.certainty[column] = 0;
    if (column >= p.columns) return;
    const float gray =
        gray_cell({p.source, p.height, p.width}, row, column, p.rows, p.columns);
#pragma unroll
    for (int which = 0; which < kMostPaintings; ++which)
        if (which < p.count) p.paintings[which].pair[1ll * row * p.columns + column] = gray;
}

extern "C" __global__ void frame_moving_changes(const styleforge::MovingParams p) {
    using namespace styleforge;
    const CellOfPainting cell(p);
    if (!cell.inside) return;
    const MovingPainting painting = cell.of(p);
    static_cast<Changes*>(painting.changes)[cell.at(p)] =
        changes_at(p, painting, cell.row, cell.column);
}

extern "C" __global__ void frame_moving_trusts(const styleforge::MovingParams p) {
    using namespace styleforge;
    const CellOfPainting cell(p);
    if (!cell.inside) return;
    const MovingPainting painting = cell.of(p);
    static_cast<Trust*>(painting.trusts)[cell.at(p)] =
        trust_at(p, painting, cell.row, cell.column);
}

extern "C" __global__ void frame_moving_soften(const styleforge::MovingParams p) {
    using namespace styleforge;
    const CellOfPainting cell(p);
    if (cell.inside) soften(p, cell, 0);
}

// The second time, and sums. These are integers, which do not depend on the order.
extern "C" __global__ void frame_moving_sum(const styleforge::MovingParams p) {
    using namespace styleforge;
    const CellOfPainting cell(p);
    unsigned long long sum = cell.inside ? certain_steps(soften(p, cell, 1).certain) : 0;
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
    if ((threadIdx.x & 31) == 0) atomicAdd(&p.certainty[cell.which], sum);
}

// The grid covers the picture.
extern "C" __global__ void frame_moving_show(const styleforge::MovingParams p) {
    using namespace styleforge;
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= p.width) return;
    const Color c = shown_painting(p, row, column);
    uint8_t* to = p.shown + (1ll * row * p.width + column) * 3;
    to[0] = static_cast<uint8_t>(c.r), to[1] = static_cast<uint8_t>(c.g);
    to[2] = static_cast<uint8_t>(c.b);
}
