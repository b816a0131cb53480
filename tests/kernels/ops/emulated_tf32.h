// The CUDA-only parts of include/common/tf32.cuh, as PTX defines them.
#pragma once

#include "emulator.h"

namespace styleforge {

inline void mma_m16n8k8_tf32(float (&acc)[4], const float (&a)[4], float b0, float b1) {
    const float given[6] = {a[0], a[1], a[2], a[3], b0, b1};
    uint32_t own[6];
    for (int i = 0; i < 6; ++i) own[i] = __float_as_uint(given[i]) & 0xffffe000u;
    const auto& all = emulator::exchange(own);
    const auto value = [&](int lane, int i) { return __int_as_float(static_cast<int>(all[lane][i])); };
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        const int half = i / 2, row = lane / 4, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 8; ++k)
            acc[i] += value(row * 4 + k % 4, half + k / 4 * 2) * value(column * 4 + k % 4, 4 + k / 4);
    }
}

}  // namespace styleforge
