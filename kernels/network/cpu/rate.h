// The rate at which a processor multiplies: no layer's products can take less time.
#pragma once

#include "include/cpu/parallel.h"
#include "vectors.h"

namespace styleforge::network {

// Computes products and sums in registers alone, as many at once as a matrix product does, and
// returns their number. `sums` has kLanes numbers of each thread, and receives the results.
inline int64_t multiply_in_registers(int64_t steps, int64_t threads, float* sums) {
    constexpr int kAtOnce = kRows * kVectors;
    const auto work = [&](int64_t begin, int64_t end) {
        for (int64_t thread = begin; thread < end; ++thread) {
            const Vector factor = load(sums + thread * kLanes);
            Vector sum[kAtOnce];
            for (int n = 0; n < kAtOnce; ++n) sum[n] = factor;
            for (int64_t step = 0; step < steps; ++step)
#pragma GCC unroll 24
                for (int n = 0; n < kAtOnce; ++n) sum[n] = fma(factor, sum[n], factor);
            Vector total = {};
            for (int n = 0; n < kAtOnce; ++n) total = total + sum[n];
            store(sums + thread * kLanes, total);
        }
    };
    parallel_for(threads, threads, work);
    return threads * steps * kAtOnce * kLanes;
}

}  // namespace styleforge::network
