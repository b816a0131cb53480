// Sums over the threads of a block that work on one row, in a fixed order.
#pragma once

namespace styleforge {

// `size` threads that lie together, a power of two from 32 on. Every thread of the block has to take
// part in a sum, also where its team has no row.
struct Team {
    static constexpr int kShared = 64;  // numbers: two times two for each warp of a block
    int size, lane;
    float* shared;          // kShared numbers
    mutable int turn = 0;  // of two, which half of `shared` the last sum was taken in

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
        // The other half may still be read. Of this one all threads have read the sum before the
        // last: they have waited for each other since.
        turn ^= kShared / 2;
        float* const sums = shared + turn;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
            if (lane % 32 == 0) sums[2 * warp + k] = values[k];
            values[k] = 0;
        }
        __syncthreads();
        for (int i = first; i < first + size / 32; ++i)
#pragma unroll
            for (int k = 0; k < kCount; ++k) values[k] += sums[2 * i + k];
    }
    __device__ __forceinline__ float sum(float value) const {
        float values[1] = {value};
        sum(values);
        return values[0];
    }
};

}  // namespace styleforge
