// Sums over the threads of a block that work on one row, in a fixed order.
#pragma once

namespace styleforge {

// `size` threads that lie together, a power of two from 32 on. Every thread of the block has to take
// part in a sum, also where its team has no row.
struct Team {
    int size, lane;
    float* shared;  // a number for each warp of the block

    __device__ __forceinline__ float sum(float value) const {
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_xor_sync(0xffffffffu, value, step);
        if (size == 32) return value;
        __syncthreads();  // the last sum has been read
        if (lane % 32 == 0) shared[threadIdx.x / 32] = value;
        __syncthreads();
        const int first = (threadIdx.x - lane) / 32;
        value = 0;
        for (int i = 0; i < size / 32; ++i) value += shared[first + i];
        return value;
    }
};

}  // namespace styleforge
