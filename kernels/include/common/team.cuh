// Sums over the threads of a block that work on one row, in a fixed order.
#pragma once

namespace styleforge {

// `size` threads that lie together, a power of two from 32 on. Every thread of the block has to take
// part in a sum, also where its team has no row.
struct Team {
    static constexpr int kMostWarps = 16;  // of a block
    static constexpr int kShared = 4 * kMostWarps;  // numbers: two times two for each warp
    int size, lane;
    float* shared;          // kShared numbers
    mutable int turn = 0;  // of two, which half of `shared` the last sum was taken in

    // Of `size` threads; `number` is which of a block's teams it is. No division: a size is a power of
    // two.
    static __device__ __forceinline__ Team of_thread(int size, float* shared, int& number) {
        number = static_cast<int>(threadIdx.x) >> log2_of(size);
        return {size, static_cast<int>(threadIdx.x) & (size - 1), shared};
    }
    static __device__ __forceinline__ int log2_of(int size) {
#ifdef __CUDA_ARCH__
        return 31 - __clz(size);
#else
        return __builtin_ctz(size);
#endif
    }

    // Replaces each of the values by its sum over the team.
    template <int kCount>
    __device__ __forceinline__ void sum(float (&values)[kCount]) const {
        over_lanes<16>(values);
        if (size == 32) return;
        exchange(values);
        over_lanes<kMostWarps / 2>(values);
    }
    // Of two, the lower lanes of a warp sum one and the upper lanes the other: half of the instructions.
    __device__ __forceinline__ void sum(float (&values)[2]) const {
        static_assert(kMostWarps == 16, "half of a warp's lanes take what the warps left");
        const int half = threadIdx.x % 32 / 16, other = lane % 16, warp = threadIdx.x / 32;
        const float given = half ? values[0] : values[1], kept = half ? values[1] : values[0];
        float own[1] = {kept + __shfl_xor_sync(0xffffffffu, given, 16)};
        over_lanes<8>(own);
        if (size > 32) {
            const int first = (threadIdx.x - lane) / 32;
            turn ^= kShared / 2;
            float* const sums = shared + turn + half;
            if (other == 0) sums[2 * warp] = own[0];
            __syncthreads();
            own[0] = other < size / 32 ? sums[2 * (first + other)] : 0;
            over_lanes<8>(own);
        }
        values[0] = __shfl_sync(0xffffffffu, own[0], 0);
        values[1] = __shfl_sync(0xffffffffu, own[0], 16);
    }
    // Has in lane i what the values are in warp i % kMostWarps of the team, or 0 where there is none.
    // Within a warp all lanes have the same.
    template <int kCount>
    __device__ __forceinline__ void exchange(float (&values)[kCount]) const {
        const int warp = threadIdx.x / 32, first = (threadIdx.x - lane) / 32;
        // The other half may still be read. Of this one all threads have read the sum before the
        // last: they have waited for each other since.
        turn ^= kShared / 2;
        float* const sums = shared + turn;
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            if (lane % 32 == 0) sums[2 * warp + k] = values[k];
        __syncthreads();
        // A lane takes what one warp left, of the first 16 and again of the last 16: a loop over all
        // of them in each thread takes more instructions than what is summed.
        const int other = lane % kMostWarps;
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            values[k] = other < size / 32 ? sums[2 * (first + other) + k] : 0;
    }
    // Replaces each of the values by its sum over 2 * kFirst lanes that lie together.
    template <int kFirst, int kCount>
    static __device__ __forceinline__ void over_lanes(float (&values)[kCount]) {
#pragma unroll
        for (int step = kFirst; step > 0; step /= 2)
#pragma unroll
            for (int k = 0; k < kCount; ++k)
                values[k] += __shfl_xor_sync(0xffffffffu, values[k], step);
    }
    __device__ __forceinline__ float sum(float value) const {
        float values[1] = {value};
        sum(values);
        return values[0];
    }
};

}  // namespace styleforge
