// Sums over the threads of a block that work on one row, in a fixed order.
#pragma once

namespace styleforge {

// `size` threads that lie together, a power of two from 32 on. Every thread of the block has to take
// part in a sum, also where its team has no row.
struct Team {
    int size, lane;
    float* shared;  // two numbers for each warp of the block

    // Replaces each of the values by its sum over the team.
    template <int kCount>
    __device__ __forceinline__ void sum(float (&values)[kCount]) const {
#pragma unroll
        for (int step = 16; step > 0; step /= 2)
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                values[k] += __shfl_xor_sync(0xffffffffu, values[k], step);
        if (size == 32) return;
        const int warp = threadIdx.x / 32, first = (threadIdx.x - lane) / 32;
        __syncthreads();  // the last sums have been read
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            if (lane % 32 == 0) shared[2 * warp + k] = values[k];
            values[k] = 0;
        }
        __syncthreads();
        for (int i = first; i < first + size / 32; ++i)
#pragma unroll
            for (int k = 0; k < kCount; ++k) values[k] += shared[2 * i + k];
    }
    __device__ __forceinline__ float sum(float value) const {
        float values[1] = {value};
        sum(values);
        return values[0];
    }
};

}  // namespace styleforge
