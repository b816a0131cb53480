// Sums of FP32 terms in a fixed order that compilers vectorize.
#pragma once

#include <cstdint>

namespace styleforge {

constexpr int64_t kSumLanes = 32;      // accumulators kept in registers
constexpr int64_t kSumTerms = 4096;    // summed in FP32 before the total continues in FP64

// Returns the sum of the lanes, which it overwrites.
template <int64_t kLanes>
inline float joined(float (&lanes)[kLanes]) {
    for (int64_t width = kLanes / 2; width > 0; width /= 2)
        for (int64_t k = 0; k < width; ++k) lanes[k] += lanes[k + width];
    return lanes[0];
}

// Returns the sum of `term(i)` for i in [0, count).
template <typename Term>
inline double sum_of(int64_t count, const Term& term) {
    double sum = 0;
    for (int64_t begin = 0; begin < count; begin += kSumTerms) {
        const int64_t end = count - begin < kSumTerms ? count : begin + kSumTerms;
        float lanes[kSumLanes] = {};
        int64_t i = begin;
        for (; i + kSumLanes <= end; i += kSumLanes)
            for (int64_t k = 0; k < kSumLanes; ++k) lanes[k] += term(i + k);
        for (int64_t k = 0; k < kSumLanes && i + k < end; ++k) lanes[k] += term(i + k);
        sum += joined(lanes);
    }
    return sum;
}

}  // namespace styleforge
