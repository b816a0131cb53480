// Count, mean and M2 (sum of squared deviations) of a set of values, the merging of two sets, and
// the arrays through which the network's layers pass them on.
#pragma once

#include <cuda_runtime.h>

namespace styleforge {

// The norm that a layer applies to its input: the previous layer's statistics of groups of tiles or
// blocks, which this layer merges, and the affine parameters.
struct NormParams {
    const float4* groups;  // [N, count, C] count, mean, M2, -
    const float* gamma;    // [C]
    const float* beta;     // [C]
    int count;             // of groups
    float eps;
};

// A layer's output of statistics, one sample after another. Each block writes entries when it ends;
// the last block of a group merges the group's entries.
struct StatisticsParams {
    float4* entries;    // [N, blocks, entries per block, C] count, mean, M2, -
    float4* groups;     // [N, groups, C], the same per group of blocks
    unsigned* tickets;  // [N, groups], zero before and after every launch
    int group;          // blocks per group
};

constexpr int kMaxGroups = 12;     // groups of blocks, whose statistics the next layer merges
constexpr int kLoadsInFlight = 8;  // while merging

struct WelfordFp32 {
    float count = 0, mean = 0, m2 = 0;

    // The parallel form of Chan et al. (1979).
    __device__ void merge(float n, float other_mean, float other_m2) {
        const float total = count + n, delta = other_mean - mean, part = n / total;
        mean += delta * part;
        m2 += other_m2 + delta * delta * count * part;
        count = total;
    }
};

}  // namespace styleforge
