// The threads of a block, as functions of include/frame/ that a team computes are given them.
#pragma once

namespace styleforge {

// The threads of a block of kSize, which measure something together.
template <int kSize>
struct Threads {
    static constexpr int size = kSize;
    int rank;

    __device__ void sync() const { __syncthreads(); }
};

}  // namespace styleforge
