// The threads of a block as a team, for the team functions beside it.
#pragma once

namespace styleforge {

// The threads of a block of kSize that compute something together.
template <int kSize>
struct Threads {
    static constexpr int size = kSize;
    int rank;

    __device__ void sync() const { __syncthreads(); }
};

}  // namespace styleforge
