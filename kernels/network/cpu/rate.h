// The rate at which a processor multiplies: no layer's products can take less time.
#pragma once

#include "include/cpu/parallel.h"
#include "vectors.h"

namespace styleforge::network {

constexpr int64_t kSums = 512;  // numbers of a thread, for launchers.py

// Computes products and sums in registers alone, as many at once as a matrix product does, and
// returns their number. `sums` has kSums numbers for each thread: the first sums, and the results.
inline int64_t multiply_in_registers(int64_t steps, int64_t threads, float* sums) {
    constexpr int kAtOnce = kRows * kVectors;
    static_assert(kAtOnce * kLanes <= kSums, "the sums of a thread must fit");
    const auto work = [&](int64_t begin, int64_t end) {
        for (int64_t thread = begin; thread < end; ++thread) {
            float* own = sums + thread * kSums;
            const Vector factor = load(own);
            Vector sum[kAtOnce];
            for (int n = 0; n < kAtOnce; ++n) sum[n] = load(own + n * kLanes);
            for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 24
                for (int n = 0; n < kAtOnce; ++n) sum[n] = fma(factor, sum[n], factor);
            for (int n = 0; n < kAtOnce; ++n) store(own + n * kLanes, sum[n]);
        }
    };
    parallel_for(threads, threads, work);
    return threads * steps * kAtOnce * kLanes;
}

}  // namespace styleforge::network
