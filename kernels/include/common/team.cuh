// Sums, in a fixed order, over the threads of a block that work on one row.
#pragma once

namespace styleforge {

// `size` adjacent threads, a power of two of at least 32. Every thread of the block must take part
// in a sum, even if its team has no row.
struct Team {
    static constexpr int kMostWarps = 16;  // per block
    static constexpr int kShared = 4 * kMostWarps;  // floats: two times two per warp
    int size, lane;
    float* shared;          // kShared floats
    mutable int turn = 0;  // the half of `shared` that the last sum used

    // Returns this thread's team of `size` threads and sets `number` to the team's index in the
    // block. No division is needed, since a size is a power of two.
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

    // Replaces each value by its sum over the team.
    template <int kCount>
    __device__ __forceinline__ void sum(float (&values)[kCount]) const {
        over_lanes<16>(values);
        if (size == 32) return;
        exchange(values);
        over_lanes<kMostWarps / 2>(values);
    }
    // For two values, the lower half of a warp's lanes sums one and the upper half the other: half
    // the instructions.
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
    // Gives lane i the values of warp i % kMostWarps of the team, or 0 if there is no such warp.
    // All lanes of a warp hold the same values on entry.
    template <int kCount>
    __device__ __forceinline__ void exchange(float (&values)[kCount]) const {
        const int warp = threadIdx.x / 32, first = (threadIdx.x - lane) / 32;
        // Other threads may still be reading the other half. All threads have finished with this
        // half, which the sum before the last used: a barrier has passed since.
        turn ^= kShared / 2;
        float* const sums = shared + turn;
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            if (lane % 32 == 0) sums[2 * warp + k] = values[k];
        __syncthreads();
        // A lane reads the sum of one warp; the first 16 and the last 16 lanes read the same ones.
        // A loop over all warps in each thread would take more instructions than the sums
        // themselves.
        const int other = lane % kMostWarps;
#pragma unroll
        for (int k = 0; k < kCount; ++k)
            values[k] = other < size / 32 ? sums[2 * (first + other) + k] : 0;
    }
    // Replaces each value by its sum over 2 * kFirst adjacent lanes.
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
