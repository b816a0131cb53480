// A replacement for include/attention/ptx.cuh: the same functions, as PTX defines them.
#pragma once

#include "emulated_ptx.h"

inline unsigned __umulhi(unsigned a, unsigned b) { return uint64_t{a} * b >> 32; }

namespace styleforge::attention {

inline float exp2_fast(float x) { return exp2f(x); }

inline void cp_async_16B_or_zero(uint32_t to, const void* from, bool read) {
    alignas(16) static const unsigned char zeros[16] = {};
    cp_async_16B(to, read ? from : zeros);
}

inline void ldmatrix_x4_trans(uint32_t (&to)[4], uint32_t from) {
    const uint32_t address[1] = {from};
    const auto& rows = emulator::exchange(address);
    const int lane = threadIdx.x % 32;
    for (int matrix = 0; matrix < 4; ++matrix) {
        uint16_t pair[2];
        for (int i = 0; i < 2; ++i)
            memcpy(&pair[i], emulator::at(rows[matrix * 8 + lane % 4 * 2 + i][0]) + lane / 4 * 2,
                   2);
        memcpy(&to[matrix], pair, 4);
    }
}

}  // namespace styleforge::attention
